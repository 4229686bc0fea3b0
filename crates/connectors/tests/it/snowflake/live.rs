//! Snowflake emulator tests for `cargo xtask test --heavy`. Data:
//! `fixtures/services/snowflake.sql`.

use std::sync::Arc;

use ktx_config::Driver;
use ktx_test_support::services::{Service, ServiceName, service};
use ktx_warehouse::{Caps, Connector, ErrorKind, RoleCheck, Scope};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::fake::KEY;
use crate::render;
use crate::support::{open, query, query_with};

fn connector() -> Option<Arc<dyn Connector>> {
    let Service::Available(url) = service(ServiceName::Snowflake) else {
        return None;
    };
    let fields = json!({
        "account": "myorg-acct", "endpoint": url, "username": "ktx", "privateKey": KEY,
        "database": "shop", "warehouse": "wh",
    });
    Some(open(Driver::Snowflake, fields))
}

#[tokio::test]
async fn reads_values_by_their_type() {
    let Some(connector) = connector() else {
        return;
    };
    let sql = "SELECT id, shop, total, placed, zoned, day, clock, share, paid, raw, extra \
               FROM orders ORDER BY id";
    let result = query(&*connector, sql).await;
    assert_eq!(
        render::columns(&result),
        "ID NUMBER(38,0): Int(1) | Int(2)
SHOP VARCHAR: Text(\"größe\") | Text(\"b\")
TOTAL NUMBER(10,2): Decimal(\"1.50\") | Null
PLACED TIMESTAMP_NTZ: Timestamp(\"2024-02-29 10:00:00.5\") | Null
ZONED TIMESTAMP_TZ: Timestamp(\"2024-02-29 10:00:00+00\") | Null
DAY DATE: Date(\"2024-02-29\") | Null
CLOCK TIME: Time(\"10:00:00.25\") | Null
SHARE FLOAT: Float(0.5) | Null
PAID BOOLEAN: Bool(true) | Null
RAW BINARY: Null | Null
EXTRA VARIANT: Null | Null"
    );
}

#[tokio::test]
async fn reads_all_partitions_up_to_the_caps() {
    let Some(connector) = connector() else {
        return;
    };
    let result = query(&*connector, "SELECT n FROM many ORDER BY n").await;
    assert_eq!((result.rows.len(), result.truncated), (250, false));
    let caps = Caps {
        rows: 120,
        ..Caps::default()
    };
    let result = query_with(&*connector, "SELECT n FROM many", &caps)
        .await
        .unwrap();
    assert_eq!((result.rows.len(), result.truncated), (120, true));
    let error = query_with(&*connector, "SELECT n FROM nowhere", &caps)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Sql);
}

/// The emulator omits views, and its foreign keys are wrong.
#[tokio::test]
async fn reads_the_whole_structure() {
    let Some(connector) = connector() else {
        return;
    };
    let scope = Scope {
        schemas: vec!["public".to_owned()],
        tables: Vec::new(),
    };
    let snapshot = connector
        .introspect(&scope, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(
        render::snapshot(&snapshot),
        "schemas: PUBLIC
table SHOP.PUBLIC.MANY rows=250
  N: NUMBER(38,0) number
table SHOP.PUBLIC.ORDERS rows=2 -- what was sold
  ID: NUMBER(38,0) number required key
  SHOP: TEXT string required key
  TOTAL: NUMBER(10,2) number
  PLACED: TIMESTAMP_NTZ time
  ZONED: TIMESTAMP_TZ time
  DAY: DATE time
  CLOCK: TIME time
  SHARE: FLOAT number
  PAID: BOOLEAN boolean
  RAW: BINARY string
  EXTRA: VARIANT string
  primary key (ID, SHOP)"
    );
}

#[tokio::test]
async fn says_who_answers() {
    let Some(connector) = connector() else {
        return;
    };
    let check = connector.check(&CancellationToken::new()).await.unwrap();
    assert!(check.server.starts_with("Snowflake "), "{}", check.server);
    assert!(matches!(check.role, RoleCheck::Unknown { .. }), "{check:?}");
}
