//! Tests without a server.

use ktx_config::Driver;
use ktx_warehouse::{Cell, DimensionType};
use serde_json::{Value, json};

use super::cell::{self, RowType};
use super::{account, api};
use crate::tests::{connection, lines, open};

const KEY: &str = include_str!("../../../../fixtures/connectors/keys/throwaway-rsa.pem");
const LOCKED: &str = include_str!("../../../../fixtures/connectors/keys/throwaway-rsa-des3.pem");

#[track_caller]
fn check(kind: &str, scale: u64, value: Value, expected: &Cell) {
    let columns = RowType::list(Some(&json!([{"name": "X", "type": kind, "scale": scale}])));
    let [column] = columns.as_slice() else {
        panic!("one column")
    };
    assert_eq!(column.decode(value), *expected, "{kind}");
}

#[test]
fn reads_values_by_their_type() {
    let text = |text: &str| Cell::Text(text.to_owned());
    check(
        "fixed",
        0,
        json!("-9223372036854775808"),
        &Cell::Int(i64::MIN),
    );
    let long = "99999999999999999999999999999999999999";
    check("fixed", 0, json!(long), &Cell::Decimal(long.into()));
    check("fixed", 2, json!("-12.50"), &Cell::Decimal("-12.50".into()));
    check("FIXED", 2, json!("5"), &Cell::Decimal("5".into()));
    check("real", 0, json!("1.5e10"), &Cell::Float(1.5e10));
    check("real", 0, json!("-inf"), &Cell::Float(f64::NEG_INFINITY));
    check("boolean", 0, json!("true"), &Cell::Bool(true));
    check("text", 0, json!("true"), &text("true"));
    check("text", 0, Value::Null, &Cell::Null);
    check("binary", 0, json!("00Ff"), &Cell::Bytes(vec![0, 255]));
    check("binary", 0, json!("0"), &text("0"));
    check(
        "variant",
        0,
        json!("{\"a\": [1, null]}"),
        &Cell::Json(json!({"a": [1, null]})),
    );
    check("variant", 0, json!("\"a\""), &Cell::Json(json!("a")));
    check("array", 0, json!("[1, undefined]"), &text("[1, undefined]"));
    check("geography", 0, json!("POINT(1 2)"), &text("POINT(1 2)"));
}

#[test]
fn reads_dates_and_times() {
    let timestamp = |text: &str| Cell::Timestamp(text.to_owned());
    check("date", 0, json!("19782"), &Cell::Date("2024-02-29".into()));
    check("date", 0, json!("-1"), &Cell::Date("1969-12-31".into()));
    check(
        "time",
        9,
        json!("82919.123456789"),
        &Cell::Time("23:01:59.123456789".into()),
    );
    check("time", 0, json!("0"), &Cell::Time("00:00:00".into()));
    check(
        "timestamp_ntz",
        9,
        json!("1709200800.500000000"),
        &timestamp("2024-02-29 10:00:00.5"),
    );
    check(
        "timestamp_ltz",
        3,
        json!("1709200800.000"),
        &timestamp("2024-02-29 10:00:00+00"),
    );
    check(
        "timestamp_ntz",
        9,
        json!("-1.250000000"),
        &timestamp("1969-12-31 23:59:58.75"),
    );
    check(
        "timestamp_ntz",
        9,
        json!("-0.250000000"),
        &timestamp("1969-12-31 23:59:59.75"),
    );
    check(
        "timestamp_tz",
        9,
        json!("1709200800.000000000 1500"),
        &timestamp("2024-02-29 11:00:00+01"),
    );
    check(
        "timestamp_tz",
        9,
        json!("1709200800.000000000 1230"),
        &timestamp("2024-02-29 06:30:00-03:30"),
    );
    check(
        "timestamp_ntz",
        9,
        json!("never"),
        &Cell::Text("never".into()),
    );
}

#[test]
fn names_types_as_sql_does() {
    let columns = json!([
        {"name": "A", "type": "fixed", "precision": 10, "scale": 2},
        {"name": "B", "type": "text"},
        {"name": "C", "type": "real"},
        {"name": "D", "type": "timestamp_tz"},
    ]);
    let types: Vec<String> = RowType::list(Some(&columns))
        .iter()
        .filter_map(|column| column.header().native_type)
        .collect();
    assert_eq!(types, ["NUMBER(10,2)", "VARCHAR", "FLOAT", "TIMESTAMP_TZ"]);
    for (native_type, expected) in [
        ("NUMBER(38,0)", DimensionType::Number),
        ("FLOAT", DimensionType::Number),
        ("BOOLEAN", DimensionType::Boolean),
        ("TIMESTAMP_NTZ(9)", DimensionType::Time),
        ("DATE", DimensionType::Time),
        ("TEXT", DimensionType::String),
        ("VARIANT", DimensionType::String),
        ("BINARY", DimensionType::String),
    ] {
        assert_eq!(cell::dimension(native_type), expected, "{native_type}");
    }
}

