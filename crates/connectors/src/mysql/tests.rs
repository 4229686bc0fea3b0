//! Tests of values and of live sessions without the static gate.

mod effects;
mod reprint;

use std::sync::Arc;
use std::time::Duration;

use ktx_config::Driver;
use ktx_sql::Dialect;
use ktx_test_support::services::{Service, ServiceName, service};
use ktx_warehouse::{Caps, Cell, DimensionType, ErrorKind, QueryResult, RoleCheck, WarehouseError};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Opts};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{MySql, introspect, pool, role};
use crate::session::SessionConnector;
use crate::settings::{Clock, ConnectionSettings};
use crate::tests::{Secrets, connection};

async fn server(name: &str, sql: &str) -> Option<(Conn, Arc<SessionConnector<MySql>>)> {
    let Service::Available(url) = service(ServiceName::MariaDb) else {
        return None;
    };
    let mut admin = Conn::new(Opts::from_url(&url).unwrap()).await.unwrap();
    let make = format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; USE {name}; {sql}");
    admin.query_drop(make).await.unwrap();
    Some((admin, connector(name, &json!({}))?))
}

fn connector(name: &str, login: &Value) -> Option<Arc<SessionConnector<MySql>>> {
    let Service::Available(url) = service(ServiceName::MariaDb) else {
        return None;
    };
    let options = Opts::from_url(&url).unwrap();
    let mut fields = json!({
        "host": options.ip_or_hostname(), "port": options.tcp_port(), "database": name,
        "username": options.user(), "password": options.pass(), "maxConnections": 1,
    });
    let login = login.as_object().unwrap().clone();
    fields.as_object_mut().unwrap().extend(login);
    let connection = connection(Driver::MySql, fields);
    let secrets = Secrets::default();
    let settings = ConnectionSettings::new(&connection, &secrets, Clock::new(0));
    let driver = MySql::new(&settings, super::MYSQL, Dialect::MySql).unwrap();
    Some(Arc::new(SessionConnector::new(driver)))
}

async fn run(
    connector: &SessionConnector<MySql>,
    sql: &str,
) -> Result<QueryResult, WarehouseError> {
    let mut result = QueryResult::default();
    connector
        .run(
            sql,
            &Caps::default(),
            &mut result,
            &CancellationToken::new(),
        )
        .await?;
    Ok(result)
}

/// Applies to administrators and nontransactional tables, too.
#[tokio::test]
async fn no_statement_writes() {
    let sql = "CREATE TABLE orders (id int) ENGINE = InnoDB; INSERT INTO orders VALUES (1), (2);
      CREATE TABLE plain (id int) ENGINE = MyISAM; INSERT INTO plain VALUES (1);
      CREATE FUNCTION add_one() RETURNS int MODIFIES SQL DATA
      BEGIN INSERT INTO orders VALUES (9); RETURN 1; END";
    let Some((mut admin, connector)) = server("ktx_unit_writes", sql).await else {
        return;
    };
    for sql in [
        "INSERT INTO orders VALUES (3)",
        "INSERT INTO plain VALUES (3)",
        "INSERT INTO orders VALUES (3) RETURNING id",
        "REPLACE INTO orders VALUES (3)",
        "UPDATE orders SET id = 5",
        "DELETE FROM orders",
        "DELETE FROM plain",
        "TRUNCATE orders",
        "CREATE TABLE t (a int)",
        "DROP TABLE orders",
        "ALTER TABLE orders ADD b int",
        "CREATE USER nobody",
        "SELECT add_one()",
        "SELECT 1; DELETE FROM orders",
        "COMMIT; DELETE FROM orders",
        "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE orders",
    ] {
        assert!(run(&connector, sql).await.is_err(), "{sql}");
    }
    for sql in [
        "COMMIT",
        "ROLLBACK",
        "SET SESSION TRANSACTION READ WRITE",
        "SET sql_mode = 'ANSI_QUOTES'",
    ] {
        let outcome = run(&connector, sql).await;
        assert!(outcome.is_ok(), "{sql}: {outcome:?}");
        assert!(
            run(&connector, "DELETE FROM orders").await.is_err(),
            "after {sql}"
        );
    }
    let sum: Option<i64> = admin
        .query_first("SELECT sum(id) FROM orders")
        .await
        .unwrap();
    let plain: Option<i64> = admin
        .query_first("SELECT count(*) FROM plain")
        .await
        .unwrap();
    let tables: Vec<String> = admin.query("SHOW TABLES").await.unwrap();
    assert_eq!((sum, plain, tables.len()), (Some(3), Some(1), 2));
    let rows = run(&connector, "SELECT count(*), \"x\" FROM orders")
        .await
        .unwrap()
        .rows;
    assert_eq!(rows, [[Cell::Int(2), Cell::Text("x".into())]]);
}

