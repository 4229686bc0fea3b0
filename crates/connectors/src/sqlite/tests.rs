//! Tests of the session without the static gate.

mod effects;
mod reprint;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ktx_warehouse::{
    Caps, Cell, ColumnHeader, DimensionType, ErrorKind, Flow, QueryResult, RowSink,
};
use rusqlite::Connection;
use tokio_util::sync::CancellationToken;

use super::{FILE, Sqlite, types};
use crate::file;

fn database(folder: &Path) -> PathBuf {
    let path = folder.join("shop.db");
    let session = Connection::open(&path).unwrap();
    session
        .execute_batch(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT);
             INSERT INTO orders VALUES (1, 'a'), (2, 'b');
             CREATE VIRTUAL TABLE notes USING fts5(body);
             INSERT INTO notes VALUES ('hello world');",
        )
        .unwrap();
    path
}

fn state(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<(PathBuf, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

async fn run(path: &Path, sql: &str) -> Result<QueryResult, ErrorKind> {
    let mut result = QueryResult::default();
    let connector = Sqlite::at(path.to_owned());
    let cancel = CancellationToken::new();
    match connector
        .run(sql, &Caps::default(), &mut result, &cancel)
        .await
    {
        Ok(end) => {
            result.truncated = end.truncated;
            Ok(result)
        }
        Err(error) => Err(error.kind),
    }
}

#[tokio::test]
async fn no_statement_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    let before = state(folder.path());
    let other = folder.path().join("other.db").display().to_string();
    for sql in [
        "INSERT INTO orders VALUES (3, 'c')",
        "INSERT INTO orders VALUES (3, 'c') RETURNING id",
        "UPDATE orders SET note = 'x'",
        "DELETE FROM orders",
        "REPLACE INTO orders VALUES (1, 'x')",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "CREATE TEMP VIEW v AS SELECT 1",
        "CREATE TRIGGER r AFTER INSERT ON orders BEGIN SELECT 1; END",
        "CREATE INDEX i ON orders (note)",
        "CREATE VIRTUAL TABLE v USING fts5(a)",
        "ALTER TABLE orders RENAME TO o",
        "DROP TABLE orders",
        &format!("ATTACH '{other}' AS other"),
        "DETACH main",
        "VACUUM",
        &format!("VACUUM INTO '{other}'"),
        "REINDEX",
        "ANALYZE",
        "PRAGMA user_version = 7",
        "PRAGMA journal_mode = WAL",
        "PRAGMA writable_schema = ON",
        "PRAGMA query_only = OFF",
        "SELECT * FROM pragma_user_version(7)",
        "SELECT load_extension('x')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT readfile('/etc/hostname')",
        "BEGIN IMMEDIATE",
        "COMMIT",
        "SAVEPOINT s",
        "SELECT 1; DELETE FROM orders",
        "WITH x AS (SELECT 1) DELETE FROM orders",
    ] {
        let result = run(&path, sql).await;
        // A second statement can be refused or ignored; it must not run.
        if !sql.starts_with("SELECT 1;") {
            assert!(result.is_err(), "{sql}: {result:?}");
        }
        assert_eq!(state(folder.path()), before, "{sql}");
    }
}

#[tokio::test]
async fn placeholders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    assert_eq!(run(&path, "SELECT ?1, :name").await, Err(ErrorKind::Sql));
}

#[tokio::test]
async fn reading_of_all_kinds_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    for (sql, expected) in [
        (
            "SELECT count(*) FROM orders WHERE note LIKE 'a%'",
            Cell::Int(1),
        ),
        (
            "SELECT upper(note) FROM orders WHERE id = 1",
            Cell::Text("A".into()),
        ),
        (
            "SELECT body FROM notes WHERE notes MATCH 'hello'",
            Cell::Text("hello world".into()),
        ),
        ("SELECT value FROM json_each('[7]')", Cell::Int(7)),
        ("SELECT '{\"a\":5}' ->> 'a'", Cell::Int(5)),
        (
            "SELECT sum(x) FROM (SELECT row_number() OVER () AS x FROM orders)",
            Cell::Int(3),
        ),
        (
            "SELECT date('2024-02-29', '+1 day')",
            Cell::Text("2024-03-01".into()),
        ),
        (
            "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 9) \
             SELECT max(x) FROM c",
            Cell::Int(9),
        ),
        (
            "SELECT count(*) FROM sqlite_schema WHERE name = 'orders'",
            Cell::Int(1),
        ),
        ("SELECT round(1.23456, 3)", Cell::Float(1.235)),
        (
            "SELECT count(*) FROM pragma_table_info('orders')",
            Cell::Int(2),
        ),
        ("SELECT count(*) FROM pragma_database_list", Cell::Int(1)),
        (
            "SELECT sqlite_compileoption_used('ENABLE_FTS5')",
            Cell::Int(1),
        ),
    ] {
        assert_eq!(
            run(&path, sql).await.map(|result| result.rows),
            Ok(vec![vec![expected]]),
            "{sql}"
        );
    }
}

