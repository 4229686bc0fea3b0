//! Tests of settings, errors and the session without the static gate.

mod effects;
mod library;
mod reprint;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adbc_core::options::{OptionDatabase, OptionValue};
use adbc_core::{Connection as _, Database as _, Driver as _, Statement as _};
use arrow_schema::TimeUnit;
use ktx_config::Driver;
use ktx_test_support::services::{Service, ServiceName, service};
use ktx_warehouse::{
    Caps, Cell, ColumnHeader, DimensionType, ErrorKind, Flow, QueryResult, RowSink, WarehouseError,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::error::{ErrorMapper, map};
use super::library::{Library, LibraryOrigin, load};
use super::{DuckDb, catalog, optimizers, text};
use crate::settings::{Clock, ConnectionSettings};
use crate::stop::StopSignal;
use crate::tests::{Secrets, connection, lines, open};

fn library() -> Option<Library> {
    match service(ServiceName::DuckDb) {
        Service::Available(file) => Some(Library {
            file: PathBuf::from(file),
            origin: LibraryOrigin::Setting,
        }),
        Service::Missing => None,
    }
}

fn write(library: &Library, path: &Path, sql: &str) {
    let mut driver = load(library).unwrap();
    let option = OptionDatabase::Other("path".to_owned());
    let value = OptionValue::String(path.display().to_string());
    let database = driver.new_database_with_opts([(option, value)]).unwrap();
    let mut session = database.new_connection().unwrap();
    let mut statement = session.new_statement().unwrap();
    statement.set_sql_query(sql).unwrap();
    statement.execute_update().unwrap();
}

fn database(sql: &str) -> Option<(TempDir, Arc<DuckDb>)> {
    let library = library()?;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.duckdb");
    write(&library, &path, sql);
    let fields = json!({"path": path, "library": library.file});
    Some((folder, Arc::new(make(fields).unwrap())))
}

fn make(fields: Value) -> Result<DuckDb, WarehouseError> {
    let secrets = Secrets {
        base: PathBuf::from("/srv/project"),
        ..Secrets::default()
    };
    let connection = connection(Driver::DuckDb, fields);
    DuckDb::new(&ConnectionSettings::new(
        &connection,
        &secrets,
        Clock::new(0),
    ))
}

async fn run_with(
    connector: &DuckDb,
    sql: &str,
    caps: &Caps,
) -> Result<QueryResult, WarehouseError> {
    let mut result = QueryResult::default();
    let cancel = CancellationToken::new();
    let end = connector.run(sql, caps, &mut result, &cancel).await?;
    result.truncated = end.truncated;
    Ok(result)
}

async fn run(connector: &DuckDb, sql: &str) -> Result<QueryResult, WarehouseError> {
    run_with(connector, sql, &Caps::default()).await
}

/// Other releases keep these optimizers for speed.
#[tokio::test]
async fn optimizers_that_give_wrong_numbers_are_off() {
    let off = "common_subplan,compressed_materialization,statistics_propagation";
    for (version, expected) in [
        ("v2.0.0", Some(off)),
        ("v2.0.1", Some(off)),
        ("2.0.2-dev14", Some(off)),
        ("v2.1.0", None),
        ("v1.5.5", None),
        ("v20.0.0", None),
        ("", None),
    ] {
        assert_eq!(
            optimizers::optimizers_to_disable(version),
            expected,
            "{version}"
        );
    }
    let Some((_folder, connector)) = database(ORDERS) else {
        return;
    };
    let sql = "SELECT version(), current_setting('disabled_optimizers')";
    let result = run(&connector, sql).await.unwrap();
    let [Cell::Text(version), Cell::Text(disabled)] = result.rows[0].as_slice() else {
        panic!("{:?}", result.rows);
    };
    let names = |list: &str| -> std::collections::BTreeSet<String> {
        list.split(',').map(str::to_owned).collect()
    };
    let expected = optimizers::optimizers_to_disable(version).unwrap_or_default();
    assert_eq!(names(disabled), names(expected), "{version}");
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

const ORDERS: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, note VARCHAR);
    INSERT INTO orders VALUES (1, 'a'), (2, 'b'); CREATE SEQUENCE s";

#[tokio::test]
async fn no_statement_writes_or_reaches_out() {
    let Some((folder, connector)) = database(ORDERS) else {
        return;
    };
    let before = state(folder.path());
    let other = folder.path().join("other").display().to_string();
    for sql in [
        "INSERT INTO orders VALUES (3, 'c')",
        "INSERT INTO orders VALUES (3, 'c') RETURNING id",
        "UPDATE orders SET note = 'x'",
        "DELETE FROM orders",
        "TRUNCATE orders",
        "MERGE INTO orders USING orders AS o ON false WHEN NOT MATCHED THEN INSERT VALUES (9, 'x')",
        "CREATE TABLE t (a INT)",
        "CREATE OR REPLACE TABLE orders (a INT)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE SCHEMA x",
        "CREATE MACRO f(x) AS x",
        "CREATE SECRET s (TYPE s3)",
        "ALTER TABLE orders RENAME TO o",
        "COMMENT ON TABLE orders IS 'x'",
        "DROP TABLE orders",
        "SELECT nextval('s')",
        "SELECT 1; DELETE FROM orders",
        "SELECT 1; DELETE FROM orders; SELECT 2",
        &format!("COPY orders TO '{other}.csv'"),
        &format!("COPY (SELECT 1) TO '{other}.parquet'"),
        &format!("EXPORT DATABASE '{other}'"),
        &format!("ATTACH '{other}.db'"),
        "ATTACH ':memory:' AS memory; CREATE TABLE memory.t AS SELECT 1; FROM memory.nothing",
        "INSTALL httpfs",
        "LOAD httpfs",
        "UPDATE EXTENSIONS",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM read_csv('/etc/hostname')",
        "SELECT * FROM '/etc/hostname'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT getenv('HOME')",
        "SET threads = 1",
        "SET memory_limit = '8GB'",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "RESET access_mode",
        "PRAGMA temp_directory = '/tmp'",
    ] {
        let result = run(&connector, sql).await;
        assert!(result.is_err(), "{sql}: {result:?}");
        assert_eq!(state(folder.path()), before, "{sql}");
    }
}

#[tokio::test]
async fn no_state_reaches_the_next_session() {
    let Some((folder, connector)) = database(ORDERS) else {
        return;
    };
    let before = state(folder.path());
    for sql in [
        "CREATE TEMP TABLE t AS SELECT 7 AS x",
        "SET VARIABLE v = 7",
        "BEGIN",
        "PREPARE p AS SELECT 7",
        "CHECKPOINT",
        "VACUUM",
    ] {
        let outcome = run(&connector, sql).await;
        assert!(outcome.is_ok(), "{sql}: {outcome:?}");
        assert_eq!(state(folder.path()), before, "{sql}");
    }
    assert!(run(&connector, "FROM t").await.is_err());
    assert!(run(&connector, "EXECUTE p").await.is_err());
    assert!(run(&connector, "COMMIT").await.is_err());
    let rows = run(&connector, "SELECT getvariable('v')")
        .await
        .unwrap()
        .rows;
    assert_eq!(rows, [[Cell::Null]]);
}

#[tokio::test]
async fn the_session_has_its_settings() {
    let Some((_folder, connector)) = database(ORDERS) else {
        return;
    };
    let sql = "SELECT current_setting('access_mode'), current_setting('enable_external_access'),
      current_setting('lock_configuration'), current_setting('autoload_known_extensions'),
      current_setting('autoinstall_known_extensions'), current_setting('temp_directory'),
      current_setting('memory_limit'), current_setting('threads') BETWEEN 1 AND 4";
    let rows = run(&connector, sql).await.unwrap().rows;
    let text = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(
        rows,
        [[
            text("read_only"),
            Cell::Bool(false),
            Cell::Bool(true),
            Cell::Bool(false),
            Cell::Bool(false),
            text(""),
            text("1.8 GiB"),
            Cell::Bool(true),
        ]]
    );
}

#[tokio::test]
async fn placeholders_are_refused() {
    let Some((_folder, connector)) = database(ORDERS) else {
        return;
    };
    let error = run(&connector, "SELECT 1 WHERE 1 = ?").await.unwrap_err();
    assert_eq!(
        lines(&error),
        "query_failed\nValues were not provided for the following prepared statement parameters: \
         1\nwrite the values into the statement"
    );
}

const ENDLESS: &str = "SELECT count(*) FROM range(20000000000) a, range(1000000) b";

#[tokio::test]
async fn an_endless_statement_ends_at_its_time_cap() {
    let Some((_folder, connector)) = database(ORDERS) else {
        return;
    };
    let caps = Caps {
        timeout: Duration::from_millis(100),
        ..Caps::default()
    };
    for sql in [
        ENDLESS,
        "SELECT 1; SELECT sum(a.range) FROM range(20000000000) a; SELECT 2",
    ] {
        let error = run_with(&connector, sql, &caps).await.unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (
                ErrorKind::Timeout,
                "the statement ran longer than its limit of 0.1 s"
            )
        );
    }
}

