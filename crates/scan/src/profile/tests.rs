//! Tests values, sketches, samples and value lists.

mod spellings;

use std::collections::HashMap;

use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{Cell, Column, DimensionType, QueryResult, RowSink as _, Table, TableKind};

use crate::profile::column::{ColumnCollector, ColumnProfile};
use crate::profile::counts::{counts_sql, note_counts};
use crate::profile::dictionary::value_list;
use crate::profile::personal::{KeptBack, kept_back};
use crate::profile::sample::{Rows, count_sql, ends_sql, sample_sql};
use crate::profile::sketch::Sketch;
use crate::profile::table::TableCollector;
use crate::profile::value::{canonical, hash, sentinel_hashes, whole_number};
use crate::profile::{Extent, TableProfile};
use crate::settings::ScanSettings;
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
fn personal_values_and_free_text_are_kept_back() {
    let check = |table: &str, profile: &ColumnProfile, expected: Option<KeptBack>| {
        assert_eq!(kept_back(table, profile), expected, "{}", profile.name);
    };
    check(
        "t",
        &texts("contact", &["a@example.com", "b@example.org"]),
        Some(KeptBack::Personal),
    );
    check(
        "t",
        &texts("c7", &["+49 30 1234567", "+1 (555) 010-0000"]),
        Some(KeptBack::Personal),
    );
    check("t", &texts("Vorname", &["Ada"]), Some(KeptBack::Personal));
    check(
        "customers",
        &texts("name", &["Ada"]),
        Some(KeptBack::Personal),
    );
    check("products", &texts("name", &["Chair"]), None);
    check("t", &texts("api_token", &["x"]), Some(KeptBack::Personal));
    check(
        "t",
        &texts("homepage", &["https://example.com"]),
        Some(KeptBack::FreeText),
    );
    check("t", &texts("status", &["open", "done"]), None);
    check("t", &texts("address_type", &["home", "work"]), None);
    check(
        "t",
        &column("ssn", TypeFamily::Integer, [Cell::Int(1)]),
        Some(KeptBack::Personal),
    );
}

#[test]
fn the_dictionary_holds_short_lists_only() {
    let settings = ScanSettings::default();
    let list = value_list(
        "orders",
        &texts("status", &["open", "done", "open"]),
        Extent::Whole,
        &settings,
    )
    .expect("a list");
    assert_eq!(
        (list.values, list.complete),
        (vec!["open".to_owned(), "done".to_owned()], true)
    );
    let many: Vec<String> = (0..150).map(|value| format!("v{value}")).collect();
    let twice: Vec<&str> = many.iter().chain(&many).map(String::as_str).collect();
    let list = value_list("t", &texts("kind", &twice), Extent::Whole, &settings).expect("a list");
    assert_eq!((list.values.len(), list.complete), (100, false));
    let once: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(
        value_list("t", &texts("kind", &once), Extent::Whole, &settings),
        None
    );
    assert_eq!(
        value_list("t", &texts("email", &["x", "x"]), Extent::Whole, &settings),
        None
    );
}

fn sampled_table() -> Table {
    let column = |name: &str, native: &str, dimension_type| Column {
        name: name.to_owned(),
        native_type: native.to_owned(),
        normalized_type: native.to_owned(),
        dimension_type,
        nullable: true,
        primary_key: name == "id",
        comment: None,
    };
    Table {
        table: TableRef::new(None, Some("s"), "odd \"name`]"),
        kind: TableKind::Table,
        comment: None,
        estimated_rows: None,
        columns: vec![
            column("id", "INTEGER", DimensionType::Number),
            column("raw", "BLOB", DimensionType::String),
        ],
        primary_key: vec!["id".to_owned()],
        foreign_keys: Vec::new(),
    }
}

#[test]
fn every_dialect_lets_its_sample_statements_through_the_gate() {
    let table = Table {
        table: TableRef::new(None, Some("s"), "odd name"),
        ..sampled_table()
    };
    let columns = [
        ("id".to_owned(), TypeFamily::Integer),
        ("raw".to_owned(), TypeFamily::Opaque),
    ];
    let ways = [
        Rows::Whole { at_most: 50_001 },
        Rows::First { wanted: 10 },
        Rows::Blocks {
            wanted: 10_000,
            of: 3_000_000,
        },
        Rows::Slices {
            wanted: 1600,
            ends: (-5, 1_000_000),
            of: Some(500),
        },
    ];
    for dialect in Dialect::ALL {
        for rows in ways {
            let sql = sample_sql(dialect, &table, &columns, rows);
            let checked = ktx_read_only_sql::check(&sql, dialect);
            assert!(checked.is_ok(), "{dialect}: {sql}: {checked:?}");
        }
        for sql in [
            count_sql(dialect, &table.table),
            ends_sql(dialect, &table.table, "id"),
        ] {
            assert!(
                ktx_read_only_sql::check(&sql, dialect).is_ok(),
                "{dialect}: {sql}"
            );
        }
    }
}