const ENDLESS: &str =
    "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c";

#[tokio::test]
async fn an_endless_statement_ends_at_its_time_cap() {
    let folder = tempfile::tempdir().unwrap();
    let connector = Sqlite::at(database(folder.path()));
    let caps = Caps {
        timeout: Duration::from_millis(50),
        ..Caps::default()
    };
    let mut result = QueryResult::default();
    let sql = format!("SELECT count(*) FROM ({ENDLESS})");
    let error = connector
        .run(&sql, &caps, &mut result, &CancellationToken::new())
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert_eq!(
        error.message,
        "the statement ran longer than its limit of 0.05 s"
    );
}

struct Canceller(CancellationToken, usize);

impl RowSink for Canceller {
    fn header(&mut self, _: &[ColumnHeader]) {}

    fn row(&mut self, _: Vec<Cell>) -> Flow {
        self.0.cancel();
        self.1 += 1;
        Flow::Continue
    }
}

#[tokio::test]
async fn a_cancelled_statement_ends_early() {
    let folder = tempfile::tempdir().unwrap();
    let connector = Sqlite::at(database(folder.path()));
    let caps = Caps {
        rows: usize::MAX,
        ..Caps::default()
    };
    let cancel = CancellationToken::new();
    let mut sink = Canceller(cancel.clone(), 0);
    let error = connector
        .run(ENDLESS, &caps, &mut sink, &cancel)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    assert!(sink.1 > 0);
}

/// A failed statement does not affect later ones, and a replaced file is read.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "one file takes the place of another"
)]
async fn an_idle_session_reads_the_current_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    let connector = Sqlite::at(path.clone());
    let caps = Caps::default();
    let count = async |sql: &str| {
        let mut result = QueryResult::default();
        let cancel = CancellationToken::new();
        match connector.run(sql, &caps, &mut result, &cancel).await {
            Ok(_) => result.rows.concat(),
            Err(error) => vec![Cell::Text(error.kind.code().to_string())],
        }
    };
    let orders = "SELECT count(*) FROM orders";
    assert_eq!(count(orders).await, [Cell::Int(2)]);
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch("INSERT INTO orders VALUES (3, 'c'); CREATE TABLE more (id INTEGER);")
        .unwrap();
    assert_eq!(count(orders).await, [Cell::Int(3)]);
    assert_eq!(count("SELECT count(*) FROM more").await, [Cell::Int(0)]);
    assert_eq!(
        count("SELECT nothing FROM orders").await,
        count("SELECT nothing FROM orders").await
    );
    assert_eq!(count(orders).await, [Cell::Int(3)]);

    let other = folder.path().join("other.db");
    Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE orders (id INTEGER);")
        .unwrap();
    std::fs::rename(&other, &path).unwrap();
    assert_eq!(count(orders).await, [Cell::Int(0)]);
}

#[tokio::test]
async fn a_cap_closes_an_endless_cursor() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    let result = run(&path, ENDLESS).await.unwrap();
    assert_eq!((result.rows.len(), result.truncated), (1000, true));
}

#[test]
fn strips_url_forms_from_paths() {
    for (text, expected) in [
        ("data/shop.db", "data/shop.db"),
        ("/data/shop.db", "/data/shop.db"),
        ("sqlite:shop.db", "shop.db"),
        ("sqlite://shop.db", "shop.db"),
        ("sqlite:///data/shop.db", "/data/shop.db"),
        ("sqlite:////data/shop.db", "/data/shop.db"),
        ("SQLite3:shop.db?mode=rwc", "shop.db"),
        ("file:shop.db", "shop.db"),
        ("file:///data/my%20shop.db#x", "/data/my shop.db"),
        ("file://localhost/data/shop.db", "/data/shop.db"),
        ("what?.db", "what?.db"),
    ] {
        assert_eq!(file::plain_path(text, &FILE), expected, "{text}");
    }
}

#[test]
fn reads_declared_types() {
    use DimensionType::{Boolean, Number, String, Time};
    for (declared, expected) in [
        ("INTEGER", Number),
        ("unsigned big int", Number),
        ("DECIMAL(10, 2)", Number),
        ("double precision", Number),
        ("NUMERIC", Number),
        ("VARCHAR(20)", String),
        ("nvarchar", String),
        ("STRING", String),
        ("JSON", String),
        ("UUID", String),
        ("BLOB", String),
        ("", String),
        ("POINT", String),
        ("INTERVAL", String),
        ("BOOLEAN", Boolean),
        ("bool", Boolean),
        ("DATE", Time),
        ("datetime", Time),
        ("TIMESTAMP WITH TIME ZONE", Time),
    ] {
        assert_eq!(types::dimension(declared), expected, "{declared}");
    }
}
