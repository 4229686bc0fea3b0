//! Tests without a server.

use ktx_config::Driver;
use ktx_warehouse::{DimensionType, RoleCheck};
use serde_json::{Value, json};

use super::catalog::ColumnType;
use super::{cell, role};
use crate::tests::{lines, open};

#[test]
fn writes_decimals() {
    for (value, scale, expected) in [
        (0, 0, "0"),
        (1250, 2, "12.50"),
        (-5, 2, "-0.05"),
        (-125, 0, "-125"),
        (1, 38, "0.00000000000000000000000000000000000001"),
    ] {
        assert_eq!(cell::decimal(value, scale), expected);
    }
}

#[track_caller]
fn check_shape(base: &str, length: i64, numbers: (u8, u8), expected: &str) {
    let shape = ColumnType {
        base,
        length,
        precision: numbers.0.to_string(),
        scale: numbers.1.to_string(),
    };
    assert_eq!(shape.text(), expected);
}

#[test]
fn writes_types_as_sql_does() {
    check_shape("int", 4, (10, 0), "int");
    check_shape("varchar", 20, (0, 0), "varchar(20)");
    check_shape("varchar", -1, (0, 0), "varchar(max)");
    check_shape("nvarchar", 20, (0, 0), "nvarchar(10)");
    check_shape("nchar", 2, (0, 0), "nchar(1)");
    check_shape("varbinary", -1, (0, 0), "varbinary(max)");
    check_shape("decimal", 9, (18, 2), "decimal(18,2)");
    check_shape("datetime2", 8, (27, 7), "datetime2(7)");
    check_shape("datetime", 8, (23, 3), "datetime");
    check_shape("money", 8, (19, 4), "money");
}

#[test]
fn maps_types_to_dimensions() {
    use DimensionType::{Boolean, Number, String, Time};
    for (base, expected) in [
        ("bit", Boolean),
        ("money", Number),
        ("decimal", Number),
        ("datetimeoffset", Time),
        ("nvarchar", String),
        ("uniqueidentifier", String),
        ("rowversion", String),
    ] {
        assert_eq!(cell::dimension(base), expected, "{base}");
    }
}

#[track_caller]
fn check_rights(rights: &[&str], writable: Option<&str>, expected: &str) {
    let rights: Vec<String> = rights.iter().map(|right| (*right).to_owned()).collect();
    let shown = match role::judge(&rights, writable, "u") {
        RoleCheck::ReadOnly => "read-only".to_owned(),
        RoleCheck::CanWrite { because, .. } => because,
        RoleCheck::Unknown { reason } => reason,
    };
    assert_eq!(shown, expected);
}

#[test]
fn reads_rights() {
    check_rights(
        &["CONNECT", "SELECT", "VIEW ANY SENSITIVITY CLASSIFICATION"],
        None,
        "read-only",
    );
    check_rights(
        &["CONNECT", "EXECUTE"],
        None,
        "the login `u` has EXECUTE in the database",
    );
    check_rights(
        &["CONNECT", "SELECT"],
        Some("dbo.x"),
        "the login `u` may change dbo.x",
    );
}

#[track_caller]
fn check_refused(fields: Value, expected: &str) {
    assert_eq!(
        lines(&open(Driver::SqlServer, fields).unwrap_err()),
        expected
    );
}

#[test]
fn refuses_settings_that_cannot_work() {
    check_refused(
        json!({}),
        "connection_config\nconnection `warehouse` names no server\nadd `url`, or `host`, \
         `database`, `username` and `password`",
    );
    check_refused(
        json!({"host": "/run/mssql", "username": "u"}),
        "connection_config\nconnection `warehouse` names a socket; SQL Server is reached over TCP\n-",
    );
    check_refused(
        json!({"url": "postgres://u:p@h/d"}),
        "connection_config\nconnection `warehouse` has a `url` for `postgres`, not for SQL \
         Server\nwrite it as `sqlserver://user@host:1433/database`",
    );
}
