//! ClickHouse against an HTTP server that checks requests.

use std::sync::Arc;

use ktx_config::Driver;
use ktx_warehouse::{Caps, Connector, ErrorKind, RoleCheck, Scope};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use wiremock::matchers::{basic_auth, body_string_contains, method, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::render;
use crate::support::{open, query, query_with};

fn connector(server: &MockServer, extra: &Value) -> Arc<dyn Connector> {
    let mut fields = json!({
        "host": "127.0.0.1", "port": server.address().port(), "database": "shop",
        "username": "reader", "password": "click-secret",
    });
    fields
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    open(Driver::ClickHouse, fields)
}

async fn answer(server: &MockServer, part: &str, status: u16, body: &str) {
    Mock::given(method("POST"))
        .and(basic_auth("reader", "click-secret"))
        .and(query_param("readonly", "1"))
        .and(query_param("database", "shop"))
        .and(query_param(
            "default_format",
            "JSONCompactEachRowWithNamesAndTypes",
        ))
        .and(body_string_contains(part))
        .respond_with(ResponseTemplate::new(status).set_body_string(body))
        .expect(1..)
        .mount(server)
        .await;
}

#[tokio::test]
async fn streams_rows_and_keeps_to_the_caps() {
    let server = MockServer::start().await;
    let body =
        "[\"n\",\"t\"]\n[\"UInt64\",\"Nullable(String)\"]\n[\"1\",\"a\\nb\"]\n[\"2\",null]\n";
    answer(&server, "SELECT", 200, body).await;
    let connector = connector(&server, &json!({}));
    let result = query(&*connector, "SELECT n, t FROM x").await;
    assert_eq!(
        render::columns(&result),
        "n UInt64: Int(1) | Int(2)\nt Nullable(String): Text(\"a\\nb\") | Null"
    );
    assert!(!result.truncated);
    let caps = Caps {
        rows: 1,
        ..Caps::default()
    };
    let result = query_with(&*connector, "SELECT n, t FROM x", &caps)
        .await
        .unwrap();
    assert_eq!((result.rows.len(), result.truncated), (1, true));
    assert!(!format!("{connector:?}").contains("click-secret"));
}

#[tokio::test]
async fn maps_errors_before_and_between_the_rows() {
    for (status, body, kind, message) in [
        (
            404,
            "Code: 60. DB::Exception: Unknown table expression identifier 'x'. (UNKNOWN_TABLE) (version 26.9.1.1)\n",
            ErrorKind::Sql,
            "Unknown table expression identifier 'x'. (UNKNOWN_TABLE)",
        ),
        (
            403,
            "Code: 516. DB::Exception: reader: Authentication failed: click-secret. (AUTHENTICATION_FAILED) (version 26.9.1.1)",
            ErrorKind::Authentication,
            "the server refused the password of `reader`",
        ),
        (
            500,
            "Code: 164. DB::Exception: Cannot execute query in readonly mode. (READONLY) (version 26.9.1.1)",
            ErrorKind::Permission,
            "Cannot execute query in readonly mode. (READONLY)",
        ),
        (
            200,
            "[\"n\"]\n[\"UInt8\"]\n[1]\nCode: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED) (version 26.9.1.1)",
            ErrorKind::Limit,
            "Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)",
        ),
    ] {
        let server = MockServer::start().await;
        answer(&server, "SELECT", status, body).await;
        let connector = connector(&server, &json!({}));
        let error = query_with(&*connector, "SELECT 1", &Caps::default())
            .await
            .unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (kind, message));
    }
    let server = MockServer::start().await;
    answer(&server, "SELECT", 200, "<html>\n</html>").await;
    let error = query_with(
        &*connector(&server, &json!({})),
        "SELECT 1",
        &Caps::default(),
    )
    .await
    .unwrap_err();
    assert!(
        error
            .message
            .ends_with("does not answer like ClickHouse (HTTP 200)"),
        "{error:?}"
    );
    let dead = connector(&server, &json!({"port": 1}));
    let error = dead.check(&CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unreachable);
}

#[tokio::test]
async fn reads_the_whole_structure() {
    let server = MockServer::start().await;
    answer(
        &server,
        "system.databases",
        200,
        "[\"name\"]\n[\"String\"]\n[\"default\"]\n[\"shop\"]\n",
    )
    .await;
    answer(
        &server,
        "system.tables",
        200,
        concat!(
            "[\"database\",\"name\",\"engine\",\"comment\",\"total_rows\"]\n",
            "[\"String\",\"String\",\"String\",\"String\",\"Nullable(UInt64)\"]\n",
            "[\"shop\",\"big\",\"View\",\"\",null]\n",
            "[\"shop\",\"orders\",\"MergeTree\",\"what was sold\",\"12\"]\n",
        ),
    )
    .await;
    answer(
        &server,
        "system.columns",
        200,
        concat!(
            "[\"database\",\"table\",\"name\",\"type\",\"comment\"]\n",
            "[\"String\",\"String\",\"String\",\"String\",\"String\"]\n",
            "[\"shop\",\"big\",\"id\",\"UInt64\",\"\"]\n",
            "[\"shop\",\"orders\",\"id\",\"UInt64\",\"the number\"]\n",
            "[\"shop\",\"orders\",\"at\",\"Nullable(DateTime)\",\"\"]\n",
            "[\"shop\",\"orders\",\"tag\",\"LowCardinality(String)\",\"\"]\n",
            "[\"shop\",\"other\",\"x\",\"UInt8\",\"\"]\n",
        ),
    )
    .await;
    let scope = Scope {
        schemas: vec!["shop".to_owned(), "gone".to_owned()],
        tables: Vec::new(),
    };
    let snapshot = connector(&server, &json!({}))
        .introspect(&scope, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(
        render::snapshot(&snapshot),
        "schemas: shop
view shop.big rows=?
  id: UInt64 number required
table shop.orders rows=12 -- what was sold
  id: UInt64 number required -- the number
  at: Nullable(DateTime) time
  tag: LowCardinality(String) string required
warning schema_not_found -: the database `gone` does not exist or the login has no right in it"
    );
}

#[tokio::test]
async fn says_who_answers() {
    let server = MockServer::start().await;
    answer(
        &server,
        "version()",
        200,
        "[\"version()\"]\n[\"String\"]\n[\"26.9.1.1\"]\n",
    )
    .await;
    let grants = "[\"GRANTS\"]\n[\"String\"]\n[\"GRANT SELECT ON shop.* TO reader\"]\n";
    answer(&server, "SHOW GRANTS", 200, grants).await;
    let check = connector(&server, &json!({}))
        .check(&CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(
        (check.server.as_str(), check.role),
        ("ClickHouse 26.9.1.1", RoleCheck::ReadOnly)
    );
}
