//! Recognizes validity dates, which refer to no list of days.

use crate::facts::{ColumnFacts, TableFacts};

/// Longer words can begin with them.
const VALID: &[&str] = &[
    "valid",
    "effective",
    "expir",
    "gultig",
    "gueltig",
    "vigen",
    "vigor",
    "geldig",
    "validit",
    "efectiv",
    "wazn",
    "voimassa",
    "gyldig",
    "giltig",
];
const BOUNDS: &[(&str, &str)] = &[
    ("from", "to"),
    ("from", "until"),
    ("from", "thru"),
    ("from", "till"),
    ("since", "until"),
    ("von", "bis"),
    ("ab", "bis"),
    ("desde", "hasta"),
    ("de", "ate"),
    ("du", "au"),
    ("dal", "al"),
    ("van", "tot"),
    ("od", "do"),
];

/// Judges by a word, or by the other end of the period.
pub(super) fn bounds_validity(table: &TableFacts<'_>, column: &ColumnFacts<'_>) -> bool {
    let words = &column.name.words;
    let valid = |word: &String| VALID.iter().any(|valid| word.starts_with(valid));
    let other_end = |other: &ColumnFacts<'_>| {
        let other_words = &other.name.words;
        let mut different = words
            .iter()
            .zip(other_words)
            .filter(|(left, right)| left != right);
        let ends = different.next().is_some_and(|(left, right)| {
            let is = |(first, last): &(&str, &str)| {
                (left == first && right == last) || (left == last && right == first)
            };
            BOUNDS.iter().any(is)
        });
        other.holds_days() && words.len() == other_words.len() && ends && different.next().is_none()
    };
    words.iter().any(valid) || table.columns.iter().any(other_end)
}