#[test]
fn reads_accounts_in_every_form() {
    for (text, address, token) in [
        (
            "myorg-my_acct",
            "https://myorg-my-acct.snowflakecomputing.com",
            "MYORG-MY_ACCT",
        ),
        (
            "xy12345",
            "https://xy12345.snowflakecomputing.com",
            "XY12345",
        ),
        (
            "xy12345.eu-west-1.aws",
            "https://xy12345.eu-west-1.aws.snowflakecomputing.com",
            "XY12345",
        ),
        (
            "https://myorg-acct.snowflakecomputing.com/",
            "https://myorg-acct.snowflakecomputing.com",
            "MYORG-ACCT",
        ),
        (
            "acct-x9.global",
            "https://acct-x9.global.snowflakecomputing.com",
            "ACCT",
        ),
    ] {
        assert_eq!(
            (
                account::address(text).as_str(),
                account::in_tokens(text).as_str()
            ),
            (address, token)
        );
    }
}

#[test]
fn reads_names_as_sql_does() {
    for (text, expected) in [
        ("analytics", "ANALYTICS"),
        ("_a$1", "_A$1"),
        ("\"Mixed \"\" Case\"", "Mixed \" Case"),
        ("2nd", "2nd"),
        ("my db", "my db"),
    ] {
        assert_eq!(account::identifier(text), expected);
    }
    assert_eq!(account::dotted("db.\"s\".t"), "DB.s.T");
}

#[test]
fn names_requests_like_uuids() {
    let id = api::request_id().unwrap();
    let lengths: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
    assert_ne!(id, api::request_id().unwrap());
}

#[track_caller]
fn check_settings(extra: &Value, expected: Result<(), &str>) {
    let mut fields = json!({"account": "myorg-acct", "database": "shop", "username": "ktx"});
    fields
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    let found = open(Driver::Snowflake, fields);
    if let Ok(connector) = &found {
        let shown = format!("{connector:?}");
        for secret in ["MIIE", "open-sesame", "token-word"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
    let found = found.map(drop).map_err(|error| lines(&error));
    assert_eq!(found, expected.map_err(str::to_owned));
}

#[test]
fn signs_in_with_keys_and_tokens() {
    check_settings(&json!({"privateKey": KEY}), Ok(()));
    check_settings(&json!({"authMethod": "rsa", "privateKey": KEY}), Ok(()));
    check_settings(
        &json!({"authMethod": "rsa", "privateKey": LOCKED, "passphrase": "open-sesame"}),
        Ok(()),
    );
    check_settings(&json!({"authMethod": "pat", "token": "token-word"}), Ok(()));
    check_settings(
        &json!({"authMethod": "oauth", "token": "token-word", "username": null}),
        Ok(()),
    );
}

/// For KTX 0.12 configurations.
#[test]
fn explains_key_pairs_to_those_with_passwords() {
    let expected = Err(
        "connection_config\nconnection `warehouse` signs in with a password, which \
         Snowflake's SQL API does not support\nmake a key pair: `openssl genrsa 2048 | openssl pkcs8 \
         -topk8 -nocrypt -inform PEM -out rsa_key.p8`, then `openssl rsa -in rsa_key.p8 -pubout -out \
         rsa_key.pub`, then in Snowflake `ALTER USER ktx SET RSA_PUBLIC_KEY = '…'` with the text \
         between the first and the last line of rsa_key.pub; then set `authMethod: rsa` and \
         `privateKey: file:rsa_key.p8`",
    );
    check_settings(&json!({"password": "p"}), expected);
    check_settings(
        &json!({"authMethod": "password", "password": "p"}),
        expected,
    );
}

#[test]
fn refuses_settings_that_cannot_work() {
    check_settings(
        &json!({}),
        Err(
            "connection_config\nconnection `warehouse` does not say how the user signs in\nadd \
             `authMethod: rsa` with `username` and `privateKey`, or `authMethod: pat` with `token`",
        ),
    );
    check_settings(
        &json!({"token": "t"}),
        Err(
            "connection_config\nconnection `warehouse` has a `token` of an unknown kind\nadd `authMethod: pat` for a programmatic access token, or `authMethod: oauth`",
        ),
    );
    check_settings(
        &json!({"privateKey": LOCKED}),
        Err(
            "connection_config\nconnection `warehouse` has a `privateKey` that cannot be used: it is \
             encrypted and no passphrase is given\nmake one with `openssl genrsa 2048 | openssl pkcs8 \
             -topk8 -inform PEM -out rsa_key.p8`, and put its passphrase into `passphrase`",
        ),
    );
    check_settings(
        &json!({"privateKey": KEY, "database": null}),
        Err(
            "connection_config\nconnection `warehouse` names no database\nadd `database`: the \
             database to read",
        ),
    );
    check_settings(
        &json!({"privateKey": KEY, "maxConnections": 0}),
        Err(
            "connection_config\nconnection `warehouse` has `maxConnections: 0`; it must be a positive \
             whole number\n-",
        ),
    );
    let without = connection(
        Driver::Snowflake,
        json!({"database": "d", "privateKey": KEY}),
    );
    let error = crate::open(&without, &crate::tests::Secrets::default(), 0).unwrap_err();
    assert_eq!(
        lines(&error),
        "connection_config\nconnection `warehouse` names no account\nadd `account`: the account \
         identifier, such as `myorg-myaccount`"
    );
}
