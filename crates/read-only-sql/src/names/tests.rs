//! Tests of the table names.

use ktx_sql::Dialect;
use sqlparser::ast::{Ident, ObjectName};

use super::check_table;

fn check(dialect: Dialect, parts: &[&str], expected: Result<(), &str>) {
    let idents: Vec<Ident> = parts
        .iter()
        .map(|part| Ident::with_quote('"', *part))
        .collect();
    let found =
        check_table(&ObjectName::from(idents), dialect).map_err(|refusal| refusal.code.as_str());
    assert_eq!(found, expected, "{parts:?} in {dialect}");
}

#[test]
fn ordinary_names_pass() {
    check(Dialect::DuckDb, &["main", "orders"], Ok(()));
    check(Dialect::BigQuery, &["my-project", "ds", "events_*"], Ok(()));
    check(Dialect::SqlServer, &["db", "", "orders"], Ok(()));
    check(Dialect::Trino, &["orders$partitions"], Ok(()));
    check(Dialect::Postgres, &["public", "users"], Ok(()));
}

#[test]
fn names_of_files_are_refused() {
    check(Dialect::DuckDb, &["x.parquet"], Err("file_as_table"));
    check(Dialect::DuckDb, &["x", "csv"], Err("file_as_table"));
    check(Dialect::DuckDb, &["/etc/passwd"], Err("file_as_table"));
    check(Dialect::DuckDb, &["s3:x"], Err("file_as_table"));
    check(Dialect::DuckDb, &["x.log"], Err("file_as_table"));
    check(Dialect::DuckDb, &["main", "log"], Ok(()));
    check(
        Dialect::Databricks,
        &["org.apache.spark.sql.parquet", "x"],
        Err("file_as_table"),
    );
    check(Dialect::Databricks, &["csv", "x"], Err("file_as_table"));
    check(Dialect::Databricks, &["delta", "/x"], Err("file_as_table"));
}

#[test]
fn stages_variables_and_other_servers_are_refused() {
    check(Dialect::Snowflake, &["@stage"], Err("stage_or_variable"));
    check(Dialect::Snowflake, &["$t"], Err("stage_or_variable"));
    check(
        Dialect::SqlServer,
        &["srv", "db", "dbo", "t"],
        Err("linked_server"),
    );
}

#[test]
fn tables_of_credentials_are_refused_in_any_spelling() {
    check(
        Dialect::MySql,
        &["MySQL", "User"],
        Err("credential_catalog"),
    );
    check(
        Dialect::Postgres,
        &["pg_catalog", "PG_AUTHID"],
        Err("credential_catalog"),
    );
    check(
        Dialect::SqlServer,
        &["master", "", "syslogins"],
        Err("credential_catalog"),
    );
    check(
        Dialect::ClickHouse,
        &["system", "users"],
        Err("credential_catalog"),
    );
}
