//! Tests of masking.

use serde_json::json;

use super::*;

#[track_caller]
fn check(driver: Driver, fields: &Value, shown: &Value) {
    let connection = Connection {
        id: "one".parse().expect("an id"),
        driver,
        fields: fields.as_object().cloned().expect("fields"),
    };
    assert_eq!(Value::Object(masked(&connection)), *shown);
}

#[test]
fn references_are_shown_and_secrets_are_not() {
    check(
        Driver::Postgres,
        &json!({
            "url": "env:URL",
            "password": "hunter2",
            "username": "ada",
            "port": 5432,
            "apiToken": "abc",
            "pin_secret": 1234,
            "ssl": {"ca": "file:ca.pem", "keyPassword": "abc", "rejectUnauthorized": true},
            "schemas": ["public", "sales"],
        }),
        &json!({
            "url": "env:URL",
            "password": "***",
            "username": "ada",
            "port": 5432,
            "apiToken": "***",
            "pin_secret": "***",
            "ssl": {"ca": "file:ca.pem", "keyPassword": "***", "rejectUnauthorized": true},
            "schemas": ["public", "sales"],
        }),
    );
    check(
        Driver::Sqlite,
        &json!({"url": "sqlite:a.db", "path": "file:b.db"}),
        &json!({"url": "sqlite:a.db", "path": "file:b.db"}),
    );
}

#[test]
fn addresses_lose_only_their_secrets() {
    let check = |url: &str, shown: &str| {
        assert_eq!(mask_text("url", url, FieldKind::Secret), shown);
        assert_eq!(holds_secret(url), url != shown, "{url}");
    };
    check("postgres://ada@db:5432/shop", "postgres://ada@db:5432/shop");
    check("postgres://db:5432/a@b", "postgres://***");
    check(
        "postgres://ada:pw@db/shop?sslmode=require",
        "postgres://ada:***@db/shop?sslmode=require",
    );
    check(
        "postgres://db/shop?user=ada&password=pw&x=1",
        "postgres://db/shop?user=ada&password=***&x=1",
    );
    check("postgres://ada:p/w@db/shop", "postgres://***");
    check("postgres://ada:1/w@db/shop", "postgres://***");
    check("postgres://ada:p?w@db/shop", "postgres://***");
    check("postgres://ada:p'w@db/shop", "postgres://***");
    check("http://[::1]:8123/default", "http://[::1]:8123/default");
    check("Server=db;Password=pw", "***");
    check("db.internal/shop", "db.internal/shop");
}

#[test]
fn a_database_file_is_no_reference() {
    let connection = Connection {
        id: "one".parse().expect("an id"),
        driver: Driver::Sqlite,
        fields: json!({"path": "file:a.db", "url": "env:DB", "more": {"key": "file:x"}})
            .as_object()
            .cloned()
            .expect("fields"),
    };
    let found: Vec<String> = references(&connection)
        .into_iter()
        .map(|reference| format!("{}={}", reference.field, reference.written))
        .collect();
    assert_eq!(found, ["url=env:DB", "more.key=file:x"]);
}
