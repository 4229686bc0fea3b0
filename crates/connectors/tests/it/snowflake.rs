//! Snowflake against a fake server that checks requests.

mod fake;
mod live;

use std::sync::Arc;

use ktx_config::Driver;
use ktx_warehouse::{Caps, Connector, ErrorKind, RoleCheck, Scope};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::render;
use crate::support::{open, query, query_with};
use fake::{FINGERPRINT, FakeStatement, KEY, LoginPolicy, Snowflake};

fn connector(server: &Snowflake, extra: &Value) -> Arc<dyn Connector> {
    let mut fields = json!({
        "account": "myorg-acct", "endpoint": server.url(), "username": "ktx", "privateKey": KEY,
        "database": "shop", "warehouse": "wh", "role": "reader",
    });
    fields
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    open(Driver::Snowflake, fields)
}

fn numbers() -> FakeStatement {
    FakeStatement::new(
        "FROM x",
        &["N fixed 38 0", "T text", "AT timestamp_ntz 0 9"],
    )
    .rows(json!([
        ["1", "a", "1709200800.500000000"],
        ["2", null, null]
    ]))
    .rows(json!([["3", "c", null]]))
}

#[tokio::test]
async fn starts_waits_and_reads_partition_by_partition() {
    let server = Snowflake::start(LoginPolicy::KeyPair, vec![numbers()]).await;
    let connector = connector(&server, &json!({}));
    let result = query(&*connector, "SELECT n, t FROM x").await;
    assert_eq!(
        render::columns(&result),
        "N NUMBER(38,0): Int(1) | Int(2) | Int(3)\nT VARCHAR: Text(\"a\") | Null | Text(\"c\")\n\
         AT TIMESTAMP_NTZ: Timestamp(\"2024-02-29 10:00:00.5\") | Null | Null"
    );
    assert!(!result.truncated);
    assert_eq!(
        server.log(),
        "run SELECT n, t FROM x, 60 s, 1001 rows\nwait\npartition 1"
    );
}

#[tokio::test]
async fn keeps_to_the_caps() {
    let server = Snowflake::start(LoginPolicy::KeyPair, vec![numbers()]).await;
    let caps = Caps {
        rows: 1,
        ..Caps::default()
    };
    let result = query_with(&*connector(&server, &json!({})), "SELECT n FROM x", &caps)
        .await
        .unwrap();
    assert_eq!((result.rows.len(), result.truncated), (1, true));
    assert_eq!(server.log(), "run SELECT n FROM x, 60 s, 2 rows\nwait");
}

#[tokio::test]
async fn signs_in_with_tokens_from_elsewhere() {
    for (method, kind) in [("oauth", "OAUTH"), ("pat", "PROGRAMMATIC_ACCESS_TOKEN")] {
        let server = Snowflake::start(LoginPolicy::Token(kind), vec![numbers()]).await;
        let fields = json!({"authMethod": method, "token": "token-word", "privateKey": null});
        let result = query(&*connector(&server, &fields), "SELECT n FROM x").await;
        assert_eq!(result.rows.len(), 3);
    }
}

#[tokio::test]
async fn cancels_the_statement_on_the_server() {
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let endless = numbers().endless(move || stop.cancel());
    let server = Snowflake::start(LoginPolicy::KeyPair, vec![endless]).await;
    let connector = connector(&server, &json!({}));
    let checked = ktx_read_only_sql::check("SELECT n FROM x", connector.dialect()).unwrap();
    let error = ktx_warehouse::collect(&*connector, &checked, &Caps::default(), &cancel)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    assert_eq!(
        server.log(),
        "run SELECT n FROM x, 60 s, 1001 rows\nwait\ncancel"
    );
}

const READING: &str = "GRANT USAGE ON WAREHOUSE \"WH\" TO ROLE \"READER\"; GRANT USAGE ON DATABASE \
     \"SHOP\" TO ROLE \"READER\"; GRANT USAGE ON ALL SCHEMAS IN DATABASE \"SHOP\" TO ROLE \
     \"READER\"; GRANT SELECT ON ALL TABLES IN DATABASE \"SHOP\" TO ROLE \"READER\"; GRANT SELECT ON \
     ALL VIEWS IN DATABASE \"SHOP\" TO ROLE \"READER\"";

