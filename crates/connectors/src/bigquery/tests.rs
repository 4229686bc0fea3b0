//! Tests without a server.

use std::path::PathBuf;

use ktx_config::Driver;
use ktx_warehouse::{Cell, DimensionType};
use serde_json::{Value, json};

use super::api::size;
use super::cell::{self, ResultField};
use super::options::Dataset;
use crate::tests::{Secrets, connection, lines};

const KEY: &str = include_str!("../../../../fixtures/connectors/keys/throwaway-rsa.pem");

#[track_caller]
fn check(kind: &str, value: Value, expected: &Cell) {
    let field = ResultField::list(Some(&json!([{"name": "x", "type": kind}])));
    let mut row = json!({"f": [{"v": null}]});
    *row.pointer_mut("/f/0/v").unwrap() = value;
    let found = ResultField::row(&field, row);
    assert_eq!(found, std::slice::from_ref(expected), "{kind}");
}

#[test]
fn reads_scalars_by_their_type() {
    let text = |text: &str| Cell::Text(text.to_owned());
    check(
        "INTEGER",
        json!("-9223372036854775808"),
        &Cell::Int(i64::MIN),
    );
    check("FLOAT", json!("1.0E10"), &Cell::Float(1.0e10));
    check("FLOAT", json!("-Infinity"), &Cell::Float(f64::NEG_INFINITY));
    check("NUMERIC", json!("-1.50"), &Cell::Decimal("-1.50".into()));
    check(
        "BIGNUMERIC",
        json!("578960446186580977117854925043439539266.34"),
        &Cell::Decimal("578960446186580977117854925043439539266.34".into()),
    );
    check("BOOLEAN", json!("true"), &Cell::Bool(true));
    check("STRING", json!("true"), &text("true"));
    check("STRING", Value::Null, &Cell::Null);
    check("BYTES", json!("YWJj"), &Cell::Bytes(b"abc".to_vec()));
    check(
        "DATE",
        json!("2024-02-29"),
        &Cell::Date("2024-02-29".into()),
    );
    check(
        "TIME",
        json!("10:00:00.250000"),
        &Cell::Time("10:00:00.25".into()),
    );
    check(
        "DATETIME",
        json!("2024-02-29T10:00:00.000000"),
        &Cell::Timestamp("2024-02-29 10:00:00".into()),
    );
    check(
        "TIMESTAMP",
        json!("1709200800500000"),
        &Cell::Timestamp("2024-02-29 10:00:00.5+00".into()),
    );
    check(
        "JSON",
        json!("{\"a\":[1,null]}"),
        &Cell::Json(json!({"a": [1, null]})),
    );
    check("GEOGRAPHY", json!("POINT(1 2)"), &text("POINT(1 2)"));
    check("INTERVAL", json!("0-0 0 1:0:0"), &text("0-0 0 1:0:0"));
}

#[test]
fn reads_nested_and_repeated_values() {
    let schema = json!([
        {"name": "tags", "type": "STRING", "mode": "REPEATED"},
        {"name": "lines", "type": "RECORD", "mode": "REPEATED", "fields": [
            {"name": "sku", "type": "STRING"},
            {"name": "price", "type": "NUMERIC"},
            {"name": "sizes", "type": "INTEGER", "mode": "REPEATED"},
        ]},
        {"name": "who", "type": "STRUCT", "fields": [
            {"name": "at", "type": "TIMESTAMP"}, {"name": "none", "type": "FLOAT"},
        ]},
        {"name": "nobody", "type": "RECORD", "fields": [{"name": "a", "type": "DATE"}]},
    ]);
    let fields = ResultField::list(Some(&schema));
    let headers: Vec<String> = fields
        .iter()
        .filter_map(|field| field.header().native_type)
        .collect();
    assert_eq!(
        headers,
        [
            "ARRAY<STRING>",
            "ARRAY<STRUCT<sku STRING, price NUMERIC, sizes ARRAY<INT64>>>",
            "STRUCT<at TIMESTAMP, none FLOAT64>",
            "STRUCT<a DATE>",
        ]
    );
    let row = json!({"f": [
        {"v": [{"v": "a"}, {"v": "b"}]},
        {"v": [
            {"v": {"f": [{"v": "x"}, {"v": "1.10"}, {"v": [{"v": "7"}]}]}},
            {"v": {"f": [{"v": null}, {"v": null}, {"v": []}]}},
        ]},
        {"v": {"f": [{"v": "0"}, {"v": null}]}},
        {"v": null},
    ]});
    assert_eq!(
        ResultField::row(&fields, row),
        [
            Cell::Json(json!(["a", "b"])),
            Cell::Json(json!([
                {"sku": "x", "price": "1.10", "sizes": [7]},
                {"sku": null, "price": null, "sizes": []},
            ])),
            Cell::Json(json!({"at": "1970-01-01 00:00:00+00", "none": null})),
            Cell::Null,
        ]
    );
}

#[test]
fn reads_types() {
    use DimensionType::{Boolean, Number, String, Time};
    for (native_type, normalized, dimension) in [
        ("INT64", "BIGINT", Number),
        ("NUMERIC(10, 2)", "DECIMAL", Number),
        ("BIGNUMERIC", "DECIMAL", Number),
        ("FLOAT64", "DOUBLE", Number),
        ("BOOL", "BOOLEAN", Boolean),
        ("STRING(20)", "VARCHAR", String),
        ("BYTES", "VARBINARY", String),
        ("DATE", "DATE", Time),
        ("TIMESTAMP", "TIMESTAMP", Time),
        ("STRUCT<a INT64, b DATE>", "JSON", String),
        ("ARRAY<INT64>", "ARRAY<INT64>", String),
        ("GEOGRAPHY", "GEOGRAPHY", String),
        ("RANGE<DATE>", "RANGE<DATE>", String),
    ] {
        assert_eq!(
            (
                cell::normalized(native_type).as_str(),
                cell::dimension(native_type)
            ),
            (normalized, dimension),
            "{native_type}"
        );
    }
}

