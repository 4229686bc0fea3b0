//! Tests values, sketches and the statistics of columns.

mod spellings;

use std::collections::HashMap;

use ktx_warehouse::{Cell, RowSink as _};

use crate::profile::column::{ColumnCollector, ColumnProfile};
use crate::profile::sketch::Sketch;
use crate::profile::table::TableCollector;
use crate::profile::value::{canonical, hash, sentinel_hashes, whole_number};
use crate::profile::{Extent, TableProfile};
use crate::types::TypeFamily;

#[test]
fn equal_values_of_different_types_have_one_text() {
    let check =
        |cell: Cell, expected: Option<&str>| assert_eq!(canonical(&cell).as_deref(), expected);
    check(Cell::Int(12), Some("12"));
    check(Cell::Float(12.0), Some("12"));
    check(Cell::Decimal("12.00".to_owned()), Some("12"));
    check(Cell::Text("12  ".to_owned()), Some("12"));
    check(
        Cell::Text("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11".to_owned()),
        Some("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    );
    check(Cell::Null, None);
    assert_eq!(whole_number("-7"), Some(-7));
    for text in ["007", "1.5", "", "-", "99999999999999999999"] {
        assert_eq!(whole_number(text), None, "{text}");
    }
    assert_eq!(
        hash("orders"),
        3_625_977_957_444_146_617,
        "stored hashes must never change"
    );
}

fn sketch(values: std::ops::Range<u32>, limit: usize) -> Sketch {
    let counts: HashMap<u64, u32> = values.map(|value| (hash(&value.to_string()), 1)).collect();
    Sketch::of(&counts, limit, true)
}

#[test]
fn containment_is_exact_in_a_complete_parent_and_close_from_a_sketch() {
    let parent = sketch(0..5000, usize::MAX);
    let within = |child: &Sketch| {
        child
            .containment_in(&parent, &[])
            .map(|found| found.distinct)
    };
    assert_eq!(within(&sketch(100..200, usize::MAX)), Some(1.0));
    assert_eq!(within(&sketch(4900..5100, usize::MAX)), Some(0.5));
    let estimate = within(&sketch(2500..7500, 1024)).expect("an estimate");
    assert!((0.45..0.55).contains(&estimate), "{estimate}");
    assert_eq!(
        sketch(0..10, usize::MAX).containment_in(&sketch(0..5000, 1024), &[]),
        None
    );
}

#[test]
fn sentinels_are_left_out_unless_the_parent_has_them() {
    let parent = sketch(1..100, usize::MAX);
    let child = sketch(0..50, usize::MAX);
    let found = child
        .containment_in(&parent, &sentinel_hashes())
        .expect("a comparison");
    assert_eq!((found.compared, found.found), (49, 49));
    let own =
        sketch(0..50, usize::MAX).containment_in(&sketch(0..60, usize::MAX), &sentinel_hashes());
    assert_eq!(own.map(|found| found.compared), Some(50));
}

#[test]
fn a_sketch_survives_its_stage_row() {
    let counts: HashMap<u64, u32> = [(5, 1), (u64::MAX, 70_000), (9, 3)].into();
    for sketch in [
        Sketch::of(&counts, 10, true),
        Sketch::of(&counts, 2, true),
        sketch(0..40, 99),
        Sketch::default(),
    ] {
        let text = serde_json::to_string(&sketch).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Sketch>(&text).expect("a sketch"),
            sketch
        );
    }
    let broken = r#"{"hashes":"!","counts":"","complete":true}"#;
    assert_eq!(
        serde_json::from_str::<Sketch>(broken)
            .expect("a sketch")
            .hashes()
            .count(),
        0
    );
}

fn column(name: &str, family: TypeFamily, values: impl IntoIterator<Item = Cell>) -> ColumnProfile {
    let mut collector = ColumnCollector::new(name, family);
    for value in values {
        collector.push(value);
    }
    collector.finish(true)
}

fn texts(name: &str, values: &[&str]) -> ColumnProfile {
    column(
        name,
        TypeFamily::Text,
        values.iter().map(|value| Cell::Text((*value).to_owned())),
    )
}

#[test]
fn counts_and_extremes_are_those_of_the_values() {
    let profile = column(
        "n",
        TypeFamily::Integer,
        [
            Cell::Int(9),
            Cell::Null,
            Cell::Int(-1),
            Cell::Int(9),
            Cell::Int(30),
        ],
    );
    assert_eq!((profile.nulls, profile.values, profile.distinct), (1, 4, 3));
    assert_eq!(profile.range, Some((-1, 30)));
    assert_eq!(profile.extremes, Some(("-1".to_owned(), "30".to_owned())));
    assert_eq!(
        profile.frequent,
        [
            ("9".to_owned(), 2),
            ("-1".to_owned(), 1),
            ("30".to_owned(), 1)
        ]
    );
    assert!(column("id", TypeFamily::Integer, (1..=50).map(Cell::Int)).is_dense_from_one());
    assert!(!column("id", TypeFamily::Integer, (1000..=1050).map(Cell::Int)).is_dense_from_one());
}

fn profile_of(columns: &[(&str, TypeFamily)], rows: &[&[i64]]) -> TableProfile {
    let columns: Vec<(String, TypeFamily)> = columns
        .iter()
        .map(|(name, family)| ((*name).to_owned(), *family))
        .collect();
    let mut collector = TableCollector::new(&columns);
    for row in rows {
        collector.row(row.iter().map(|value| Cell::Int(*value)).collect());
    }
    collector.finish(Extent::Whole, Some(rows.len() as u64))
}

#[test]
fn finds_the_smallest_groups_that_tell_rows_apart() {
    let names = [
        ("a", TypeFamily::Integer),
        ("b", TypeFamily::Integer),
        ("c", TypeFamily::Integer),
    ];
    let rows: Vec<Vec<i64>> = (0..40).map(|row| vec![row / 4, row % 4, row % 2]).collect();
    let rows: Vec<&[i64]> = rows.iter().map(Vec::as_slice).collect();
    assert_eq!(profile_of(&names, &rows).groups, [vec![0, 1]]);
    let rows: Vec<Vec<i64>> = (0..40).map(|row| vec![row, row % 4, row % 2]).collect();
    let rows: Vec<&[i64]> = rows.iter().map(Vec::as_slice).collect();
    assert_eq!(profile_of(&names, &rows).groups, Vec::<Vec<usize>>::new());
}

#[test]
fn very_large_numbers_have_a_range() {
    let texts = [
        "1400004195552432492",
        "9223372036854775807",
        "18446744073709551615",
        "18446744073709551616",
        "007",
        "12.5",
    ];
    assert_eq!(
        texts.map(crate::profile::value::range_number),
        [
            Some(1_400_004_195_552_432_492),
            Some(i64::MAX),
            Some(i64::MAX),
            None,
            None,
            None
        ]
    );
}

#[test]
fn texts_are_times_if_all_of_them_are() {
    let held = |values: &[&str]| texts("at", values).holds_times;
    assert!(held(&["2024-01-31", "2024-02-29"]));
    assert!(held(&[
        "2024-01-31 08:30",
        "2024-01-31T08:30:59",
        "",
        "2024-01-31 23:59:59.123"
    ]));
    assert!(held(&[
        "2024-01-31T08:30:59Z",
        "2024-01-31T08:30:59.5+02:00"
    ]));
    for other in [
        "2024-02-30",
        "2024-01",
        "20240131",
        "08:30",
        "2024-01-31 24:00",
        "2024-01-31 8:30",
        "2024-01-31x",
        "2024-01-31 08:30 pm",
        "2024-01-31T",
        "2024-01-31 08:30.",
        "31.01.2024",
    ] {
        assert!(!held(&["2024-01-31", other]), "{other}");
    }
    assert!(!held(&["", ""]));
}
