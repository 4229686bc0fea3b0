//! Tests hashes, differences and names.

use std::collections::BTreeMap;

use ktx_vocabulary::TableRef;
use ktx_warehouse::{Column, DimensionType, Table, TableKind};

use crate::difference::DiffSummary;
use crate::structural::artifact::{table_artifact, table_file};
use crate::structural::diff::diff;
use crate::structural::hash::structure_hash;
use crate::structural::sync::sync_id;

fn table(name: &str, columns: &[&str]) -> Table {
    let column = |name: &&str| Column {
        name: (*name).to_owned(),
        native_type: "INTEGER".to_owned(),
        normalized_type: "INTEGER".to_owned(),
        dimension_type: DimensionType::Number,
        nullable: true,
        primary_key: false,
        comment: None,
    };
    Table {
        table: TableRef::new(None, Some("s"), name),
        kind: TableKind::Table,
        comment: None,
        estimated_rows: Some(5),
        columns: columns.iter().map(column).collect(),
        primary_key: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

#[test]
fn the_number_of_rows_is_no_structure() {
    let one = table("a", &["x"]);
    let mut two = one.clone();
    two.estimated_rows = Some(9);
    assert_eq!(structure_hash(&one), structure_hash(&two));
    two.comment = Some("new".to_owned());
    assert_ne!(structure_hash(&one), structure_hash(&two));
}

#[test]
fn counts_tables_and_columns_that_changed() {
    let all = |tables: &[Table]| {
        tables
            .iter()
            .map(|table| (table.table.clone(), table_artifact(table)))
            .collect::<BTreeMap<_, _>>()
    };
    let mut changed = table("changed", &["kept", "typed", "new", "newer"]);
    if let Some(column) = changed.columns.get_mut(1) {
        column.native_type = "BIGINT".to_owned();
    }
    let before = all(&[
        table("same", &["x"]),
        table("changed", &["kept", "typed", "gone"]),
        table("gone", &["x", "y"]),
    ]);
    let now = all(&[
        table("same", &["x"]),
        changed,
        table("added", &["x", "y", "z"]),
    ]);
    assert_eq!(
        diff(&before, &now),
        DiffSummary {
            tables_added: 1,
            tables_modified: 1,
            tables_deleted: 1,
            tables_unchanged: 1,
            columns_added: 5,
            columns_modified: 1,
            columns_deleted: 3,
        }
    );
    assert!(diff(&before, &before).is_empty());
}

#[test]
fn tables_written_by_ktx_0_12_are_unchanged() {
    let now = table_artifact(&table("a", &["x"]));
    let mut old = now.clone();
    old.structure_hash = None;
    let of = |artifact| BTreeMap::from([(TableRef::new(None, Some("s"), "a"), artifact)]);
    assert!(diff(&of(old), &of(now)).is_empty());
}

#[test]
fn file_names_hold_any_table_name() {
    assert_eq!(
        table_file(&TableRef::bare("orders")),
        "tables/_._.b3JkZXJz.json"
    );
    assert_eq!(
        table_file(&TableRef::new(Some("c"), Some("d/.."), "ü?")),
        "tables/Yw.ZC8uLg.w7w_.json"
    );
    let long = |last: char| table_file(&TableRef::bare(&format!("{}{last}", "n".repeat(300))));
    let (one, other) = (long('a'), long('b'));
    assert!(one.starts_with("tables/_._.bm5u") && one != other);
    assert_eq!(one.len(), "tables/.json".len() + 240);
}

#[test]
fn sync_ids_are_ordered_by_time() {
    let id = |time: &str| sync_id(time.parse().expect("a time"));
    assert_eq!(
        id("2026-01-31T09:05:07Z"),
        "2026-01-31-090507-local-ml236cvs"
    );
    assert!(id("2026-01-31T09:05:07Z") < id("2026-01-31T09:05:08Z"));
}
