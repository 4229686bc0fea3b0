//! ClickHouse engine tests for `cargo xtask test --heavy`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use ktx_config::Driver;
use ktx_test_support::services::{Service, ServiceName, service};
use ktx_warehouse::{Caps, Cell, Connector, ErrorKind, RoleCheck, Scope};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::render;
use crate::support::{open, query, query_with};

pub(crate) struct Database {
    name: &'static str,
    address: String,
    user: String,
    password: String,
}

impl Database {
    pub(crate) fn new(name: &'static str, statements: &[&str]) -> Option<Self> {
        let Service::Available(url) = service(ServiceName::ClickHouse) else {
            return None;
        };
        let rest = url.strip_prefix("http://").expect("an HTTP address");
        let (login, place) = rest.split_once('@').expect("a login");
        let (user, password) = login.split_once(':').expect("a password");
        let (address, _) = place.split_once('/').expect("a database");
        let database = Self {
            name,
            address: address.to_owned(),
            user: user.to_owned(),
            password: password.to_owned(),
        };
        database.run(&format!("DROP DATABASE IF EXISTS {name}"), "");
        database.run(&format!("CREATE DATABASE {name}"), "");
        for sql in statements {
            database.run(sql, name);
        }
        Some(database)
    }

    pub(crate) fn run(&self, sql: &str, database: &str) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "POST /?database={database} HTTP/1.0\r\nX-ClickHouse-User: {}\r\nX-ClickHouse-Key: \
             {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.user,
            self.password,
            sql.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(sql.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{sql}: {answer}");
    }

    pub(crate) fn connector(&self, extra: Value) -> Arc<dyn Connector> {
        let (host, port) = self.address.split_once(':').unwrap();
        let mut fields = json!({
            "host": host, "port": port.parse::<u16>().unwrap(), "database": self.name,
            "username": self.user, "password": self.password,
        });
        let Value::Object(extra) = extra else {
            panic!("the fields are an object")
        };
        fields.as_object_mut().unwrap().extend(extra);
        open(Driver::ClickHouse, fields)
    }

    async fn snapshot(&self, scope: Scope) -> String {
        let cancel = CancellationToken::new();
        let connector = self.connector(json!({}));
        render::snapshot(&connector.introspect(&scope, &cancel).await.unwrap())
    }
}

fn scope(schemas: &[&str], tables: &[&str]) -> Scope {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Scope {
        schemas: owned(schemas),
        tables: owned(tables),
    }
}

