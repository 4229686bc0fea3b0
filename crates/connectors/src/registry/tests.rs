//! Tests of the registry.

use ktx_config::{Driver, DriverKind};
use ktx_sql::Dialect;
use ktx_warehouse::Scope;
use serde_json::{Value, json};

use crate::tests::{connection, lines, open};
use crate::{dialect, scope, supported};

#[test]
fn serves_every_warehouse() {
    let warehouses: Vec<Driver> = Driver::ALL
        .into_iter()
        .filter(|driver| driver.kind() == DriverKind::Warehouse)
        .collect();
    assert_eq!(supported().collect::<Vec<_>>(), warehouses);
}

#[test]
fn distinguishes_context_sources_from_warehouses() {
    let error = open(Driver::Notion, json!({})).unwrap_err();
    assert_eq!(
        lines(&error),
        "connection_config\nconnection `warehouse` is a context source (`notion`), not a \
         warehouse\n-"
    );
}

#[test]
fn knows_the_dialect_of_every_warehouse_driver() {
    let known: Vec<Option<Dialect>> = Driver::ALL.into_iter().map(dialect).collect();
    assert_eq!(
        known,
        [
            Some(Dialect::Postgres),
            Some(Dialect::Snowflake),
            Some(Dialect::BigQuery),
            Some(Dialect::ClickHouse),
            Some(Dialect::MySql),
            Some(Dialect::MariaDb),
            Some(Dialect::SqlServer),
            Some(Dialect::Sqlite),
            Some(Dialect::DuckDb),
            Some(Dialect::Redshift),
            None,
            None,
            None,
            None,
            None,
            None,
            None,
        ]
    );
}

#[track_caller]
fn check_scope(driver: Driver, fields: Value, schemas: &[&str], tables: &[&str]) {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let expected = Scope {
        schemas: owned(schemas),
        tables: owned(tables),
    };
    assert_eq!(scope(&connection(driver, fields)), expected);
}

#[test]
fn reads_the_scope_of_each_driver() {
    check_scope(Driver::Postgres, json!({}), &[], &[]);
    check_scope(Driver::Postgres, json!({"schema": "shop"}), &["shop"], &[]);
    check_scope(
        Driver::Postgres,
        json!({"schemas": ["a", "b"], "schema": "c", "enabled_tables": ["a.x"]}),
        &["a", "b"],
        &["a.x"],
    );
    check_scope(
        Driver::Postgres,
        json!({"database": "d", "enabled_tables": ["d.a.x", "e.a.x", "a.x", "x"]}),
        &[],
        &["a.x", "e.a.x", "a.x", "x"],
    );
    check_scope(
        Driver::Postgres,
        json!({"url": "env:URL", "enabled_tables": ["d.a.x"]}),
        &[],
        &["a.x"],
    );
    check_scope(
        Driver::Sqlite,
        json!({"enabled_tables": ["main.x", "y.z"]}),
        &[],
        &["x", "y.z"],
    );
    check_scope(
        Driver::MySql,
        json!({"enabled_tables": ["def.a.x", "a.b.c"]}),
        &[],
        &["a.x", "a.b.c"],
    );
    check_scope(
        Driver::DuckDb,
        json!({"enabled_tables": ["shop.main.x", "main.x", "x"]}),
        &[],
        &["main.x", "main.x", "x"],
    );
    check_scope(Driver::DuckDb, json!({"schema": "main"}), &["main"], &[]);
    check_scope(Driver::Redshift, json!({}), &[], &[]);
    check_scope(Driver::SqlServer, json!({}), &["dbo"], &[]);
    check_scope(
        Driver::SqlServer,
        json!({"schema": "sales", "enabled_tables": ["shop.sales.x"]}),
        &["sales"],
        &["shop.sales.x"],
    );
    check_scope(Driver::Snowflake, json!({}), &[], &[]);
    check_scope(Driver::Snowflake, json!({"schema_name": "s"}), &["s"], &[]);
    check_scope(Driver::BigQuery, json!({}), &[], &[]);
    check_scope(
        Driver::BigQuery,
        json!({"dataset_ids": ["a", "p.b"], "enabled_tables": ["p.b.t"]}),
        &["a", "p.b"],
        &["p.b.t"],
    );
    check_scope(Driver::Sqlite, json!({"schemas": ["main"]}), &[], &[]);
    for driver in [Driver::MySql, Driver::MariaDb] {
        check_scope(driver, json!({"database": "shop"}), &["shop"], &[]);
    }
    check_scope(
        Driver::MySql,
        json!({"database": "shop", "schemas": ["a"]}),
        &["a"],
        &[],
    );
    check_scope(
        Driver::MySql,
        json!({"url": "mysql://u:p@h/sales?ssl=true"}),
        &["sales"],
        &[],
    );
    check_scope(Driver::MySql, json!({"url": "env:URL"}), &[], &[]);
    for (fields, schemas) in [
        (json!({}), vec!["default"]),
        (json!({"database": "shop"}), vec!["shop"]),
        (json!({"url": "http://h:8123/shop"}), vec!["shop"]),
        (json!({"url": "http://h:8123"}), vec!["default"]),
        (
            json!({"url": "http://h/shop", "databases": ["a", "b"]}),
            vec!["a", "b"],
        ),
        (json!({"url": "env:URL"}), vec![]),
    ] {
        check_scope(Driver::ClickHouse, fields, &schemas, &[]);
    }
}
