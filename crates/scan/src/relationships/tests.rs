//! Tests the statements of checks.

use std::collections::BTreeMap;

use ktx_relationships::Facts;
use ktx_relationships::Proposal;
use ktx_relationships::profile::Extent;
use ktx_relationships::profile::table::TableCollector;
use ktx_relationships::types::{ColumnId, TypeFamily};
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{Cell, Column, DimensionType, RowSink as _, Table, TableKind};

use crate::relationships::probe::{groups_sql, values_sql};

fn table(name: &str, primary_key: &[&str]) -> Table {
    let column = |name: &str| Column {
        name: name.to_owned(),
        native_type: "INTEGER".to_owned(),
        normalized_type: "INTEGER".to_owned(),
        dimension_type: DimensionType::Number,
        nullable: true,
        primary_key: primary_key.contains(&name),
        comment: None,
    };
    Table {
        table: TableRef::new(None, Some("s"), name),
        kind: TableKind::Table,
        comment: None,
        estimated_rows: None,
        columns: ["a", "b"].map(column).into(),
        primary_key: primary_key.iter().map(|name| (*name).to_owned()).collect(),
        foreign_keys: Vec::new(),
    }
}

#[test]
fn every_dialect_lets_its_probes_through_the_gate() {
    let tables = [table("child", &[]), table("parent", &["a", "b"])];
    let mut collector = TableCollector::new(&[
        ("a".to_owned(), TypeFamily::Integer),
        ("b".to_owned(), TypeFamily::Integer),
    ]);
    for row in 0..3 {
        collector.row(vec![Cell::Int(row), Cell::Int(row * 5)]);
    }
    let profiles = BTreeMap::from([(
        TableRef::new(None, Some("s"), "child"),
        collector.finish(Extent::Sample, None),
    )]);
    let joins = ktx_relationships::links::joins::Joins::default();
    let facts = Facts::gather(&tables, &profiles, &joins);
    let proposal = Proposal {
        child: (0, vec![0, 1]),
        parent: (1, vec![0, 1]),
        name: 1.0,
        density: 0.1,
        chance: None,
        queries: 0,
    };
    for dialect in Dialect::ALL {
        let groups = groups_sql(dialect, &facts, &proposal).expect("a statement");
        let (values, count) = values_sql(
            dialect,
            &facts,
            ColumnId {
                table: 0,
                column: 1,
            },
            ColumnId {
                table: 1,
                column: 0,
            },
        )
        .expect("a statement");
        for sql in [&groups, &values] {
            assert!(
                ktx_read_only_sql::check(sql, dialect).is_ok(),
                "{dialect}: {sql}: {:?}",
                ktx_read_only_sql::check(sql, dialect)
            );
        }
        assert_eq!(count, 2, "0 stands for no value");
    }
    let (sql, _) = values_sql(
        Dialect::Postgres,
        &facts,
        ColumnId {
            table: 0,
            column: 1,
        },
        ColumnId {
            table: 1,
            column: 0,
        },
    )
    .expect("a statement");
    assert_eq!(
        sql,
        "SELECT COUNT(DISTINCT \"a\"), COUNT(*) FROM \"s\".\"parent\" WHERE \"a\" IN (10, 5)"
    );
}
