//! PostgreSQL on a live server.

use std::sync::Arc;
use std::time::Duration;

use ktx_config::Driver;
use ktx_sql::Dialect;
use ktx_test_support::services::{Service, ServiceName, service};
use ktx_warehouse::{Caps, Cell, Connector, ErrorKind, RoleCheck, Scope};
use serde_json::{Value, json};
use tokio_postgres::{Client, Config, NoTls, config::Host};
use tokio_util::sync::CancellationToken;

use crate::render;
use crate::support::{open, query, query_with};

pub(crate) struct Database {
    pub(crate) admin: Client,
    name: &'static str,
    host: String,
    port: u16,
    user: String,
    password: String,
}

impl Database {
    pub(crate) async fn new(name: &'static str, sql: &str) -> Option<Self> {
        let Service::Available(url) = service(ServiceName::Postgres) else {
            return None;
        };
        let mut config: Config = url.parse().expect("a good URL");
        let admin = connect(&config).await;
        admin
            .batch_execute(&format!("DROP DATABASE IF EXISTS {name}"))
            .await
            .unwrap();
        admin
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await
            .unwrap();
        config.dbname(name);
        let admin = connect(&config).await;
        admin.batch_execute(sql).await.unwrap();
        let Some(Host::Tcp(host)) = config.get_hosts().first() else {
            panic!("no host in the URL")
        };
        Some(Self {
            admin,
            name,
            host: host.clone(),
            port: *config.get_ports().first().unwrap_or(&5432),
            user: config.get_user().unwrap_or_default().to_owned(),
            password: String::from_utf8(config.get_password().unwrap_or_default().to_vec())
                .unwrap(),
        })
    }

    pub(crate) fn fields(&self, extra: Value) -> Value {
        let mut fields = json!({
            "host": self.host, "port": self.port, "database": self.name,
            "username": self.user, "password": self.password,
        });
        let Value::Object(extra) = extra else {
            panic!("the fields are an object")
        };
        fields.as_object_mut().unwrap().extend(extra);
        fields
    }

    pub(crate) async fn snapshot_schemas(&self, connector: &dyn Connector) -> Vec<String> {
        let cancel = CancellationToken::new();
        connector
            .introspect(&Scope::default(), &cancel)
            .await
            .unwrap()
            .schemas
    }

    pub(crate) fn connector(&self, extra: Value) -> Arc<dyn Connector> {
        open(Driver::Postgres, self.fields(extra))
    }

    async fn snapshot(&self, extra: Value, schemas: &[&str], tables: &[&str]) -> String {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let scope = Scope {
            schemas: owned(schemas),
            tables: owned(tables),
        };
        let cancel = CancellationToken::new();
        let snapshot = self
            .connector(extra)
            .introspect(&scope, &cancel)
            .await
            .unwrap();
        render::snapshot(&snapshot)
    }
}

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.expect("the server answers");
    tokio::spawn(connection);
    client
}

const STRUCTURE: &str = r#"
CREATE SCHEMA shop; CREATE SCHEMA "odd ""schema"".x";
CREATE TYPE shop.state AS ENUM ('new', 'done');
CREATE DOMAIN shop.money AS numeric(10, 2) NOT NULL;
CREATE TABLE customers (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name varchar(20) NOT NULL,
  tags text[], born date, vip boolean, pause interval, at timestamptz, doc jsonb, uid uuid, price money);
COMMENT ON TABLE customers IS 'who buys'; COMMENT ON COLUMN customers.name IS 'as written';
CREATE TABLE shop.customers (region text, number bigint, state shop.state, total shop.money,
  gone int, CONSTRAINT pk PRIMARY KEY (number, region));
ALTER TABLE shop.customers DROP COLUMN gone;
CREATE TABLE shop.orders (id int, r text, n bigint, buyer int,
  CONSTRAINT same FOREIGN KEY (n, r) REFERENCES shop.customers (number, region),
  CONSTRAINT other FOREIGN KEY (buyer) REFERENCES public.customers);
CREATE TABLE shop.returns (id int, r text, n bigint, up int,
  CONSTRAINT same FOREIGN KEY (n, r) REFERENCES shop.customers (number, region));