#[tokio::test]
async fn placeholders_are_refused() {
    let Some((_, connector)) = server("ktx_unit_placeholders", "").await else {
        return;
    };
    let error = run(&connector, "SELECT ?, ?").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Sql);
    assert_eq!(
        run(&connector, "SELECT 1").await.unwrap().rows,
        [[Cell::Int(1)]]
    );
}

#[tokio::test]
async fn a_slow_statement_ends_at_its_time_cap() {
    let Some((_, connector)) = server("ktx_unit_timeout", "").await else {
        return;
    };
    let caps = Caps {
        timeout: Duration::from_millis(200),
        ..Caps::default()
    };
    let mut result = QueryResult::default();
    let cancel = CancellationToken::new();
    let error = connector
        .run("SELECT sleep(600)", &caps, &mut result, &cancel)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert_eq!(
        error.message,
        "the statement ran longer than its limit of 0.2 s"
    );
    assert_eq!(
        run(&connector, "SELECT 1").await.unwrap().rows,
        [[Cell::Int(1)]]
    );
}

async fn until(admin: &mut Conn, schema: &str, expected: i64) {
    let sql = format!(
        "SELECT count(*) FROM information_schema.processlist WHERE db = '{schema}' AND command <> \
         'Sleep' AND info LIKE '%marked%' AND id <> connection_id()"
    );
    while admin.query_first::<i64, _>(sql.as_str()).await.unwrap() != Some(expected) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn cancelling_reaches_the_server() {
    let Some((mut admin, connector)) = server("ktx_unit_cancel", "").await else {
        return;
    };
    let cancel = CancellationToken::new();
    let task = tokio::spawn({
        let (connector, cancel) = (Arc::clone(&connector), cancel.clone());
        async move {
            let mut result = QueryResult::default();
            let caps = Caps {
                timeout: Duration::from_hours(1),
                ..Caps::default()
            };
            connector
                .run("SELECT sleep(600) AS marked", &caps, &mut result, &cancel)
                .await
        }
    });
    until(&mut admin, "ktx_unit_cancel", 1).await;
    cancel.cancel();
    assert_eq!(task.await.unwrap().unwrap_err().kind, ErrorKind::Cancelled);
    until(&mut admin, "ktx_unit_cancel", 0).await;
    assert_eq!(
        run(&connector, "SELECT 1").await.unwrap().rows,
        [[Cell::Int(1)]]
    );
}

#[tokio::test]
async fn dropping_the_future_cancels_on_the_server() {
    let Some((mut admin, connector)) = server("ktx_unit_drop", "").await else {
        return;
    };
    let task = tokio::spawn({
        let connector = Arc::clone(&connector);
        async move { run(&connector, "SELECT sleep(600) AS marked").await }
    });
    until(&mut admin, "ktx_unit_drop", 1).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    until(&mut admin, "ktx_unit_drop", 0).await;
}

#[tokio::test]
async fn a_session_that_the_server_closed_is_replaced() {
    let Some((mut admin, connector)) = server("ktx_unit_closed", "").await else {
        return;
    };
    let rows = run(&connector, "SELECT connection_id()")
        .await
        .unwrap()
        .rows;
    let id = rows
        .first()
        .and_then(|row| row.first())
        .and_then(Cell::to_text)
        .unwrap();
    admin.query_drop(format!("KILL {id}")).await.unwrap();
    assert_eq!(
        run(&connector, "SELECT 1").await.unwrap().rows,
        [[Cell::Int(1)]]
    );
    let error = run(&connector, "KILL CONNECTION_ID()").await.unwrap_err();
    assert!(
        matches!(error.kind, ErrorKind::Dropped | ErrorKind::Timeout),
        "{error:?}"
    );
    assert_eq!(
        run(&connector, "SELECT 1").await.unwrap().rows,
        [[Cell::Int(1)]]
    );
}

#[test]
fn removes_the_words_that_change_quoting_from_the_sql_mode() {
    assert_eq!(
        pool::readable_mode("ANSI_QUOTES,STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES,NO_ZERO_DATE"),
        "STRICT_TRANS_TABLES,NO_ZERO_DATE"
    );
    assert_eq!(pool::readable_mode(""), "");
}

#[test]
fn reads_column_types() {
    use DimensionType::{Boolean, Number, String, Time};
    for (column_type, expected) in [
        ("tinyint(1)", Boolean),
        ("tinyint(1) unsigned", Boolean),
        ("tinyint(4)", Number),
        ("bit(1)", Boolean),
        ("int unsigned", Number),
        ("decimal(10,2)", Number),
        ("double", Number),
        ("year(4)", Number),
        ("datetime(6)", Time),
        ("time", Time),
        ("enum('date','int')", String),
        ("varchar(20)", String),
        ("point", String),
        ("json", String),
    ] {
        assert_eq!(
            introspect::dimension(column_type),
            expected,
            "{column_type}"
        );
    }
}

#[test]
fn reads_comments_of_tables() {
    for (comment, expected) in [
        ("who buys", "who buys"),
        (" as written; ", " as written; "),
        ("InnoDB free: never", "InnoDB free: never"),
        ("see InnoDB free: 3 kB", "see InnoDB free: 3 kB"),
        ("InnoDB free: 4096 kB", ""),
        (
            "who buys; InnoDB free: 4096 kB; (`a`) REFER `shop/b`(`id`)",
            "who buys",
        ),
    ] {
        assert_eq!(introspect::own_comment(comment), expected, "{comment}");
    }
}

#[track_caller]
fn check_grants(lines: &[&str], expected: &str) {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let shown = match role::judge(&lines, Some("shop")) {
        RoleCheck::ReadOnly => "read-only".to_owned(),
        RoleCheck::CanWrite { because, .. } => because,
        RoleCheck::Unknown { reason } => reason,
    };
    assert_eq!(shown, expected);
}

#[test]
fn reads_grants() {
    check_grants(
        &[
            "GRANT USAGE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*0'",
            "GRANT SELECT, SHOW VIEW ON `shop`.* TO `u`@`%`",
            "GRANT SELECT (`a`, `b`) ON `shop`.`t` TO `u`@`%`",
        ],
        "read-only",
    );
    check_grants(
        &["GRANT SELECT, INSERT (a, b), UPDATE ON `shop`.* TO `u`@`%`"],
        "the login has INSERT, UPDATE on `shop`.*",
    );
    check_grants(
        &["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"],
        "the login has ALL PRIVILEGES on *.*",
    );
    check_grants(
        &[
            "GRANT USAGE ON *.* TO `u`@`%`",
            "GRANT `writer`@`%` TO `u`@`%`",
        ],
        "the login has further rights through `writer`@`%`",
    );
    check_grants(
        &[
            "GRANT SELECT ON `s`.* TO `u`@`%` WITH GRANT OPTION",
            r"GRANT SELECT, INSERT ON `test`.* TO PUBLIC",
            r"GRANT SELECT, INSERT ON `test\_%`.* TO PUBLIC",
        ],
        "read-only",
    );
}