/// Waits until the unused instance closes, so that other programs can write.
async fn is_closed(connector: &DuckDb) -> bool {
    for _ in 0..1000 {
        if connector.engine.is_idle() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    false
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
    let Some((_folder, connector)) = database(ORDERS) else {
        return;
    };
    let caps = Caps {
        rows: usize::MAX,
        ..Caps::default()
    };
    let cancel = CancellationToken::new();
    let mut sink = Canceller(cancel.clone(), 0);
    let sql = "SELECT * FROM range(20000000000)";
    let error = connector.run(sql, &caps, &mut sink, &cancel).await;
    assert_eq!(error.unwrap_err().kind, ErrorKind::Cancelled);
    assert!(sink.1 > 0);
    assert!(is_closed(&connector).await);
    let done = CancellationToken::new();
    done.cancel();
    let error = connector.run("SELECT 1", &caps, &mut sink, &done).await;
    assert_eq!(error.unwrap_err().kind, ErrorKind::Cancelled);
}

#[tokio::test]
async fn dropping_the_future_interrupts_the_statement() {
    let Some((_folder, connector)) = database(ORDERS) else {
        return;
    };
    let task = tokio::spawn({
        let connector = Arc::clone(&connector);
        async move { run(&connector, ENDLESS).await }
    });
    while connector.engine.is_idle() {
        tokio::task::yield_now().await;
    }
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert!(is_closed(&connector).await);
}

#[tokio::test]
async fn a_cap_closes_an_endless_cursor_and_the_file() {
    let Some((folder, connector)) = database(ORDERS) else {
        return;
    };
    let result = run(&connector, "SELECT * FROM range(20000000000)")
        .await
        .unwrap();
    assert_eq!((result.rows.len(), result.truncated), (1000, true));
    assert!(is_closed(&connector).await);
    let path = folder.path().join("shop.duckdb");
    write(
        &library().unwrap(),
        &path,
        "INSERT INTO orders VALUES (3, 'c')",
    );
    let rows = run(&connector, "SELECT count(*) FROM orders")
        .await
        .unwrap()
        .rows;
    assert_eq!(rows, [[Cell::Int(3)]]);
}

#[tokio::test]
async fn sessions_at_the_same_time_share_the_file() {
    let Some((_folder, connector)) = database(ORDERS) else {
        return;
    };
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let connector = Arc::clone(&connector);
            tokio::spawn(async move {
                let sql = format!("SELECT sum(id) + {number} FROM orders, range(10000)");
                run(&connector, &sql).await.unwrap().rows
            })
        })
        .collect();
    for (number, task) in tasks.into_iter().enumerate() {
        let sum = 30_000 + i64::try_from(number).unwrap();
        assert_eq!(task.await.unwrap(), [[Cell::Int(sum)]]);
    }
}