#[tokio::test]
async fn errors_have_a_message_and_a_hint() {
    let missing = |what: &str| format!("{what}if the right is missing: {READING}");
    for (status, code, said, expected) in [
        (
            422,
            "000904",
            "SQL compilation error: error line 1 at position 7\ninvalid identifier 'NN'",
            "query_failed\nSQL compilation error: error line 1 at position 7 invalid identifier \
             'NN'\n-"
                .to_owned(),
        ),
        (
            422,
            "002003",
            "SQL compilation error:\nObject 'X' does not exist or not authorized.",
            missing(
                "query_failed\nSQL compilation error: Object 'X' does not exist or not authorized\n",
            ),
        ),
        (
            422,
            "002003",
            "SQL compilation error:\nDatabase 'SHOP' does not exist or not authorized.",
            missing(
                "connection_not_found\nSQL compilation error: Database 'SHOP' does not exist or not \
                 authorized\ncheck `database` and `schema_names`; ",
            ),
        ),
        (
            422,
            "003001",
            "SQL access control error: Insufficient privileges to operate on schema 'S'",
            missing(
                "connection_permission\nSQL access control error: Insufficient privileges to operate \
                 on schema 'S'\n",
            ),
        ),
        (
            422,
            "000606",
            "No active warehouse selected in the current session.",
            "connection_not_found\nNo active warehouse selected in the current session\nset \
             `warehouse` to a warehouse that the role may use (`GRANT USAGE ON WAREHOUSE`)"
                .to_owned(),
        ),
        (
            408,
            "000630",
            "Statement reached its statement or warehouse timeout of 60 second(s) and was canceled.",
            "query_timeout\nthe statement ran longer than its limit of 60 s\nnarrow the statement \
             with filters, or raise the time limit"
                .to_owned(),
        ),
        (
            422,
            "090073",
            "Warehouse 'WH' cannot be resumed because resource monitor 'M' has exceeded its quota.",
            "query_limit\nWarehouse 'WH' cannot be resumed because resource monitor 'M' has exceeded \
             its quota\nthe resource monitor of the warehouse has reached its quota: use another \
             `warehouse`"
                .to_owned(),
        ),
        (
            429,
            "",
            "Too many requests.",
            "query_limit\nToo many requests\nwait a minute and run the command again".to_owned(),
        ),
    ] {
        let statement = numbers().fails(status, code, said);
        let server = Snowflake::start(LoginPolicy::KeyPair, vec![statement]).await;
        let error = query_with(
            &*connector(&server, &json!({})),
            "SELECT n FROM x",
            &Caps::default(),
        )
        .await
        .unwrap_err();
        assert_eq!(render::error(&error), expected);
        assert_eq!(server.log().contains("cancel"), status == 429, "{code}");
    }
}

#[tokio::test]
async fn reports_failed_logins() {
    let cancel = CancellationToken::new();
    let server = Snowflake::start(LoginPolicy::Closed, Vec::new()).await;
    let error = connector(&server, &json!({}))
        .check(&cancel)
        .await
        .unwrap_err();
    assert_eq!(
        render::error(&error),
        format!(
            "connection_authentication\nJWT token is invalid. [x]\ncheck `account` and `username`, and \
             that `DESC USER KTX` shows RSA_PUBLIC_KEY_FP = {FINGERPRINT} for the public key"
        )
    );
    let server = Snowflake::start(LoginPolicy::Page(404), Vec::new()).await;
    let error = connector(&server, &json!({}))
        .check(&cancel)
        .await
        .unwrap_err();
    assert_eq!(
        render::error(&error),
        format!(
            "connection_not_found\nthere is no Snowflake account at {} (HTTP 404)\ncheck `account`: \
             `SELECT CURRENT_ORGANIZATION_NAME() || '-' || CURRENT_ACCOUNT_NAME()` shows it",
            server.url()
        )
    );
    let dead = connector(&server, &json!({"endpoint": "http://127.0.0.1:1"}));
    let error = dead.check(&cancel).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unreachable);
}

