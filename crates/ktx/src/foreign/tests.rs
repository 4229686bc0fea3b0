//! Tests of control characters and long names.

use super::{cell, harmless, one_line, page};

#[test]
fn a_name_is_seen_and_does_nothing() {
    let table = [
        ("plain, éé, 日本語, ßẞ", "plain, éé, 日本語, ßẞ"),
        ("a\nerror: your disk burns", "a\\nerror: your disk burns"),
        ("a\r\nb\tc", "a\\r\\nb\tc"),
        (
            "pay\u{202e}live\u{2066}x\u{200f}",
            "pay\\u{202e}live\\u{2066}x\\u{200f}",
        ),
        (
            "\u{feff}a\u{200b}b\u{200d}",
            "\\u{feff}a\\u{200b}b\\u{200d}",
        ),
        (
            "\u{1b}]0;title\u{7}\u{9b}2J",
            "\\u{1b}]0;title\\u{7}\\u{9b}2J",
        ),
        (
            "a\u{2028}b\u{85}c\u{e0041}",
            "a\\u{2028}b\\u{85}c\\u{e0041}",
        ),
    ];
    for (text, shown) in table {
        assert_eq!(one_line(text), shown);
        assert_eq!(page(&format!("one\n{text}\n")).lines().next(), Some("one"));
    }
    assert_eq!(harmless("a\tb\nc\u{202e}"), "a\tb\nc\\u{202e}");
    assert_eq!(cell("a\tb\nc\u{202e}\u{7}"), "a b c\\u{202e}\\u{7}");
}

#[test]
fn long_names_are_shown_by_their_beginning_and_their_length() {
    let begins = "n".repeat(64);
    let warning = format!("could not read `{}`: refused", "n".repeat(1_000_000));
    assert_eq!(
        one_line(&warning),
        format!(
            "could not read `{}… (1000003 characters)`: refused",
            "n".repeat(63)
        )
    );
    let whole = format!("`{}`", "n".repeat(1022));
    assert_eq!(one_line(&whole), whole);
    // Escaped before measuring.
    let marks = "\u{202e}".repeat(1000);
    assert_eq!(
        one_line(&marks),
        format!("{}… (8000 characters)", "\\u{202e}".repeat(8))
    );
    let words = "two words ".repeat(100_000);
    let shown = one_line(&words);
    assert!(
        shown.ends_with("… (997952 more characters)"),
        "{}",
        &shown[2040..]
    );
    assert_eq!(shown.chars().count(), 2048 + 26);
    let lines = format!("{}\nshort\n", "n".repeat(2000));
    assert_eq!(
        page(&lines),
        format!("{begins}… (2000 characters)\nshort\n")
    );
}
