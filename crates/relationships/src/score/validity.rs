//! Recognizes dates that bound the validity of a row; these refer to no list of days.

use crate::facts::{ColumnFacts, TableFacts};

/// Words for being valid, folded to plain letters; longer words may begin with them.
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
/// The first and the last day of a period.
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

/// Returns whether a date says from when or until when its row is valid: a word says so, or another
/// date of the table is the other end of the period.
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
