//! Tests without a server.

mod live;

use ktx_warehouse::{Cell, DimensionType, RoleCheck};
use serde_json::{Value, json};

use super::{catalog, cell};

#[track_caller]
fn check(native_type: &str, value: Value, expected: &Cell) {
    assert_eq!(cell::decode(native_type, value), *expected, "{native_type}");
}

#[test]
fn reads_values_by_their_type() {
    let text = |text: &str| Cell::Text(text.to_owned());
    check("UInt8", json!(7), &Cell::Int(7));
    check("Int64", json!("-9223372036854775808"), &Cell::Int(i64::MIN));
    check(
        "Nullable(UInt64)",
        json!("18446744073709551615"),
        &Cell::UInt(u64::MAX),
    );
    check(
        "Int128",
        json!("170141183460469231731687303715884105727"),
        &Cell::Decimal("170141183460469231731687303715884105727".into()),
    );
    check("Float64", json!(1), &Cell::Float(1.0));
    check("Float32", json!("-inf"), &Cell::Float(f64::NEG_INFINITY));
    check(
        "Decimal(10, 2)",
        json!("1.50"),
        &Cell::Decimal("1.50".into()),
    );
    check("Bool", json!(true), &Cell::Bool(true));
    check("LowCardinality(Nullable(String))", Value::Null, &Cell::Null);
    check("String", json!("7"), &text("7"));
    check("Enum8('a' = 1)", json!("a"), &text("a"));
    check(
        "UUID",
        json!("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        &text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    );
    check(
        "Date32",
        json!("2024-02-29"),
        &Cell::Date("2024-02-29".into()),
    );
    check(
        "DateTime64(3, 'UTC')",
        json!("2024-02-29 10:00:00.123"),
        &Cell::Timestamp("2024-02-29 10:00:00.123".into()),
    );
    check(
        "Array(Int64)",
        json!(["1", "2"]),
        &Cell::Json(json!(["1", "2"])),
    );
    check(
        "Map(String, UInt8)",
        json!({"a": 1}),
        &Cell::Json(json!({"a": 1})),
    );
}

#[test]
fn reads_types() {
    use DimensionType::{Boolean, Number, String, Time};
    for (native_type, dimension, nullable) in [
        ("UInt8", Number, false),
        ("Nullable(Decimal(10, 2))", Number, true),
        ("LowCardinality(Nullable(String))", String, true),
        ("LowCardinality(String)", String, false),
        ("DateTime64(3, 'Europe/Berlin')", Time, false),
        ("Date", Time, false),
        ("Bool", Boolean, false),
        ("Array(Nullable(Int8))", String, false),
        ("IntervalDay", String, false),
    ] {
        assert_eq!(
            (cell::dimension(native_type), cell::is_nullable(native_type)),
            (dimension, nullable),
            "{native_type}"
        );
    }
}

#[track_caller]
fn check_grants(lines: &[&str], expected: &str) {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let shown = match catalog::judge(&lines) {
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
            "GRANT SHOW TABLES, SHOW COLUMNS, SELECT(a, b) ON shop.* TO reader",
            "GRANT SELECT ON x.y TO reader",
        ],
        "read-only",
    );
    check_grants(
        &["GRANT SELECT, INSERT ON shop.* TO writer"],
        "the login has INSERT on shop.*",
    );
    check_grants(
        &["GRANT ALL ON *.* TO default WITH GRANT OPTION"],
        "the login has ALL on *.*",
    );
    check_grants(
        &["GRANT admins TO someone"],
        "the login has further rights: GRANT admins TO someone",
    );
}