#[tokio::test]
async fn too_little_memory_is_a_limit() {
    let Some((folder, connector)) = database(ORDERS) else {
        return;
    };
    let file = folder.path().join("shop.duckdb");
    let library = library().unwrap().file;
    let small = make(json!({"path": file, "library": library, "memory_limit": "64 MB"})).unwrap();
    let sql = "SELECT count(*) FROM (SELECT DISTINCT md5(range::VARCHAR) FROM range(20000000))";
    let error = run(&small, sql).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit, "{error:?}");
    assert_eq!(state(folder.path()).len(), 1);
    for (limit, kind) in [("1kB", Some(ErrorKind::Limit)), ("8GB", None)] {
        let other = make(json!({"path": file, "library": library, "memory_limit": limit})).unwrap();
        let answer = run(&other, "SELECT count(*) FROM shop.main.orders").await;
        assert_eq!(answer.err().map(|error| error.kind), kind, "{limit}");
    }
    drop(connector);
}

#[test]
fn reads_how_much_memory_there_is() {
    for (text, is_good) in [
        ("4GB", true),
        ("512 MiB", true),
        ("1tb", true),
        ("4", false),
        ("GB", false),
        ("0GB", false),
        ("99999999999999999999GB", false),
        ("-1GB", false),
        ("80%", false),
        ("4GB' --", false),
    ] {
        let opened = open(
            Driver::DuckDb,
            json!({"path": "x.duckdb", "memory_limit": text}),
        );
        assert_eq!(opened.is_ok(), is_good, "{text}");
    }
}