#[test]
fn writes_sizes() {
    assert_eq!(size(999), "999 bytes");
    assert_eq!(size(1536), "1536 bytes (1.5 KiB)");
    assert_eq!(size(10 << 30), "10737418240 bytes (10.0 GiB)");
    assert_eq!(
        size(u64::MAX),
        "18446744073709551615 bytes (16777215.9 TiB)"
    );
}

#[test]
fn splits_datasets_at_their_last_dot() {
    for (text, project, name) in [
        ("shop", "p", "shop"),
        ("other.shop", "other", "shop"),
        ("example.com:other.shop", "example.com:other", "shop"),
    ] {
        let expected = Dataset {
            project: project.to_owned(),
            name: name.to_owned(),
        };
        assert_eq!(Dataset::parse(text, "p"), expected);
    }
}

fn account(extra: &Value) -> String {
    let mut file = json!({
        "type": "service_account", "project_id": "shop-1", "private_key_id": "k1",
        "private_key": KEY, "client_email": "ktx@shop-1.iam.gserviceaccount.com",
        "token_uri": "https://oauth2.googleapis.com/token",
    });
    file.as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    file.to_string()
}

fn open(fields: Value) -> Result<String, String> {
    let adc = "/srv/home/.config/gcloud/application_default_credentials.json";
    let person = json!({
        "type": "authorized_user", "client_id": "c", "client_secret": "client-word",
        "refresh_token": "refresh-word", "quota_project_id": "from-adc",
    });
    let secrets = Secrets {
        variables: [("KEY".to_owned(), account(&json!({})))].into(),
        files: [(PathBuf::from(adc), person.to_string())].into(),
        base: PathBuf::from("/srv/project"),
    };
    crate::open(&connection(Driver::BigQuery, fields), &secrets, 0)
        .map(|connector| format!("{connector:?}"))
        .map_err(|error| lines(&error))
}

#[track_caller]
fn check_project(fields: Value, expected: &str) {
    let shown = open(fields).unwrap();
    assert!(
        shown.contains(&format!("project: \"{expected}\", location")),
        "{shown}"
    );
    for secret in ["MIIE", "client-word", "refresh-word"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn finds_the_project_that_pays() {
    check_project(json!({"credentials_json": "env:KEY"}), "shop-1");
    check_project(json!({"credentials_json": account(&json!({}))}), "shop-1");
    check_project(
        json!({"credentials_json": "env:KEY", "project_id": "other"}),
        "other",
    );
    check_project(json!({}), "from-adc");
    check_project(
        json!({"credentials": "adc", "endpoint": "https://lake.example.com"}),
        "from-adc",
    );
    check_project(json!({"credentials": "metadata", "project_id": "p"}), "p");
    check_project(
        json!({"credentials": "none", "endpoint": "http://localhost:9050", "project_id": "p"}),
        "p",
    );
}

#[track_caller]
fn check_refused(fields: Value, expected: &str) {
    assert_eq!(open(fields).unwrap_err(), expected);
}

#[test]
fn refuses_settings_that_cannot_work() {
    const NEW_KEY: &str =
        "create a JSON key for a service account and give the whole text of its file";
    check_refused(
        json!({"credentials": "metadata"}),
        "connection_config\nconnection `warehouse` names no project\nadd `project_id`: the project \
         that queries are billed to",
    );
    check_refused(
        json!({"credentials": "none", "project_id": "p"}),
        "connection_config\nconnection `warehouse` has `credentials: none`, which is for an \
         emulator on this machine\nset `endpoint` to the emulator, or give credentials",
    );
    check_refused(
        json!({"endpoint": "https://lake.example.com", "project_id": "p"}),
        "connection_config\nconnection `warehouse` has an `endpoint` and names no credentials\nadd \
         `credentials: adc` if that address may have your Google login, or give `credentials_json`",
    );
    check_refused(
        json!({"credentials_json": "env:KEY", "endpoint": "http://example.com"}),
        "connection_config\nconnection `warehouse` has an `endpoint` that is not an HTTPS \
         URL\nwrite it as `https://host`; `http://` is for this machine only",
    );
    check_refused(
        json!({"credentials_json": "key.json"}),
        &format!(
            "connection_config\nconnection `warehouse` has unusable credentials in \
             `credentials_json`: they are not JSON\n{NEW_KEY}"
        ),
    );
    check_refused(
        json!({"credentials_json": account(&json!({"private_key": "secret-word"}))}),
        &format!(
            "connection_config\nconnection `warehouse` has unusable credentials in \
             `credentials_json`: of `private_key`, it is not a private key in PEM form\n{NEW_KEY}"
        ),
    );
    check_refused(
        json!({"credentials_json": account(&json!({"token_uri": "http://example.com/token"}))}),
        &format!(
            "connection_config\nconnection `warehouse` has unusable credentials in \
             `credentials_json`: `token_uri` is not an HTTPS URL\n{NEW_KEY}"
        ),
    );
    check_refused(
        json!({"credentials_json": "{\"type\": \"external_account\"}"}),
        &format!(
            "connection_config\nconnection `warehouse` has unusable credentials in \
             `credentials_json`: their type is `external_account`; `service_account` and \
             `authorized_user` are supported\n{NEW_KEY}"
        ),
    );
    check_refused(
        json!({"credentials_json": "env:KEY", "max_bytes_billed": "10 GB"}),
        "connection_config\nconnection `warehouse` has `max_bytes_billed: 10 GB`; it must be a \
         positive whole number\n-",
    );
}