CREATE TABLE shop.events (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE shop.events_1 PARTITION OF shop.events FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE shop.events_2 PARTITION OF shop.events FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')
  PARTITION BY RANGE (id);
CREATE TABLE shop.events_2a PARTITION OF shop.events_2 FOR VALUES FROM (0) TO (10);
CREATE TABLE shop.notes (event int, at date, FOREIGN KEY (event, at) REFERENCES shop.events);
CREATE VIEW shop.big AS SELECT region, total FROM shop.customers;
CREATE MATERIALIZED VIEW shop.kept AS SELECT 1 AS one;
CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER far FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE shop.remote (id int) SERVER far;
CREATE TABLE "odd ""schema"".x"."t 🦀.y" ("sel""ect" int);
CREATE TABLE fresh (id int);
INSERT INTO customers (name) SELECT 'c' || g FROM generate_series(1, 7) g;
INSERT INTO shop.events SELECT g, date '2024-01-01' + g FROM generate_series(0, 4) g;
INSERT INTO shop.events SELECT g, date '2025-01-01' + g FROM generate_series(0, 2) g;
ANALYZE customers, shop.events_1, shop.events_2a, shop.customers;
"#;

#[tokio::test]
async fn reads_the_whole_structure() {
    let Some(database) = Database::new("ktx_structure", STRUCTURE).await else {
        return;
    };
    let expected = r#"schemas: odd "schema".x, public, shop
table odd "schema".x.t 🦀.y rows=?
  sel"ect: integer number
table public.customers rows=7 -- who buys
  id: integer number required key
  name: character varying(20) string required -- as written
  tags: text[] string
  born: date time
  vip: boolean boolean
  pause: interval string
  at: timestamp with time zone time
  doc: jsonb string
  uid: uuid string
  price: money number
  primary key (id)
table public.fresh rows=?
  id: integer number
view shop.big rows=?
  region: text string
  total: shop.money number required
table shop.customers rows=0
  region: text string required key
  number: bigint number required key
  state: shop.state string
  total: shop.money number required
  primary key (number, region)
table shop.events rows=8
  id: integer number required key
  at: date time required key
  primary key (id, at)
view shop.kept rows=?
  one: integer number
table shop.notes rows=?
  event: integer number
  at: date time
  foreign key notes_event_at_fkey (event, at) -> shop.events (id, at)
table shop.orders rows=?
  id: integer number
  r: text string
  n: bigint number
  buyer: integer number
  foreign key other (buyer) -> public.customers (id)
  foreign key same (n, r) -> shop.customers (number, region)
external shop.remote rows=?
  id: integer number
table shop.returns rows=?
  id: integer number
  r: text string
  n: bigint number
  up: integer number
  foreign key same (n, r) -> shop.customers (number, region)"#;
    assert_eq!(database.snapshot(json!({}), &[], &[]).await, expected);
}

#[tokio::test]
async fn keeps_to_the_scope() {
    let Some(database) = Database::new("ktx_scope", STRUCTURE).await else {
        return;
    };
    assert_eq!(
        database
            .snapshot(
                json!({}),
                &["shop", "nowhere"],
                &["remote", "shop.events_1"]
            )
            .await,
        "schemas: shop
table shop.events_1 rows=5
  id: integer number required key
  at: date time required key
  primary key (id, at)
external shop.remote rows=?
  id: integer number
warning schema_not_found -: the schema `nowhere` does not exist"
    );
    let search_path = database
        .snapshot(json!({"schemas": ["shop"]}), &["shop"], &["big"])
        .await;
    assert_eq!(
        search_path,
        "schemas: shop\nview shop.big rows=?\n  region: text string\n  total: shop.money number \
         required"
    );
}

#[tokio::test]
async fn reports_what_the_login_may_not_read_and_may_write() {
    let sql = "
      DROP ROLE IF EXISTS ktx_it_reader;
      CREATE ROLE ktx_it_reader LOGIN PASSWORD 'reader-secret';
      REVOKE CREATE ON SCHEMA public FROM PUBLIC;
      REVOKE ALL ON DATABASE ktx_grants FROM PUBLIC; GRANT CONNECT ON DATABASE ktx_grants TO ktx_it_reader;
      CREATE SCHEMA closed; CREATE TABLE closed.a (x int);
      CREATE TABLE seen (x int); CREATE TABLE hidden (x int); CREATE TABLE part (x int, y int);
      GRANT SELECT ON seen TO ktx_it_reader; GRANT SELECT (x) ON part TO ktx_it_reader;";
    let Some(database) = Database::new("ktx_grants", sql).await else {
        return;
    };
    let reader = || json!({"username": "ktx_it_reader", "password": "reader-secret"});
    assert_eq!(
        database
            .snapshot(reader(), &["public", "closed"], &[])
            .await,
        r#"schemas: public
table public.part rows=?
  x: integer number
table public.seen rows=?
  x: integer number
warning schema_not_granted -: the login may not use the schema `closed`; run `GRANT USAGE ON SCHEMA "closed" TO "ktx_it_reader"`
warning table_not_granted public.hidden: the login may not read `public.hidden`; run `GRANT SELECT ON "public"."hidden" TO "ktx_it_reader"`
warning column_not_granted public.part: the login may not read `y` of `public.part`; run `GRANT SELECT ("y") ON "public"."part" TO "ktx_it_reader"`"#
    );
    let cancel = CancellationToken::new();
    let check = database.connector(reader()).check(&cancel).await.unwrap();
    assert_eq!(check.role, RoleCheck::ReadOnly);
    assert!(check.server.starts_with("PostgreSQL "), "{}", check.server);
    let connector = database.connector(reader());
    assert!(!format!("{connector:?}").contains("reader-secret"));
    let error = query_with(&*connector, "SELECT * FROM hidden", &Caps::default()).await;
    assert_eq!(
        render::error(&error.unwrap_err()),
        "connection_permission\npermission denied for table hidden\ngrant the right to \
         `ktx_it_reader`, or use another login"
    );
    database
        .admin
        .batch_execute("GRANT INSERT ON seen TO ktx_it_reader")
        .await
        .unwrap();
    let check = database.connector(reader()).check(&cancel).await.unwrap();
    let fix = [
        "CREATE ROLE ktx_reader LOGIN PASSWORD 'choose-a-password'",
        "GRANT CONNECT ON DATABASE \"ktx_grants\" TO ktx_reader",
        "GRANT USAGE ON SCHEMA \"public\" TO ktx_reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA \"public\" TO ktx_reader",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA \"public\" GRANT SELECT ON TABLES TO ktx_reader",
        "ALTER ROLE ktx_reader SET default_transaction_read_only = on",
    ]
    .map(str::to_owned)
    .to_vec();
    let because = "the login may change public.seen".to_owned();
    let mut of_both = fix.clone();
    let closed = fix
        .iter()
        .skip(2)
        .take(3)
        .map(|text| text.replace("public", "closed"));
    of_both.splice(2..2, closed);
    assert_eq!(check.role, RoleCheck::CanWrite { because, fix });
    let check = database.connector(json!({})).check(&cancel).await.unwrap();
    assert_eq!(
        check.role,
        RoleCheck::CanWrite {
            because: "the login is a superuser".to_owned(),
            fix: of_both
        }
    );
}

#[tokio::test]
async fn reads_every_kind_of_value() {
    let sql = r#"
      CREATE TYPE mood AS ENUM ('fine'); CREATE DOMAIN short AS varchar(3);
      CREATE TYPE pair AS (a int, b text);
      CREATE TABLE v AS SELECT
        true AS bool, 1::int2 AS i2, -2::int4 AS i4, 9223372036854775807::int8 AS i8,
        0.1::float4 AS f4, 'NaN'::float8 AS f8, '-infinity'::float8 AS inf,
        12345678901234567890.123456789::numeric AS num, 1.50::numeric(10,2) AS num2,
        'NaN'::numeric AS nan, 12.34::money AS money, 'x'::"char" AS ch, 'é🦀'::text AS txt,
        'ab'::char(4) AS pad, 'n'::name AS nam, '\x00ff'::bytea AS bin,
        '2024-02-29'::date AS d, '0044-03-15 BC'::date AS bc, 'infinity'::date AS never,
        '10:11:12.5'::time AS t, '10:11:12+05:30'::timetz AS ttz,
        '2024-02-29 23:59:59.123456'::timestamp AS ts, '2024-02-29 23:59:59+02'::timestamptz AS tstz,
        '1 year 2 mons -3 days 04:05:06.7'::interval AS iv, '0'::interval AS iv0,
        '-00:00:01'::interval AS ivneg,
        'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid AS uid,
        '{"a": [1, null]}'::json AS js, '{"b": 1.5}'::jsonb AS jsb,
        '10.0.0.1'::inet AS ip, '10.0.0.0/8'::cidr AS net, '::1'::inet AS ip6,
        '08:00:2b:01:02:03'::macaddr AS mac, B'101'::bit(3) AS bits,
        ARRAY[1, NULL, 3] AS arr, ARRAY[['a','b'],['c','d']] AS arr2, '{}'::int[] AS none,
        ARRAY['2024-01-01'::date] AS dates, int4range(1, 5) AS rng, 'empty'::int4range AS norng,
        '(,2024-01-01]'::daterange AS open, '{[1,3), [5,7)}'::int4multirange AS multi,
        'fine'::mood AS mood, 'abc'::short AS dom, ROW(1, 'x')::pair AS pair,
        '(1,2.5)'::point AS pt, '((0,0),(1,1))'::polygon AS poly, 'fat:1A cat'::tsvector AS tsv,
        'fat & cat'::tsquery AS tsq, '16/B374D848'::pg_lsn AS lsn, 42::oid AS oid,
        '<a/>'::xml AS xml, NULL::int AS nul;"#;
    let Some(database) = Database::new("ktx_values", sql).await else {
        return;
    };
    let result = query(&*database.connector(json!({})), "SELECT * FROM v").await;
    assert_eq!(render::columns(&result), VALUES);
}

const VALUES: &str = r#"bool bool: Bool(true)
i2 int2: Int(1)
i4 int4: Int(-2)
i8 int8: Int(9223372036854775807)
f4 float4: Float(0.1)
f8 float8: Float(NaN)
inf float8: Float(-inf)
num numeric: Decimal("12345678901234567890.123456789")
num2 numeric: Decimal("1.50")
nan numeric: Float(NaN)
money money: Decimal("12.34")
ch char: Text("x")
txt text: Text("é🦀")
pad bpchar: Text("ab  ")
nam name: Text("n")
bin bytea: Bytes([0, 255])
d date: Date("2024-02-29")
bc date: Date("0044-03-15 BC")
never date: Date("infinity")
t time: Time("10:11:12.5")
ttz timetz: Time("10:11:12+05:30")
ts timestamp: Timestamp("2024-02-29 23:59:59.123456")
tstz timestamptz: Timestamp("2024-02-29 21:59:59+00")
iv interval: Text("1 year 2 mons -3 days +04:05:06.7")
iv0 interval: Text("00:00:00")
ivneg interval: Text("-00:00:01")
uid uuid: Text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
js json: Json(Object {"a": Array [Number(1), Null]})
jsb jsonb: Json(Object {"b": Number(1.5)})
ip inet: Text("10.0.0.1")
net cidr: Text("10.0.0.0/8")
ip6 inet: Text("::1")
mac macaddr: Text("08:00:2b:01:02:03")
bits bit: Text("101")
arr _int4: Json(Array [Number(1), Null, Number(3)])
arr2 _text: Json(Array [Array [String("a"), String("b")], Array [String("c"), String("d")]])
none _int4: Json(Array [])
dates _date: Json(Array [String("2024-01-01")])
rng int4range: Text("[1,5)")
norng int4range: Text("empty")
open daterange: Text("(,2024-01-02)")
multi int4multirange: Text("{[1,3),[5,7)}")
mood mood: Text("fine")
dom varchar: Text("abc")
pair pair: Json(Object {"a": Number(1), "b": String("x")})
pt point: Text("(1,2.5)")
poly polygon: Text("((0,0),(1,1))")
tsv tsvector: Text("'cat' 'fat':1A")
tsq tsquery: Bytes([0, 0, 0, 3, 2, 2, 1, 0, 0, 99, 97, 116, 0, 1, 0, 0, 102, 97, 116, 0])
lsn pg_lsn: Text("16/B374D848")
oid oid: Int(42)
xml xml: Text("<a/>")
nul int4: Null"#;

#[tokio::test]
async fn keeps_to_the_caps_and_reuses_the_session() {
    let sql = "CREATE TABLE n AS SELECT g AS x FROM generate_series(1, 50000) g;
      CREATE TABLE none (x int); CREATE TABLE huge AS SELECT repeat('é', 3000000) AS t;";
    let Some(database) = Database::new("ktx_caps", sql).await else {
        return;
    };
    let connector = database.connector(json!({"maxConnections": 1}));
    let read = async |caps: Caps, sql: &str| {
        let result = query_with(&*connector, sql, &caps).await.unwrap();
        (result.columns.len(), result.rows.len(), result.truncated)
    };
    let rows = |rows| Caps {
        rows,
        ..Caps::default()
    };
    assert_eq!(
        read(rows(3), "SELECT x FROM n LIMIT 2").await,
        (1, 2, false)
    );
    assert_eq!(
        read(rows(3), "SELECT x FROM n LIMIT 3").await,
        (1, 3, false)
    );
    assert_eq!(read(rows(3), "SELECT x FROM n LIMIT 4").await, (1, 3, true));
    // Reads few remaining rows, but cancels the statement for many.
    assert_eq!(
        read(rows(3), "SELECT x FROM n LIMIT 900").await,
        (1, 3, true)
    );
    assert_eq!(read(rows(3), "SELECT x FROM n").await, (1, 3, true));
    assert_eq!(read(rows(0), "SELECT x FROM none").await, (1, 0, false));
    assert_eq!(read(rows(0), "SELECT x FROM n").await, (1, 0, true));
    let bytes = Caps {
        bytes: 80,
        ..Caps::default()
    };
    assert_eq!(read(bytes, "SELECT x FROM n").await, (1, 10, true));
    let cell = Caps {
        cell_bytes: 3,
        ..Caps::default()
    };
    let huge = query_with(&*connector, "SELECT t FROM huge", &cell)
        .await
        .unwrap();
    assert_eq!(huge.rows, [[Cell::Text("é…".to_owned())]]);
    let tiny = Caps {
        bytes: 3,
        ..Caps::default()
    };
    let error = query_with(&*connector, "SELECT x FROM n", &tiny)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);
    assert_eq!(
        read(rows(3), "SELECT x FROM n LIMIT 2").await,
        (1, 2, false)
    );
}

