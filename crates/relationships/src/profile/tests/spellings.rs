//! Tests spellings, days, shapes and cut sketches.

use ktx_warehouse::Cell;

use super::{column, sketch, texts};
use crate::profile::column::ColumnProfile;
use crate::profile::sketch::Sketch;
use crate::profile::value::{day_number, day_of_midnight, folded, month_of};
use crate::types::TypeFamily;

#[test]
fn case_padding_and_leading_zeros_are_no_part_of_a_folded_text() {
    for (text, expected) in [
        ("ABC", "abc"),
        (" a  b ", "a b"),
        ("a\tb", "a b"),
        ("00042", "42"),
        ("000", "0"),
        ("a-01", "a-01"),
        ("ÄRA", "ära"),
        ("", ""),
    ] {
        assert_eq!(folded(text), expected, "{text}");
    }
}

#[test]
fn days_are_counted_from_1970() {
    for (text, expected) in [
        ("1970-01-01", Some(0)),
        ("2024-02-29", Some(19_782)),
        ("20240301", Some(19_783)),
        ("2024-03-01 00:00:00", Some(19_783)),
        ("2024-03-01T00:00:00Z", Some(19_783)),
        ("2024-03-01 12:00:00", None),
        ("2023-02-29", None),
        ("20241301", None),
        ("12345678", None),
        ("20240", None),
        ("2024-3-1", None),
        ("ab240301", None),
    ] {
        assert_eq!(day_number(text), expected, "{text}");
    }
    assert_eq!(
        [0, 19_782, 19_783].map(month_of),
        [(1970, 1, 0), (2024, 2, 28), (2024, 3, 0)]
    );
    assert_eq!(
        day_of_midnight("2024-03-01 00:00:00".to_owned()),
        "2024-03-01"
    );
    assert_eq!(
        day_of_midnight("2024-03-01 00:00:01".to_owned()),
        "2024-03-01 00:00:01"
    );
}

#[test]
fn a_column_of_days_knows_its_first_and_last() {
    let days = |texts: &[&str]| {
        let cells = texts.iter().map(|text| Cell::Date((*text).to_owned()));
        column("day", TypeFamily::Time, cells).days
    };
    assert_eq!(
        days(&["2024-03-01", "2024-02-29", "9999-12-31"]),
        Some((19_782, 19_783))
    );
    assert_eq!(days(&["2024-03-01", "2024-03-01 10:00:00"]), None);
}

/// Exactly, in compared form, and without case and padding.
fn found(child: &ColumnProfile, parent: &ColumnProfile) -> [Option<f64>; 3] {
    let rows =
        |child: &Sketch, parent: &Sketch| child.containment_in(parent, &[]).map(|found| found.rows);
    [
        rows(child.exact(), parent.exact()),
        rows(&child.sketch, &parent.sketch),
        rows(child.loose(), parent.loose()),
    ]
}

#[test]
fn spellings_are_compared_in_three_ways() {
    let parent = texts("code", &["ABC", "DE", "F"]);
    let child = texts("code", &["ABC", "abc", "DE  ", "f"]);
    assert_eq!(found(&child, &parent), [Some(0.25), Some(0.5), Some(1.0)]);
    let lower = texts("code", &["a", "b"]);
    assert_eq!((lower.written, lower.folded), (None, None));
    let padded = texts("code", &["ABC ", "DE  "]);
    assert_eq!(padded.written, None);
}

#[test]
fn a_cut_sketch_tells_of_the_values_up_to_its_last() {
    let parent = sketch(0..5000, 1024);
    let share = |child: &Sketch| child.estimate_in(&parent, &[]).map(|found| found.distinct);
    assert_eq!(share(&sketch(0..3000, 1024)), Some(1.0));
    let half = share(&sketch(2500..7500, 1024)).expect("an estimate");
    assert!((0.42..0.58).contains(&half), "{half}");
    assert_eq!(share(&Sketch::default()), None);
}

#[test]
fn looks_of_texts_are_told_apart() {
    let shape = |list: &[&str]| texts("t", list).shape;
    assert!(shape(&["a.b@example.com", "c@example.org"]).is_address());
    assert!(shape(&["https://example.com/a", "https://example.com/b"]).is_address());
    assert!(shape(&["/srv/data/a.csv", "C:\\data\\b.csv"]).is_address());
    assert!(!shape(&["and/or", "n/a"]).is_address());
    assert!(shape(&["DE12 3456 7890", "FR98 7654 3210"]).coded > 0.99);
    assert!(shape(&["12 Main Street", "Suite 100"]).coded < 0.01);
}
