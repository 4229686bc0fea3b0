//! BigQuery emulator tests for `cargo xtask test --heavy`.

use std::sync::Arc;

use ktx_config::Driver;
use ktx_test_support::services::{Service, ServiceName, service};
use ktx_warehouse::{Caps, Connector, ErrorKind, RoleCheck, Scope};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::render;
use crate::support::{open, query, query_with};

async fn dataset(name: &str, statements: &[&str]) -> Option<Arc<dyn Connector>> {
    let Service::Available(url) = service(ServiceName::BigQuery) else {
        return None;
    };
    // Another test can have installed it.
    rustls::crypto::ring::default_provider()
        .install_default()
        .unwrap_or_default();
    let client = reqwest::Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(0)
        .build()
        .unwrap();
    let project = format!("{url}/bigquery/v2/projects/demo");
    let created = json!({"datasetReference": {"projectId": "demo", "datasetId": name}});
    let request = client.post(format!("{project}/datasets")).json(&created);
    let status = request.send().await.unwrap().status().as_u16();
    assert_eq!(status, 200);
    for sql in statements {
        let body = json!({"query": sql.replace('$', name), "useLegacySql": false});
        let request = client.post(format!("{project}/queries")).json(&body);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(answer.pointer("/errors"), None, "{sql}");
    }
    let fields = json!({
        "endpoint": url, "credentials": "none", "project_id": "demo", "dataset_ids": [name],
    });
    Some(open(Driver::BigQuery, fields))
}

const ORDERS: &str = "CREATE TABLE $.orders (id INT64 NOT NULL, shop STRING, total NUMERIC, \
     placed TIMESTAMP, day DATE, local DATETIME, clock TIME, share FLOAT64, paid BOOL, raw BYTES, \
     tags ARRAY<STRING>, who STRUCT<name STRING, age INT64>) \
     OPTIONS (description = 'what was sold')";

#[tokio::test]
async fn reads_values_by_their_type() {
    let insert = "INSERT INTO $.orders VALUES \
         (1, 'größe', 1.5, TIMESTAMP '2024-02-29 10:00:00.5+00', DATE '2024-02-29', \
          DATETIME '2024-02-29 10:00:00', TIME '10:00:00.25', 0.5, true, b'abc', ['a', 'b'], \
          STRUCT('x' AS name, 7 AS age)), \
         (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, [], NULL)";
    let Some(connector) = dataset("live_values", &[ORDERS, insert]).await else {
        return;
    };
    let result = query(&*connector, "SELECT * FROM live_values.orders ORDER BY id").await;
    // The emulator keeps three decimals of a NUMERIC, BigQuery all.
    assert_eq!(
        render::columns(&result),
        "id INT64: Int(1) | Int(2)
shop STRING: Text(\"größe\") | Null
total NUMERIC: Decimal(\"1.500\") | Null
placed TIMESTAMP: Timestamp(\"2024-02-29 10:00:00.5+00\") | Null
day DATE: Date(\"2024-02-29\") | Null
local DATETIME: Timestamp(\"2024-02-29 10:00:00\") | Null
clock TIME: Time(\"10:00:00.25\") | Null
share FLOAT64: Float(0.5) | Null
paid BOOL: Bool(true) | Null
raw BYTES: Bytes([97, 98, 99]) | Null
tags ARRAY<STRING>: Json(Array [String(\"a\"), String(\"b\")]) | Json(Array [])
who STRUCT<name STRING, age INT64>: Json(Object {\"name\": String(\"x\"), \"age\": Number(7)}) | Null"
    );
}

#[tokio::test]
async fn reads_page_by_page_up_to_the_caps() {
    let many = "CREATE TABLE $.many AS SELECT n FROM UNNEST(GENERATE_ARRAY(1, 250)) AS n";
    let Some(connector) = dataset("live_pages", &[many]).await else {
        return;
    };
    let result = query(&*connector, "SELECT n FROM live_pages.many").await;
    assert_eq!((result.rows.len(), result.truncated), (250, false));
    let caps = Caps {
        rows: 100,
        ..Caps::default()
    };
    let result = query_with(&*connector, "SELECT n FROM live_pages.many", &caps)
        .await
        .unwrap();
    assert_eq!((result.rows.len(), result.truncated), (100, true));
    let sampled =
        "SELECT n FROM `demo`.`live_pages`.`many` TABLESAMPLE SYSTEM (100 PERCENT) LIMIT 10";
    assert_eq!(query(&*connector, sampled).await.rows.len(), 10);
    let error = query_with(&*connector, "SELECT n FROM live_pages.nowhere", &caps)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Sql);
}

/// The emulator has no row counts, column comments or keys.
#[tokio::test]
async fn reads_the_whole_structure() {
    let view = "CREATE VIEW $.big AS SELECT id FROM $.orders";
    let Some(connector) = dataset("live_structure", &[ORDERS, view]).await else {
        return;
    };
    let scope = Scope {
        schemas: vec!["live_structure".to_owned()],
        tables: Vec::new(),
    };
    let snapshot = connector
        .introspect(&scope, &CancellationToken::new())
        .await
        .unwrap();
    let missing = "warning connector_capability_missing -: the";
    let of =
        "of the dataset `demo.live_structure` cannot be read (the server does not have the view)";
    let engine = "Query execution failed: Catalog Error: Table with name INFORMATION_SCHEMA";
    assert_eq!(
        render::snapshot(&snapshot),
        format!(
            "schemas: live_structure
view demo.live_structure.big rows=?
  id: INT64 (BIGINT) number
table demo.live_structure.orders rows=? -- what was sold
  id: INT64 (BIGINT) number required
  shop: STRING (VARCHAR) string
  total: NUMERIC (DECIMAL) number
  placed: TIMESTAMP time
  day: DATE time
  local: DATETIME time
  clock: TIME time
  share: FLOAT64 (DOUBLE) number
  paid: BOOL (BOOLEAN) boolean
  raw: BYTES (VARBINARY) string
  tags: ARRAY<STRING> string
  who: STRUCT<name STRING, age INT64> (JSON) string
{missing} row counts {of}: Not found: Table demo.live_structure.__TABLES__ was not found in location US
{missing} comments of columns {of}: {engine}.COLUMN_FIELD_PATHS does not exist!
{missing} primary and foreign keys {of}: {engine}.KEY_COLUMN_USAGE does not exist!"
        )
    );
}

#[tokio::test]
async fn says_who_answers() {
    let Some(connector) = dataset("live_check", &[]).await else {
        return;
    };
    let check = connector.check(&CancellationToken::new()).await.unwrap();
    assert_eq!(check.server, "BigQuery (project demo)");
    assert!(matches!(check.role, RoleCheck::Unknown { .. }), "{check:?}");
}