#[tokio::test]
async fn reports_the_error_of_a_statement() {
    let Some(database) = Database::new("ktx_wrong", "CREATE TABLE orders (id int)").await else {
        return;
    };
    let connector = database.connector(json!({"maxConnections": 1}));
    let fail = async |sql: &str| {
        render::error(
            &query_with(&*connector, sql, &Caps::default())
                .await
                .unwrap_err(),
        )
    };
    assert_eq!(
        fail("SELECT orders.ix FROM orders").await,
        "query_failed\ncolumn orders.ix does not exist (at character 8)\nPerhaps you meant to \
         reference the column \"orders.id\"."
    );
    assert_eq!(
        fail("SELECT 1 FROM nowhere").await,
        "query_failed\nrelation \"nowhere\" does not exist (at character 15)\n-"
    );
    assert_eq!(
        fail("SELECT 1 / 0").await,
        "query_failed\ndivision by zero\n-"
    );
    assert_eq!(
        query(&*connector, "SELECT 1 AS x").await.rows,
        [[Cell::Int(1)]]
    );
    let foreign = ktx_read_only_sql::check("SELECT 1", Dialect::Redshift).unwrap();
    let mut sink = ktx_warehouse::QueryResult::default();
    let cancel = CancellationToken::new();
    let error = connector
        .query(&foreign, &Caps::default(), &mut sink, &cancel)
        .await;
    assert_eq!(error.unwrap_err().kind, ErrorKind::Sql);
}

