//! Live tests of the session without the static gate.

mod effects;
mod reprint;
mod silence;

use std::sync::Arc;
use std::time::Duration;

use ktx_config::Driver;
use ktx_sql::Dialect;
use ktx_test_support::services::{Service, ServiceName, service};
use ktx_warehouse::{Caps, Cell, ErrorKind, QueryResult, WarehouseError};
use serde_json::{Value, json};
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls};
use tokio_util::sync::CancellationToken;

use super::{POSTGRES, Postgres};
use crate::session::SessionConnector;
use crate::settings::{Clock, ConnectionSettings};
use crate::tests::{Secrets, connection};

async fn server(name: &str, sql: &str) -> Option<(Client, Arc<SessionConnector<Postgres>>)> {
    let Service::Available(url) = service(ServiceName::Postgres) else {
        return None;
    };
    let mut config: Config = url.parse().unwrap();
    let admin = connect(&config).await;
    admin
        .batch_execute(&format!("DROP DATABASE IF EXISTS {name}"))
        .await
        .unwrap();
    admin
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .await
        .unwrap();
    config.dbname(name);
    let admin = connect(&config).await;
    admin.batch_execute(sql).await.unwrap();
    Some((admin, connector(name, &json!({}))?))
}

fn connector(name: &str, login: &Value) -> Option<Arc<SessionConnector<Postgres>>> {
    let Service::Available(url) = service(ServiceName::Postgres) else {
        return None;
    };
    let config: Config = url.parse().unwrap();
    let Some(Host::Tcp(host)) = config.get_hosts().first() else {
        return None;
    };
    let password = String::from_utf8(config.get_password()?.to_vec()).unwrap();
    let mut fields = json!({
        "host": host, "port": config.get_ports().first(), "database": name,
        "username": config.get_user(), "password": password, "maxConnections": 1,
    });
    let login = login.as_object().unwrap().clone();
    fields.as_object_mut().unwrap().extend(login);
    let connection = connection(Driver::Postgres, fields);
    let secrets = Secrets::default();
    let settings = ConnectionSettings::new(&connection, &secrets, Clock::new(0));
    let driver = Postgres::new(&settings, POSTGRES, Dialect::Postgres).unwrap();
    Some(Arc::new(SessionConnector::new(driver)))
}

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn run(
    connector: &SessionConnector<Postgres>,
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

/// Applies to superusers, too.
#[tokio::test]
async fn no_statement_writes() {
    let sql = "CREATE TABLE orders (id int); INSERT INTO orders VALUES (1), (2); CREATE SEQUENCE s;
      CREATE FUNCTION add() RETURNS int LANGUAGE sql AS 'INSERT INTO orders VALUES (9) RETURNING id';
      CREATE FUNCTION escape() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
        PERFORM set_config('transaction_read_only', 'off', true); INSERT INTO orders VALUES (8);
        RETURN 1; END $$;";
    let Some((admin, connector)) = server("ktx_unit_writes", sql).await else {
        return;
    };
    for sql in [
        "INSERT INTO orders VALUES (3)",
        "INSERT INTO orders VALUES (3) RETURNING id",
        "UPDATE orders SET id = 5",
        "DELETE FROM orders",
        "TRUNCATE orders",
        "WITH x AS (DELETE FROM orders RETURNING id) SELECT * FROM x",
        "SELECT * INTO copy FROM orders",
        "CREATE TABLE t (a int)",
        "DROP TABLE orders",
        "ALTER TABLE orders ADD b int",
        "GRANT ALL ON orders TO PUBLIC",
        "SELECT nextval('s')",
        "SELECT setval('s', 9)",
        "SELECT add()",
        "SELECT escape()",
        "SELECT * FROM orders FOR UPDATE",
        "COMMENT ON TABLE orders IS 'x'",
        "REFRESH MATERIALIZED VIEW orders",
        "VACUUM",
        "SELECT 1; DELETE FROM orders",
        "COMMIT; DELETE FROM orders",
        "SET TRANSACTION READ WRITE; DELETE FROM orders",
        "CALL nothing()",
    ] {
        assert!(run(&connector, sql).await.is_err(), "{sql}");
    }
    // Since version 16 the server refuses large objects.
    if let Err(error) = run(&connector, "SELECT lo_create(7)").await {
        assert_eq!(error.kind, ErrorKind::Permission);
    }
    for sql in [
        "COMMIT",
        "ROLLBACK",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "SELECT set_config('search_path', 'nowhere', false)",
        "SET default_transaction_read_only = off",
    ] {
        let outcome = run(&connector, sql).await;
        assert!(outcome.is_ok(), "{sql}: {outcome:?}");
        assert!(
            run(&connector, "DELETE FROM orders").await.is_err(),
            "after {sql}"
        );
    }
    let sum: i64 = admin
        .query_one("SELECT sum(id) FROM orders", &[])
        .await
        .unwrap()
        .get(0);
    let used: bool = admin
        .query_one("SELECT is_called FROM s", &[])
        .await
        .unwrap()
        .get(0);
    let relations: i64 = admin
        .query_one(
            "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace",
            &[],
        )
        .await
        .unwrap()
        .get(0);
    let large: i64 = admin
        .query_one("SELECT count(*) FROM pg_largeobject_metadata", &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!((sum, used, relations, large), (3, false, 2, 0));
    assert_eq!(
        run(&connector, "SELECT count(*) FROM orders")
            .await
            .unwrap()
            .rows,
        [[Cell::Int(2)]]
    );
}

#[tokio::test]
async fn placeholders_and_copies_are_refused() {
    let Some((_, connector)) = server("ktx_unit_placeholders", "").await else {
        return;
    };
    let error = run(&connector, "SELECT $1::int").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Sql);
    assert_eq!(
        error.message,
        "the statement has placeholders (1) and no values for them"
    );
    assert!(run(&connector, "COPY (SELECT 1) TO STDOUT").await.is_err());
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
    run(&connector, "SELECT 1").await.unwrap();
    let error = connector
        .run("SELECT pg_sleep(600)", &caps, &mut result, &cancel)
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

async fn until(admin: &Client, expected: i64) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE \
               '%marked%' AND pid <> pg_backend_pid() AND datname = current_database()";
    while admin.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) != expected {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn cancelling_reaches_the_server() {
    let Some((admin, connector)) = server("ktx_unit_cancel", "").await else {
        return;
    };
    let cancel = CancellationToken::new();
    let task = tokio::spawn({
        let (connector, cancel) = (Arc::clone(&connector), cancel.clone());
        async move {
            let mut result = QueryResult::default();
            let sql = "SELECT pg_sleep(600) AS marked";
            connector
                .run(
                    sql,
                    &Caps {
                        timeout: Duration::from_hours(1),
                        ..Caps::default()
                    },
                    &mut result,
                    &cancel,
                )
                .await
        }
    });
    until(&admin, 1).await;
    cancel.cancel();
    assert_eq!(task.await.unwrap().unwrap_err().kind, ErrorKind::Cancelled);
    until(&admin, 0).await;
    assert_eq!(
        run(&connector, "SELECT 1").await.unwrap().rows,
        [[Cell::Int(1)]]
    );
}

#[tokio::test]
async fn dropping_the_future_cancels_on_the_server() {
    let Some((admin, connector)) = server("ktx_unit_drop", "").await else {
        return;
    };
    let task = tokio::spawn({
        let connector = Arc::clone(&connector);
        async move { run(&connector, "SELECT pg_sleep(600) AS marked").await }
    });
    until(&admin, 1).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    until(&admin, 0).await;
}

#[tokio::test]
async fn a_session_that_the_server_closed_is_replaced() {
    let Some((admin, connector)) = server("ktx_unit_closed", "").await else {
        return;
    };
    run(&connector, "SELECT 1").await.unwrap();
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
    admin.batch_execute(kill).await.unwrap();
    assert_eq!(
        run(&connector, "SELECT 1").await.unwrap().rows,
        [[Cell::Int(1)]]
    );
    let error = run(&connector, "SELECT pg_terminate_backend(pg_backend_pid())")
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Dropped);
    assert_eq!(
        run(&connector, "SELECT 1").await.unwrap().rows,
        [[Cell::Int(1)]]
    );
}