fn grants(rows: Value) -> Vec<FakeStatement> {
    vec![
        FakeStatement::new("CURRENT_VERSION()", &["V text", "R text"])
            .rows(json!([["9.40.1", "READER"]])),
        FakeStatement::new(
            "SHOW GRANTS TO ROLE \"READER\"",
            &[
                "created_on timestamp_ltz",
                "privilege text",
                "granted_on text",
                "name text",
            ],
        )
        .rows(rows),
    ]
}

#[tokio::test]
async fn reports_the_server_and_the_rights_of_the_role() {
    let mut fix = vec!["CREATE ROLE \"KTX_READER\"".to_owned()];
    fix.extend(
        READING
            .split("; ")
            .map(|text| text.replace("READER", "KTX_READER")),
    );
    let can_write = |because: &str| RoleCheck::CanWrite {
        because: because.to_owned(),
        fix: fix.clone(),
    };
    for (rows, expected) in [
        (
            json!([
                [null, "USAGE", "DATABASE", "SHOP"],
                [null, "SELECT", "TABLE", "SHOP.S.ORDERS"],
                [null, "MONITOR", "WAREHOUSE", "WH"],
            ]),
            RoleCheck::ReadOnly,
        ),
        (
            json!([
                [null, "SELECT", "TABLE", "SHOP.S.ORDERS"],
                [null, "INSERT", "TABLE", "SHOP.S.ORDERS"],
            ]),
            can_write("the role READER has INSERT on TABLE SHOP.S.ORDERS"),
        ),
        (
            json!([[null, "USAGE", "ROLE", "SYSADMIN"]]),
            can_write("the role READER has the role SYSADMIN"),
        ),
        (
            json!([[null, "USAGE", "ROLE", "ANALYSTS"]]),
            RoleCheck::Unknown {
                reason: "the role has further rights through ANALYSTS".to_owned(),
            },
        ),
    ] {
        let server = Snowflake::start(LoginPolicy::KeyPair, grants(rows)).await;
        let check = connector(&server, &json!({}))
            .check(&CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(
            (check.server.as_str(), check.role),
            ("Snowflake 9.40.1", expected)
        );
    }
}

fn catalog() -> Vec<FakeStatement> {
    vec![
        FakeStatement::new("\"SHOP\".INFORMATION_SCHEMA.SCHEMATA", &["S text"]).rows(json!([
            ["CRM"],
            ["INFORMATION_SCHEMA"],
            ["PUBLIC"]
        ])),
        FakeStatement::new(
            "INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA IN ('PUBLIC')",
            &["S text", "T text", "K text", "R fixed", "C text"],
        )
        .rows(json!([
            ["PUBLIC", "BIG", "VIEW", null, null],
            ["PUBLIC", "LINES", "BASE TABLE", "40", ""],
            ["PUBLIC", "Odd.Name", "EXTERNAL TABLE", null, null],
            ["PUBLIC", "ORDERS", "BASE TABLE", "12", "what was sold"],
        ])),
        FakeStatement::new(
            "INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA IN ('PUBLIC')",
            &[
                "S text", "T text", "N text", "U text", "D text", "P fixed", "X fixed", "C text",
            ],
        )
        .rows(json!([
            ["PUBLIC", "BIG", "N", "YES", "NUMBER", "38", "0", null],
            [
                "PUBLIC",
                "ORDERS",
                "ID",
                "NO",
                "NUMBER",
                "38",
                "0",
                "the number"
            ],
            ["PUBLIC", "ORDERS", "SHOP", "NO", "TEXT", null, null, null],
            [
                "PUBLIC", "ORDERS", "TOTAL", "YES", "NUMBER", "10", "2", null
            ],
            [
                "PUBLIC",
                "ORDERS",
                "AT",
                "YES",
                "TIMESTAMP_NTZ",
                null,
                null,
                null
            ],
            [
                "PUBLIC", "ORDERS", "EXTRA", "YES", "VARIANT", null, null, null
            ],
        ])),
        FakeStatement::new(
            "SHOW PRIMARY KEYS IN SCHEMA \"SHOP\".\"PUBLIC\"",
            &[
                "key_sequence fixed",
                "table_name text",
                "column_name text",
                "constraint_name text",
            ],
        )
        .rows(json!([
            ["2", "ORDERS", "SHOP", "PK"],
            ["1", "ORDERS", "ID", "PK"],
        ])),
        FakeStatement::new(
            "SHOW IMPORTED KEYS IN SCHEMA \"SHOP\".\"PUBLIC\"",
            &[
                "pk_database_name text",
                "pk_schema_name text",
                "pk_table_name text",
                "pk_column_name text",
                "fk_table_name text",
                "fk_column_name text",
                "key_sequence fixed",
                "fk_name text",
            ],
        )
        .rows(json!([
            [
                "SHOP", "PUBLIC", "ORDERS", "SHOP", "LINES", "THE_SHOP", "2", "BOUGHT"
            ],
            ["SHOP", "CRM", "PEOPLE", "ID", "LINES", "WHO", "1", "BY"],
            [
                "SHOP", "PUBLIC", "ORDERS", "ID", "LINES", "THE_ID", "1", "BOUGHT"
            ],
        ])),
    ]
}

#[tokio::test]
async fn reads_the_whole_structure() {
    let server = Snowflake::start(LoginPolicy::KeyPair, catalog()).await;
    let scope = Scope {
        schemas: vec!["public".to_owned(), "gone".to_owned()],
        tables: Vec::new(),
    };
    let connector = connector(&server, &json!({}));
    let snapshot = connector
        .introspect(&scope, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(
        render::snapshot(&snapshot),
        "schemas: PUBLIC
view SHOP.PUBLIC.BIG rows=?
  N: NUMBER(38,0) number
table SHOP.PUBLIC.LINES rows=40
  foreign key BOUGHT (THE_ID, THE_SHOP) -> SHOP.PUBLIC.ORDERS (ID, SHOP)
  foreign key BY (WHO) -> SHOP.CRM.PEOPLE (ID)
table SHOP.PUBLIC.ORDERS rows=12 -- what was sold
  ID: NUMBER(38,0) number required key -- the number
  SHOP: TEXT string required key
  TOTAL: NUMBER(10,2) number
  AT: TIMESTAMP_NTZ time
  EXTRA: VARIANT string
  primary key (ID, SHOP)
external SHOP.PUBLIC.Odd.Name rows=?
warning schema_not_found -: the schema `GONE` does not exist or the role has no right in it"
    );
    let scope = Scope {
        schemas: vec!["PUBLIC".to_owned()],
        tables: vec!["public.lines".to_owned()],
    };
    let snapshot = connector
        .introspect(&scope, &CancellationToken::new())
        .await
        .unwrap();
    let names: Vec<String> = snapshot
        .tables
        .iter()
        .map(|table| table.table.to_string())
        .collect();
    assert_eq!(names, ["SHOP.PUBLIC.LINES"]);
}

#[tokio::test]
async fn reads_what_it_may_and_names_the_rest() {
    let mut statements = catalog();
    statements.truncate(3);
    statements.push(FakeStatement::new("SHOW PRIMARY KEYS", &[]).fails(
        422,
        "003001",
        "Insufficient privileges",
    ));
    statements.push(FakeStatement::new("SHOW IMPORTED KEYS", &["fk_name text"]));
    let server = Snowflake::start(LoginPolicy::KeyPair, statements).await;
    let scope = Scope {
        schemas: vec!["PUBLIC".to_owned()],
        tables: vec!["big".to_owned()],
    };
    let snapshot = connector(&server, &json!({}))
        .introspect(&scope, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(
        render::snapshot(&snapshot),
        "schemas: PUBLIC
view SHOP.PUBLIC.BIG rows=?
  N: NUMBER(38,0) number
warning constraint_discovery_unauthorized -: the primary keys of the schema `PUBLIC` cannot be read (grant REFERENCES or SELECT on its tables): Insufficient privileges"
    );
}
