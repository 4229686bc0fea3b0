//! Tests samples and value lists.

use ktx_relationships::profile::column::{ColumnCollector, ColumnProfile};
use ktx_relationships::profile::table::TableCollector;
use ktx_relationships::profile::{Extent, TableProfile};
use ktx_relationships::types::TypeFamily;
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{Cell, Column, DimensionType, QueryResult, RowSink as _, Table, TableKind};

use crate::profile::counts::{counts_sql, note_counts};
use crate::profile::dictionary::value_list;
use crate::profile::personal::{KeptBack, kept_back};
use crate::profile::sample::{Rows, count_sql, ends_sql, sample_sql};
use crate::settings::ScanSettings;

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

/// `id` is unique, `kind` repeats.
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
