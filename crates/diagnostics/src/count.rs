//! Counts with their nouns.

use std::fmt::Display;

/// Formats `1 table`, `0 tables`, `2 tables`. Only for nouns with a plural in `s`.
pub fn counted(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    let ending = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{ending}")
}