#[track_caller]
fn check_error(said: &str, expected: &str) {
    let cancel = CancellationToken::new();
    let stop = StopSignal::new(&cancel, Some(Instant::now()), Duration::from_secs(3));
    let error = map(said, &ErrorMapper(Path::new("/data/x.duckdb")), &stop);
    assert_eq!(lines(&error), expected);
}

#[tokio::test]
async fn maps_what_duckdb_says() {
    check_error(
        "Catalog Error: Table with name ordrs does not exist!\nDid you mean \"orders\"?\n\nLINE 1: x",
        "query_failed\nTable with name ordrs does not exist\nDid you mean \"orders\"?",
    );
    check_error(
        "C Data interface error: Conversion Error: Could not convert string 'a' to INT32\n\nLINE 1",
        "query_failed\nCould not convert string 'a' to INT32\n-",
    );
    check_error(
        "INTERRUPT Error: Interrupted!",
        "query_timeout\nthe statement ran longer than its limit of 3 s\nnarrow the statement with \
         filters, or raise the time limit",
    );
    check_error(
        "Out of Memory Error: failed to allocate data of size 4.0 MiB (1.8 GiB/1.8 GiB used)\nx",
        "query_limit\nfailed to allocate data of size 4.0 MiB (1.8 GiB/1.8 GiB used)\nnarrow the \
         statement with filters, or set a larger `memory_limit` for the connection in ktx.yaml, such as `8GB` (`2GB` \
         when not set)",
    );
    check_error(
        "IO Error: Could not read all bytes from file",
        "connection_dropped\n`/data/x.duckdb` cannot be read: Could not read all bytes from file\n-",
    );
    check_error("", "query_failed\nDuckDB gave no reason\n-");
}

#[test]
fn reads_column_types() {
    use DimensionType::{Boolean, Number, String, Time};
    for (native_type, expected) in [
        ("INTEGER", Number),
        ("UHUGEINT", Number),
        ("DECIMAL(10,2)", Number),
        ("DECIMAL(10,2)[]", String),
        ("INTEGER[3]", String),
        ("STRUCT(a INTEGER)", String),
        ("ENUM('DATE', 'INTEGER')", String),
        ("BOOLEAN", Boolean),
        ("DATE", Time),
        ("TIMESTAMP WITH TIME ZONE", Time),
        ("TIME", Time),
        ("INTERVAL", String),
        ("VARCHAR", String),
        ("BLOB", String),
    ] {
        assert_eq!(catalog::dimension(native_type), expected, "{native_type}");
    }
}

#[test]
fn writes_values_as_duckdb_does() {
    assert_eq!(text::date(-719_163), "0001-12-31 (BC)");
    assert_eq!(text::date(i32::MAX), "infinity");
    assert_eq!(
        text::timestamp(TimeUnit::Nanosecond, -1),
        "1969-12-31 23:59:59.999999999"
    );
    assert_eq!(
        text::timestamp(TimeUnit::Millisecond, 1_500),
        "1970-01-01 00:00:01.5"
    );
    assert_eq!(
        text::time(TimeUnit::Microsecond, 86_400_000_000),
        "24:00:00"
    );
    assert_eq!(
        text::interval(14, -3, 14_706_700_000_000),
        "1 year 2 months -3 days 04:05:06.7"
    );
    assert_eq!(
        text::interval(-1, 1, -1_000),
        "-1 month 1 day -00:00:00.000001"
    );
    assert_eq!(text::interval(0, 0, 0), "00:00:00");
    assert_eq!(text::decimal(-5, 2), "-0.05");
    assert_eq!(text::decimal(12_345, 2), "123.45");
    assert_eq!(text::decimal(7, 0), "7");
    assert_eq!(text::bits(&[3, 0xf5]).as_deref(), Some("10101"));
    assert_eq!(text::bits(&[]), None);
    let number = |bytes: &[u8]| text::bignum(bytes);
    assert_eq!(number(&[0x80, 0, 1, 0]).as_deref(), Some("0"));
    assert_eq!(number(&[0x80, 0, 1, 2]).as_deref(), Some("2"));
    assert_eq!(
        number(&[0x7f, 0xff, 0xfd, 0xfe, 0xd3]).as_deref(),
        Some("-300")
    );
    let ones = [&[0x80, 0, 16][..], &[0xff; 16][..]].concat();
    assert_eq!(number(&ones), Some(u128::MAX.to_string()));
}
