//! Tests of the local database.

use jiff::Timestamp;
use ktx_vocabulary::{ConnectionId, RunId};
use serde_json::json;

use super::*;

fn open() -> (tempfile::TempDir, StateDatabase) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = StateDatabase::open(&folder.path().join("ktx.sqlite")).expect("a database");
    (folder, database)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn id(text: &str) -> RunId {
    RunId::parse(text).expect("an id")
}

#[test]
fn the_journal_has_the_outcome_of_each_run() {
    let (_folder, database) = open();
    database
        .begin_run(&id("one"), "scan", at(1), &json!({"connection": "w"}))
        .expect("a row");
    database
        .begin_run(&id("two"), "scan", at(2), &json!({}))
        .expect("a row");
    database
        .finish_run(&id("two"), RunStatus::Partial, at(3), &json!({"left": 1}))
        .expect("a row");
    database.interrupt_runs("scan", at(4)).expect("rows");
    let run = |name: &str, status, started, finished, detail| Run {
        id: id(name),
        command: "scan".to_owned(),
        status,
        started: at(started),
        finished: Some(at(finished)),
        detail,
    };
    assert_eq!(
        database.runs(10).expect("rows"),
        [
            run("two", RunStatus::Partial, 2, 3, json!({"left": 1})),
            run(
                "one",
                RunStatus::Interrupted,
                1,
                4,
                json!({"connection": "w"})
            ),
        ]
    );
    assert_eq!(database.run(&id("three")).expect("no row"), None);
}

#[test]
fn stages_are_stored_by_connection_table_and_name() {
    let (_folder, database) = open();
    let connection = ConnectionId::parse("warehouse").expect("an id");
    let row = |table: &str, hash: &str| StageRow {
        table_key: table.to_owned(),
        stage: "descriptions".to_owned(),
        structure_hash: "s".to_owned(),
        input_hash: hash.to_owned(),
        output: json!({"text": "Orders."}),
        updated: at(7),
    };
    for row in [
        row("orders", "1"),
        row("customers", "1"),
        row("orders", "2"),
    ] {
        database.put_stage(&connection, &row).expect("a row");
    }
    let found = database.stages(&connection).expect("rows");
    assert_eq!(found, [row("customers", "1"), row("orders", "2")]);
    database
        .remove_stage(&connection, "customers", "descriptions")
        .expect("gone");
    let found = database
        .stage(&connection, "customers", "descriptions")
        .expect("no row");
    assert_eq!(found, None);
    let other = ConnectionId::parse("other").expect("an id");
    assert_eq!(database.stages(&other).expect("no rows"), []);
}

#[test]
fn components_share_the_file_and_each_step_runs_once() {
    let (folder, mut database) = open();
    let first = "CREATE TABLE mine (id INTEGER PRIMARY KEY) STRICT;";
    let second = "INSERT INTO mine VALUES (1);";
    for steps in [&[first][..], &[first, second], &[first, second]] {
        migrate(database.connection(), "search", steps).expect("up to date");
    }
    let count: u32 = database
        .connection()
        .query_row("SELECT count(*) FROM mine", [], |row| row.get(0))
        .expect("a row");
    assert_eq!(count, 1);
    let newer = migrate(database.connection(), "search", &[first]).expect_err("it is newer");
    let path = folder
        .path()
        .join("ktx.sqlite")
        .canonicalize()
        .expect("a path");
    assert_eq!(
        newer.to_string(),
        format!(
            "the tables of `search` in `{}` are from a newer ktx",
            path.display()
        )
    );
}

#[test]
fn a_file_that_is_not_a_database_is_an_error_and_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ktx.sqlite");
    crate::write_atomically(&path, &[b'x'; 200]).expect("a file");
    let error = StateDatabase::open(&path).expect_err("no database");
    assert_eq!(
        error.to_string(),
        format!("the local database `{}` cannot be used", path.display())
    );
    assert_eq!(
        crate::read_optional(&path).expect("it is there"),
        Some(vec![b'x'; 200])
    );
}