#[tokio::test]
async fn reads_the_whole_structure() {
    let Some(database) = Database::new(
        "ktx_structure",
        &[
            "CREATE TABLE orders (id UInt64 COMMENT 'the number', at Nullable(DateTime('UTC')),
               tag LowCardinality(Nullable(String)), total Decimal(10, 2), ok Bool,
               kind Enum8('a' = 1, 'b' = 2), list Array(Int32), twice UInt64 ALIAS id * 2,
               `odd ``name` String) ENGINE = MergeTree ORDER BY id COMMENT 'what was sold'",
            "INSERT INTO orders (id) SELECT number FROM numbers(7)",
            "CREATE TABLE `sel'ect` (x Int8) ENGINE = Memory",
            "CREATE VIEW big AS SELECT id, total FROM orders",
            "CREATE MATERIALIZED VIEW kept ENGINE = MergeTree ORDER BY id AS SELECT id FROM orders",
        ],
    ) else {
        return;
    };
    assert_eq!(
        database
            .snapshot(scope(&["ktx_structure", "gone"], &[]))
            .await,
        "schemas: ktx_structure
view ktx_structure.big rows=?
  id: UInt64 number required
  total: Decimal(10, 2) number required
view ktx_structure.kept rows=?
  id: UInt64 number required
table ktx_structure.orders rows=7 -- what was sold
  id: UInt64 number required -- the number
  at: Nullable(DateTime('UTC')) time
  tag: LowCardinality(Nullable(String)) string
  total: Decimal(10, 2) number required
  ok: Bool boolean required
  kind: Enum8('a' = 1, 'b' = 2) string required
  list: Array(Int32) string required
  twice: UInt64 number required
  odd `name: String string required
table ktx_structure.sel'ect rows=0
  x: Int8 number required
warning schema_not_found -: the database `gone` does not exist or the login has no right in it"
    );
    let narrow = database
        .snapshot(scope(&["ktx_structure"], &["ktx_structure.big"]))
        .await;
    assert_eq!(narrow.lines().count(), 4, "{narrow}");
}

const VALUES: &str = "SELECT true AS bool, toInt8(-128) AS i1, toInt64('9223372036854775807') AS i8,
  toUInt64('18446744073709551615') AS u8,
  toFloat32(0.1) AS f4, nan AS f8, -inf AS inf, toDecimal64(1.5, 2) AS num, 'é🦀' AS txt, '' AS empty,
  toDate('2024-02-29') AS d, toDate32('1900-01-01') AS d32,
  toDateTime('2024-02-29 10:00:00', 'UTC') AS ts,
  toDateTime64('2024-02-29 10:00:00.123456', 6, 'UTC') AS ts6,
  toUUID('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11') AS uid, toFixedString('ab', 3) AS fixed,
  toIPv4('10.0.0.1') AS ip, [toUInt64(1), 2] AS list, [1, NULL] AS nullable, map('k', 1) AS map,
  (1, 'x') AS pair, NULL AS nul, toNullable(7) AS some, toLowCardinality('x') AS low,
  toIntervalDay(3) AS days, kind, named, doc FROM v";

const TYPES: &str = "CREATE TABLE v (kind Enum8('a' = 1), named Tuple(a UInt8, b String), doc JSON)
  ENGINE = Memory";

#[tokio::test]
async fn reads_every_kind_of_value() {
    let row = "INSERT INTO v SELECT 'a', (1, 'x'), '{\"a\": [1, null]}'";
    let Some(database) = Database::new("ktx_values", &[TYPES, row]) else {
        return;
    };
    let result = query(&*database.connector(json!({})), VALUES).await;
    assert_eq!(render::columns(&result), EXPECTED);
}

const EXPECTED: &str = r#"bool Bool: Bool(true)
i1 Int8: Int(-128)
i8 Int64: Int(9223372036854775807)
u8 UInt64: UInt(18446744073709551615)
f4 Float32: Float(0.1)
f8 Float64: Float(NaN)
inf Float64: Float(-inf)
num Decimal(18, 2): Decimal("1.50")
txt String: Text("é🦀")
empty String: Text("")
d Date: Date("2024-02-29")
d32 Date32: Date("1900-01-01")
ts DateTime('UTC'): Timestamp("2024-02-29 10:00:00")
ts6 DateTime64(6, 'UTC'): Timestamp("2024-02-29 10:00:00.123456")
uid UUID: Text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
fixed FixedString(3): Text("ab\0")
ip IPv4: Text("10.0.0.1")
list Array(UInt64): Json(Array [String("1"), String("2")])
nullable Array(Nullable(UInt8)): Json(Array [Number(1), Null])
map Map(String, UInt8): Json(Object {"k": Number(1)})
pair Tuple(UInt8, String): Json(Array [Number(1), String("x")])
nul Nullable(Nothing): Null
some Nullable(UInt8): Int(7)
low LowCardinality(String): Text("x")
days IntervalDay: Int(3)
kind Enum8('a' = 1): Text("a")
named Tuple(a UInt8, b String): Json(Object {"a": Number(1), "b": String("x")})
doc JSON: Json(Object {"a": Array [String("1"), Null]})"#;

#[tokio::test]
async fn keeps_to_the_caps() {
    let Some(database) = Database::new("ktx_caps", &[]) else {
        return;
    };
    let connector = database.connector(json!({}));
    let read = async |caps: Caps, sql: &str| {
        let result = query_with(&*connector, sql, &caps).await.unwrap();
        (result.columns.len(), result.rows.len(), result.truncated)
    };
    let rows = |rows| Caps {
        rows,
        ..Caps::default()
    };
    let numbers = "SELECT number FROM numbers(1000000)";
    assert_eq!(read(rows(3), numbers).await, (1, 3, true));
    assert_eq!(
        read(rows(3), "SELECT number FROM numbers(3)").await,
        (1, 3, false)
    );
    assert_eq!(read(rows(200_000), numbers).await, (1, 200_000, true));
    assert_eq!(read(rows(0), numbers).await, (1, 0, true));
    assert_eq!(
        read(rows(0), "SELECT number FROM numbers(0)").await,
        (1, 0, false)
    );
    let bytes = Caps {
        bytes: 80,
        ..Caps::default()
    };
    assert_eq!(read(bytes, numbers).await, (1, 10, true));
    let cell = Caps {
        cell_bytes: 3,
        ..Caps::default()
    };
    let long = query_with(&*connector, "SELECT repeat('é', 1000000) AS t", &cell)
        .await
        .unwrap();
    assert_eq!(long.rows, [[Cell::Text("é…".to_owned())]]);
}

#[tokio::test]
async fn reports_the_error_of_the_server() {
    let Some(database) = Database::new("ktx_wrong", &["CREATE TABLE t (a Int8) ENGINE = Memory"])
    else {
        return;
    };
    let connector = database.connector(json!({}));
    let fail = async |connector: &dyn Connector, sql: &str| {
        let outcome = query_with(connector, sql, &Caps::default()).await;
        outcome.unwrap_err()
    };
    let error = fail(&*connector, "SELECT a FROM nowhere").await;
    assert_eq!(error.kind, ErrorKind::Sql);
    assert!(error.message.contains("(UNKNOWN_TABLE)"), "{error:?}");
    let midway = "SELECT intDiv(1, 300000 - number) FROM numbers(1000000)";
    let caps = Caps {
        rows: 1_000_000,
        ..Caps::default()
    };
    let error = query_with(&*connector, midway, &caps).await.unwrap_err();
    assert!(error.message.contains("(ILLEGAL_DIVISION)"), "{error:?}");
    let wrong = database.connector(json!({"password": "wrong-secret"}));
    assert_eq!(
        render::error(&fail(&*wrong, "SELECT 1").await),
        "connection_authentication\nthe server refused the password of `default`\ncheck `username` \
         and `password`"
    );
    let missing = database.connector(json!({"database": "nowhere"}));
    let error = fail(&*missing, "SELECT 1").await;
    assert_eq!(error.kind, ErrorKind::NotFound, "{error:?}");
}

#[tokio::test]
async fn says_who_answers() {
    let Some(database) = Database::new("ktx_check", &[]) else {
        return;
    };
    let connector = database.connector(json!({}));
    let check = connector.check(&CancellationToken::new()).await.unwrap();
    assert!(check.server.starts_with("ClickHouse 2"), "{}", check.server);
    assert!(
        matches!(check.role, RoleCheck::CanWrite { .. }),
        "{check:?}"
    );
}