#[test]
fn samples_are_read_by_block_where_the_dialect_can() {
    let table = sampled_table();
    let columns = [("id".to_owned(), TypeFamily::Integer)];
    let check = |dialect: Dialect, expected: &str| {
        let sql = sample_sql(
            dialect,
            &table,
            &columns,
            Rows::Blocks {
                wanted: 10_000,
                of: 3_000_000,
            },
        );
        assert_eq!(sql, expected);
    };
    check(
        Dialect::Postgres,
        "SELECT \"id\" FROM \"s\".\"odd \"\"name`]\" TABLESAMPLE SYSTEM (0.3333) REPEATABLE (1) LIMIT 20000",
    );
    check(
        Dialect::SqlServer,
        "SELECT TOP 20000 [id] FROM [s].[odd \"name`]]] TABLESAMPLE (10000 ROWS) REPEATABLE (1)",
    );
    check(
        Dialect::BigQuery,
        "SELECT `id` FROM `s`.`odd \"name\\`]` TABLESAMPLE SYSTEM (0.3333 PERCENT) LIMIT 20000",
    );
    check(
        Dialect::MySql,
        "SELECT `id` FROM `s`.`odd \"name``]` LIMIT 20000",
    );
}

/// Returns a profile of two rows out of `rows`: `id` is unique in them, `kind` repeats.
fn read_two(rows: u64) -> TableProfile {
    let columns = [
        ("id".to_owned(), TypeFamily::Integer),
        ("kind".to_owned(), TypeFamily::Text),
    ];
    let mut collector = TableCollector::new(&columns);
    for row in 0..20 {
        collector.row(vec![Cell::Int(row), Cell::Text(format!("k{}", row % 3))]);
    }
    collector.finish(Extent::Sample, Some(rows))
}

#[test]
fn every_dialect_lets_its_distinct_counts_through_the_gate() {
    let profile = read_two(1_000_000);
    let table = TableRef::new(None, Some("s"), "o'dd name");
    let mut asking = Vec::new();
    for dialect in Dialect::ALL {
        let Some(sql) = counts_sql(dialect, &table, &profile) else {
            continue;
        };
        let checked = ktx_read_only_sql::check(&sql, dialect);
        assert!(checked.is_ok(), "{dialect}: {sql}: {checked:?}");
        asking.push(dialect);
    }
    assert_eq!(asking.len(), 10);
    let check = |dialect: Dialect, expected: &str| {
        let table = TableRef::new(None, Some("s"), "t");
        let sql = counts_sql(dialect, &table, &profile);
        assert_eq!(sql.as_deref(), Some(expected));
    };
    check(
        Dialect::Snowflake,
        "SELECT APPROX_COUNT_DISTINCT(\"id\") FROM \"s\".\"t\"",
    );
    check(Dialect::ClickHouse, "SELECT uniq(`id`) FROM `s`.`t`");
    check(
        Dialect::Postgres,
        "SELECT attname, n_distinct FROM pg_catalog.pg_stats WHERE schemaname = 's' AND tablename = 't' ORDER BY attname, inherited",
    );
}

#[test]
fn counts_of_the_whole_table_correct_the_sample() {
    let check = |dialect: Dialect, rows: Vec<Vec<Cell>>, expected: (u64, f64)| {
        let mut profile = read_two(1_000_000);
        let answer = QueryResult {
            columns: Vec::new(),
            rows,
            truncated: false,
        };
        note_counts(dialect, &mut profile, &answer);
        let column = profile.column("id").expect("a column");
        let known = (column.population, column.uniqueness());
        assert_eq!(known, expected, "{dialect}");
    };
    let stats = |count: Cell| vec![vec![Cell::Text("id".to_owned()), count]];
    check(
        Dialect::Postgres,
        stats(Cell::Float(-1.0)),
        (1_000_000, 1.0),
    );
    check(
        Dialect::Postgres,
        stats(Cell::Float(-0.25)),
        (250_000, 0.25),
    );
    check(Dialect::Postgres, stats(Cell::Float(5000.0)), (5000, 0.005));
    check(Dialect::Postgres, stats(Cell::Float(0.0)), (1_000_000, 1.0));
    check(
        Dialect::MariaDb,
        stats(Cell::Decimal("1000000".to_owned())),
        (1_000_000, 1.0),
    );
    check(
        Dialect::DuckDb,
        vec![vec![Cell::Int(981_234)]],
        (1_000_000, 1.0),
    );
    check(
        Dialect::BigQuery,
        vec![vec![Cell::Int(40_000)]],
        (40_000, 0.04),
    );
    check(Dialect::Trino, vec![vec![Cell::Null]], (1_000_000, 1.0));
}

/// Nineteen-digit keys are integers; numbers beyond the range count as its end.
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
