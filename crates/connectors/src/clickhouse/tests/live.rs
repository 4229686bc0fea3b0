//! Live tests of the session without the static gate.

mod reprint;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use ktx_config::Driver;
use ktx_test_support::services::{Service, ServiceName, service};
use ktx_warehouse::{Caps, Cell, ErrorKind, QueryResult, WarehouseError};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::super::{CLICKHOUSE, ClickHouse, HttpServer};
use crate::settings::{Clock, ConnectionSettings, LoginTarget};
use crate::tests::effects::{StatementForms, fire};
use crate::tests::{Secrets, connection};

const PASSWORD: &str = "ktx-test";

#[derive(Clone)]
struct Admin {
    address: String,
    database: String,
}

impl Admin {
    fn run(&self, sql: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "POST /?database={} HTTP/1.0\r\nX-ClickHouse-User: default\r\nX-ClickHouse-Key: \
             {PASSWORD}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.database,
            sql.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(sql.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{sql}: {answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        body.to_owned()
    }
}

fn server(name: &str, statements: &[&str]) -> Option<(Admin, Arc<ClickHouse>)> {
    let Service::Available(url) = service(ServiceName::ClickHouse) else {
        return None;
    };
    let (_, place) = url.split_once('@').unwrap();
    let (address, _) = place.split_once('/').unwrap();
    let mut admin = Admin {
        address: address.to_owned(),
        database: String::new(),
    };
    admin.run(&format!("DROP DATABASE IF EXISTS {name}"));
    admin.run(&format!("CREATE DATABASE {name}"));
    name.clone_into(&mut admin.database);
    for sql in statements {
        admin.run(sql);
    }
    let fields = json!({"url": format!("http://default:{PASSWORD}@{address}/{name}")});
    let connection = connection(Driver::ClickHouse, fields);
    let secrets = Secrets::default();
    let settings = ConnectionSettings::new(&connection, &secrets, Clock::new(0));
    let target = LoginTarget::read(&settings, CLICKHOUSE).unwrap();
    let connector = ClickHouse {
        server: HttpServer::new(target),
    };
    Some((admin, Arc::new(connector)))
}

async fn run_with(
    connector: &ClickHouse,
    sql: &str,
    caps: &Caps,
) -> Result<QueryResult, WarehouseError> {
    let mut result = QueryResult::default();
    let cancel = CancellationToken::new();
    connector.run(sql, caps, &mut result, &cancel).await?;
    Ok(result)
}

const SHOP: [&str; 3] = [
    "CREATE TABLE t (a Int32) ENGINE = MergeTree ORDER BY a",
    "INSERT INTO t SELECT number FROM numbers(3)",
    "CREATE TABLE customers (id Int32) ENGINE = Memory",
];

fn state(admin: &Admin) -> String {
    let rows = admin.run("SELECT groupArray(a) FROM (SELECT a FROM t ORDER BY a)");
    let tables = admin.run(
        "SELECT database, name, create_table_query, metadata_modification_time, total_rows
         FROM system.tables WHERE database NOT IN ('system', 'information_schema',
           'INFORMATION_SCHEMA') AND (database = currentDatabase() OR database NOT LIKE 'ktx%')
         ORDER BY database, name",
    );
    let databases = admin.run(
        "SELECT name FROM system.databases WHERE name NOT LIKE 'ktx%' OR name = currentDatabase()
         ORDER BY name",
    );
    let functions = admin.run("SELECT name FROM system.functions WHERE origin != 'System'");
    [rows, tables, databases, functions].concat()
}

#[tokio::test]
async fn no_statement_writes_or_reaches_out() {
    let Some((admin, connector)) = server("ktx_unit_writes", &SHOP) else {
        return;
    };
    let before = state(&admin);
    for sql in [
        "INSERT INTO t SELECT 9",
        "ALTER TABLE t DELETE WHERE 1",
        "ALTER TABLE t ADD COLUMN b Int8",
        "CREATE TABLE x ENGINE = Memory AS SELECT 1",
        "CREATE TEMPORARY TABLE x (a Int8)",
        "CREATE DATABASE x",
        "CREATE FUNCTION f AS (x) -> x",
        "DROP TABLE t",
        "TRUNCATE TABLE t",
        "RENAME TABLE t TO u",
        "OPTIMIZE TABLE t",
        "DETACH TABLE t",
        "SET readonly = 0",
        "SET max_execution_time = 0",
        "SELECT 1 SETTINGS readonly = 0",
        "SELECT 1; DROP TABLE t",
        "SELECT * FROM url('http://127.0.0.1:1/x', CSV, 'a String')",
        "SELECT * FROM file('/etc/hostname', 'LineAsString')",
        "SELECT * FROM remote('127.0.0.1:1', system.one)",
        "SELECT 1 INTO OUTFILE '/tmp/ktx-outfile'",
    ] {
        let outcome = run_with(&connector, sql, &Caps::default()).await;
        assert!(outcome.is_err(), "{sql}: {outcome:?}");
        assert_eq!(state(&admin), before, "{sql}");
    }
    let rows = run_with(&connector, "SELECT count() FROM t", &Caps::default()).await;
    assert_eq!(rows.unwrap().rows, [[Cell::Int(3)]]);
}

#[tokio::test]
async fn no_attack_has_an_effect() {
    let Some((admin, connector)) = server("ktx_unit_effects", &SHOP) else {
        return;
    };
    let effects = fire(
        "clickhouse",
        StatementForms::Both,
        async |sql, caps| run_with(&connector, sql, caps).await,
        async || state(&admin),
    )
    .await;
    assert_eq!(effects, Vec::<String>::new());
}

const ENDLESS: &str =
    "SELECT count() AS marked FROM numbers(1000000000000) WHERE sipHash64(number) = 1";

#[tokio::test]
async fn a_slow_statement_ends_at_its_time_cap() {
    let Some((_, connector)) = server("ktx_unit_timeout", &[]) else {
        return;
    };
    let caps = Caps {
        timeout: Duration::from_millis(200),
        ..Caps::default()
    };
    let error = run_with(&connector, ENDLESS, &caps).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
}

async fn until(admin: &Admin, expected: &str) {
    let sql = "SELECT count() FROM system.processes WHERE query LIKE '%AS marked%' AND
               current_database = currentDatabase() AND query NOT LIKE '%processes%'";
    while !admin.run(sql).contains(expected) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn cancelling_reaches_the_server() {
    let Some((admin, connector)) = server("ktx_unit_cancel", &[]) else {
        return;
    };
    let cancel = CancellationToken::new();
    let task = tokio::spawn({
        let (connector, cancel) = (Arc::clone(&connector), cancel.clone());
        async move {
            let caps = Caps {
                timeout: Duration::from_hours(1),
                ..Caps::default()
            };
            let mut result = QueryResult::default();
            connector.run(ENDLESS, &caps, &mut result, &cancel).await
        }
    });
    until(&admin, "1").await;
    cancel.cancel();
    assert_eq!(task.await.unwrap().unwrap_err().kind, ErrorKind::Cancelled);
    until(&admin, "0").await;
}
