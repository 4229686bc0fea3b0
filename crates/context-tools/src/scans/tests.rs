//! Artifacts of both versions.

use std::collections::BTreeMap;

use super::{ScanFiles, read_snapshot};

fn files(entries: &[(&str, &str)]) -> ScanFiles {
    let files = entries
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect::<BTreeMap<_, _>>();
    ScanFiles {
        sync_id: "2026-01-01-000000-a".to_owned(),
        files,
        ..ScanFiles::default()
    }
}

const ORDERS: &str = r#"{"catalog": null, "db": "main", "name": "orders", "kind": "table", "comment": null,
    "estimatedRows": 3, "columns": [{"name": "status", "nativeType": "TEXT", "normalizedType": "TEXT",
    "dimensionType": "string", "nullable": true, "primaryKey": false, "comment": null}], "foreignKeys": []}"#;

#[test]
fn reads_profiles_keyed_by_bare_names_and_by_full_references() {
    let check = |profile: &str| {
        let snapshot = read_snapshot(&files(&[
            (
                "connection.json",
                r#"{"extractedAt": "2026-01-01T00:00:00Z"}"#,
            ),
            ("scan-report.json", r#"{"runId": "r1"}"#),
            ("tables/_.bWFpbg.b3JkZXJz.json", ORDERS),
            ("enrichment/relationship-profile.json", profile),
        ]));
        let table = &snapshot.tables[0].table;
        assert_eq!(snapshot.values(table, "status"), ["shipped", "1"]);
        assert_eq!(snapshot.run_id.as_deref(), Some("r1"));
        assert_eq!(snapshot.problems, Vec::<String>::new());
    };
    check(
        r#"{"columns": {"orders.status": {"table": "orders", "column": "status", "rowCount": 3, "distinctCount": 2, "sampleValues": ["shipped", 1]}}}"#,
    );
    check(
        r#"{"tables": [{"rowsRead": 3}], "columns": {}, "columnsByReference": {"main.orders.status":
        {"table": {"catalog": null, "db": "main", "name": "orders"}, "column": "status", "sampleValues": ["shipped", "1", null]}}}"#,
    );
}

#[test]
fn a_broken_artifact_does_not_hide_the_others() {
    let snapshot = read_snapshot(&files(&[
        ("connection.json", "{"),
        ("tables/a.json", ORDERS),
        ("tables/b.json", "[]"),
    ]));
    assert_eq!(snapshot.tables.len(), 1);
    assert_eq!(
        snapshot.problems,
        [
            "2026-01-01-000000-a/connection.json: EOF while parsing an object at line 1 column 1",
            "2026-01-01-000000-a/tables/b.json: invalid length 0, expected struct Table with 8 elements at line 1 column 2",
        ]
    );
}

#[test]
fn names_tables_by_every_ending_of_their_place() {
    let table = |text: &str| ORDERS.replace("\"main\"", &format!("\"{text}\""));
    let snapshot = read_snapshot(&files(&[
        ("tables/a.json", &table("main")),
        ("tables/b.json", &table("old")),
    ]));
    let places = snapshot.places();
    let check = |name: &str, expected: &[&str]| {
        let found: Vec<String> = places
            .named(name)
            .iter()
            .map(|table| table.table.to_string())
            .collect();
        assert_eq!(found, expected);
    };
    check("orders", &["main.orders", "old.orders"]);
    check("\"Main\".[Orders]", &["main.orders"]);
    check("x.main.orders", &[]);
    check("rders", &[]);
}