#[tokio::test]
async fn reports_why_a_connection_fails() {
    let Some(database) = Database::new("ktx_failures", "").await else {
        return;
    };
    let fail = async |extra: Value| {
        let cancel = CancellationToken::new();
        render::error(&database.connector(extra).check(&cancel).await.unwrap_err())
    };
    assert_eq!(
        fail(json!({"password": "wrong-secret"})).await,
        format!(
            "connection_authentication\nthe server refused the password of `{}`\ncheck `username` \
             and `password`",
            database.user
        )
    );
    assert_eq!(
        fail(json!({"database": "ktx_nowhere"})).await,
        "connection_not_found\nthe database `ktx_nowhere` does not exist\ncheck `database`"
    );
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = dead.local_addr().unwrap().port();
    drop(dead);
    assert_eq!(
        fail(json!({"host": "127.0.0.1", "port": port})).await,
        format!(
            "connection_unreachable\nno PostgreSQL at 127.0.0.1:{port}: Connection refused (os \
             error 111)\ncheck `host` and `port`, and that the server runs and this machine may \
             reach it"
        )
    );
    let unknown = fail(json!({"host": "nowhere.invalid"})).await;
    assert!(unknown.starts_with("connection_unreachable\nno PostgreSQL at nowhere.invalid:"));
    let encrypted: String = database
        .admin
        .query_one("SHOW ssl", &[])
        .await
        .unwrap()
        .get(0);
    let address = format!("{}:{}", database.host, database.port);
    let tls = fail(json!({"sslmode": "require"})).await;
    let expected = if encrypted == "on" {
        format!("connection_tls\nno encrypted channel to {address}: invalid peer certificate")
    } else {
        format!(
            "connection_tls\nno encrypted channel to {address}: error performing TLS handshake: server does not support TLS"
        )
    };
    assert!(tls.starts_with(&expected), "{tls}");
}

#[tokio::test]
async fn gives_a_silent_server_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let fields = json!({"host": "127.0.0.1", "port": port, "username": "u", "database": "d"});
    let connector = open(Driver::Postgres, fields);
    let caps = Caps {
        timeout: Duration::from_millis(50),
        ..Caps::default()
    };
    let error = query_with(&*connector, "SELECT 1", &caps)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
}
