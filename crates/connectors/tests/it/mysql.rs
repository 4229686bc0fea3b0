//! MySQL's driver on MariaDB.

use std::sync::Arc;
use std::time::Duration;

use ktx_config::Driver;
use ktx_sql::Dialect;
use ktx_test_support::services::{Service, ServiceName, service};
use ktx_warehouse::{Caps, Cell, Connector, ErrorKind, RoleCheck, Scope};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Opts};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::render;
use crate::support::{open, query, query_with};

pub(crate) struct Database {
    pub(crate) admin: Conn,
    name: &'static str,
    options: Opts,
}

impl Database {
    pub(crate) async fn new(name: &'static str, sql: &str) -> Option<Self> {
        let Service::Available(url) = service(ServiceName::MariaDb) else {
            return None;
        };
        let options = Opts::from_url(&url).expect("a good URL");
        let mut admin = Conn::new(options.clone())
            .await
            .expect("the server answers");
        for sql in [
            format!(
                "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name} CHARSET utf8mb4; USE {name}"
            ),
            sql.to_owned(),
        ] {
            if !sql.is_empty() {
                admin.query_drop(sql).await.unwrap();
            }
        }
        Some(Self {
            admin,
            name,
            options,
        })
    }

    pub(crate) fn connector(&self, extra: Value) -> Arc<dyn Connector> {
        let mut fields = json!({
            "host": self.options.ip_or_hostname(), "port": self.options.tcp_port(),
            "database": self.name, "username": self.options.user(), "password": self.options.pass(),
        });
        let Value::Object(extra) = extra else {
            panic!("the fields are an object")
        };
        fields.as_object_mut().unwrap().extend(extra);
        open(Driver::MySql, fields)
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

const STRUCTURE: &str = r"
DROP DATABASE IF EXISTS ktx_my_other; CREATE DATABASE ktx_my_other CHARSET utf8mb4;
CREATE TABLE ktx_my_other.customers (region varchar(9), number bigint unsigned, PRIMARY KEY (number, region));
CREATE TABLE customers (id int AUTO_INCREMENT PRIMARY KEY, name varchar(20) NOT NULL COMMENT 'as written',
  vip tinyint(1), small tinyint(4), flags bit(1), bits bit(5), kind enum('a','b'), tags set('x','y'),
  price decimal(10,2) unsigned, born date, at datetime(6), ts timestamp NULL, clock time, y year,
  doc json, raw blob, ratio double) COMMENT 'who buys';
CREATE TABLE orders (id int PRIMARY KEY, r varchar(9), n bigint unsigned, buyer int,
  CONSTRAINT across FOREIGN KEY (n, r) REFERENCES ktx_my_other.customers (number, region),
  CONSTRAINT buyer FOREIGN KEY (buyer) REFERENCES customers (id));
CREATE TABLE `odd ``name``.né漢` (`sel``ect` int, `a.b` text);
CREATE VIEW big AS SELECT id, name FROM customers;
CREATE TABLE gone (x int); CREATE VIEW broken AS SELECT x FROM gone; DROP TABLE gone;
CREATE SEQUENCE numbers;
INSERT INTO customers (name) VALUES ('a'), ('b'), ('c'); ANALYZE TABLE customers;";

#[tokio::test]
async fn reads_the_whole_structure() {
    let Some(database) = Database::new("ktx_my_structure", STRUCTURE).await else {
        return;
    };
    let expected = "schemas: ktx_my_other, ktx_my_structure
table ktx_my_other.customers rows=0
  region: varchar(9) string required key
  number: bigint(20) unsigned number required key
  primary key (number, region)
view ktx_my_structure.big rows=?
  id: int(11) number required
  name: varchar(20) string required -- as written
table ktx_my_structure.customers rows=3 -- who buys
  id: int(11) number required key
  name: varchar(20) string required -- as written
  vip: tinyint(1) boolean
  small: tinyint(4) number
  flags: bit(1) boolean
  bits: bit(5) number
  kind: enum('a','b') string
  tags: set('x','y') string
  price: decimal(10,2) unsigned number
  born: date time
  at: datetime(6) time
  ts: timestamp time
  clock: time time
  y: year(4) number
  doc: longtext string
  raw: blob string
  ratio: double number
  primary key (id)
table ktx_my_structure.odd `name`.né漢 rows=0
  sel`ect: int(11) number
  a.b: text string
table ktx_my_structure.orders rows=0
  id: int(11) number required key
  r: varchar(9) string
  n: bigint(20) unsigned number
  buyer: int(11) number
  primary key (id)
  foreign key across (n, r) -> ktx_my_other.customers (number, region)
  foreign key buyer (buyer) -> ktx_my_structure.customers (id)
warning table_unreadable ktx_my_structure.broken: View 'ktx_my_structure.broken' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to use them";
    let found = database
        .snapshot(json!({}), &["ktx_my_structure", "ktx_my_other"], &[])
        .await;
    assert_eq!(found, expected);
    let found = database.snapshot(json!({}), &[], &["customers"]).await;
    assert!(found.starts_with("schemas: ktx_my_structure\ntable ktx_my_structure.customers"));
    assert_eq!(
        database.snapshot(json!({}), &["ktx_nowhere"], &[]).await,
        "schemas: \nwarning schema_not_found -: the schema `ktx_nowhere` does not exist or the \
         login has no right in it; for the right run `GRANT SELECT, SHOW VIEW ON `ktx_nowhere`.* TO \
         'root'`"
            .replace("'root'", &format!("'{}'", database.options.user().unwrap_or_default()))
    );
}

#[tokio::test]
async fn reads_every_kind_of_value() {
    let sql = r#"
      CREATE TABLE v (yes tinyint(1), two tinyint(1), i8 tinyint, u8 tinyint unsigned, i64 bigint,
        u64 bigint unsigned, f float, d double, num decimal(30,9), one bit(1), bits bit(9), y year,
        da date, dt datetime(6), ts timestamp NULL, ti time(1), neg time, vc varchar(9), tx text,
        bi binary(2), bl blob, en enum('a','b'), se set('x','y'), js json, zero date, pt point, nul int);
      SET sql_mode = '', time_zone = '+00:00';
      INSERT INTO v VALUES (1, 2, -128, 255, -9223372036854775808, 18446744073709551615, 0.1, 1e300,
        -12345678901234567890.123456789, 1, 257, 2024, '2024-02-29', '2024-02-29 23:59:59.5',
        '2024-02-29 23:59:59', '10:11:12.5', '-838:59:59', 'é🦀', '', x'00ff', x'', 'b', 'x,y',
        '{"a": 1}', '0000-00-00', ST_GeomFromText('POINT(1 2)'), NULL);"#;
    let Some(database) = Database::new("ktx_my_values", sql).await else {
        return;
    };
    let result = query(&*database.connector(json!({})), "SELECT * FROM v").await;
    let point: Vec<u8> = [
        [0, 0, 0, 0, 1, 1, 0, 0, 0].as_slice(),
        1_f64.to_le_bytes().as_slice(),
        2_f64.to_le_bytes().as_slice(),
    ]
    .concat();
    let expected = r#"yes tinyint(1): Bool(true)
two tinyint(1): Int(2)
i8 tinyint: Int(-128)
u8 tinyint unsigned: Int(255)
i64 bigint: Int(-9223372036854775808)
u64 bigint unsigned: UInt(18446744073709551615)
f float: Float(0.1)
d double: Float(1e300)
num decimal: Decimal("-12345678901234567890.123456789")
one bit: Bool(true)
bits bit: Int(257)
y year: Int(2024)
da date: Date("2024-02-29")
dt datetime: Timestamp("2024-02-29 23:59:59.5")
ts timestamp: Timestamp("2024-02-29 23:59:59")
ti time: Time("10:11:12.5")
neg time: Time("-838:59:59")
vc varchar: Text("é🦀")
tx text: Text("")
bi binary: Bytes([0, 255])
bl blob: Bytes([])
en enum: Text("b")
se set: Text("x,y")
js text: Text("{\"a\": 1}")
zero date: Date("0000-00-00")
pt geometry: Bytes(POINT)
nul int: Null"#
        .replace("POINT", &format!("{point:?}"));
    assert_eq!(render::columns(&result), expected);
}

#[tokio::test]
async fn keeps_to_the_caps_and_reuses_the_session() {
    let sql = "CREATE TABLE n AS SELECT seq AS x FROM seq_1_to_50000;
      CREATE TABLE none (x int); CREATE TABLE huge AS SELECT repeat('é', 3000000) AS t;";
    let Some(database) = Database::new("ktx_my_caps", sql).await else {
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
    // Reads few remaining rows, but stops the statement for many.
    assert_eq!(
        read(rows(3), "SELECT x FROM n LIMIT 900").await,
        (1, 3, true)
    );
    assert_eq!(read(rows(3), "SELECT x FROM n").await, (1, 3, true));
    assert_eq!(read(rows(0), "SELECT x FROM none").await, (1, 0, false));
    assert_eq!(read(rows(0), "SELECT x FROM n").await, (1, 0, true));
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
async fn reads_text_as_the_gate_does() {
    let Some(mut database) = Database::new("ktx_my_quotes", "").await else {
        return;
    };
    let before: Option<String> = database
        .admin
        .query_first("SELECT @@GLOBAL.sql_mode")
        .await
        .unwrap();
    let connector = database.connector(json!({}));
    let sql = r#"SELECT "a" AS x, 'b\'c' AS y"#;
    let text = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(
        query(&*connector, sql).await.rows,
        [[text("a"), text("b'c")]]
    );
    assert!(!before.unwrap_or_default().contains("ANSI_QUOTES"));
}

#[tokio::test]
async fn reports_what_the_login_may_write() {
    let sql = "
      CREATE TABLE seen (x int); CREATE TABLE hidden (x int);
      DROP USER IF EXISTS ktx_my_reader@localhost, ktx_my_reader@'%';
      CREATE USER ktx_my_reader@localhost IDENTIFIED BY 'reader-secret',
        ktx_my_reader@'%' IDENTIFIED BY 'reader-secret';
      GRANT SELECT ON ktx_my_grants.seen TO ktx_my_reader@localhost, ktx_my_reader@'%';";
    let Some(mut database) = Database::new("ktx_my_grants", sql).await else {
        return;
    };
    let reader = || json!({"username": "ktx_my_reader", "password": "reader-secret"});
    let cancel = CancellationToken::new();
    let connector = database.connector(reader());
    let check = connector.check(&cancel).await.unwrap();
    assert_eq!(check.role, RoleCheck::ReadOnly);
    assert!(check.server.starts_with("MariaDB "), "{}", check.server);
    assert!(!format!("{connector:?}").contains("reader-secret"));
    assert_eq!(connector.dialect(), Dialect::MariaDb);
    let error = query_with(&*connector, "SELECT * FROM hidden", &Caps::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Permission);
    assert_eq!(
        database.snapshot(reader(), &["ktx_my_grants"], &[]).await,
        "schemas: ktx_my_grants\ntable ktx_my_grants.seen rows=0\n  x: int(11) number"
    );
    database
        .admin
        .query_drop(
            "GRANT INSERT ON ktx_my_grants.seen TO ktx_my_reader@localhost, ktx_my_reader@'%'",
        )
        .await
        .unwrap();
    let check = database.connector(reader()).check(&cancel).await.unwrap();
    assert_eq!(
        check.role,
        RoleCheck::CanWrite {
            because: "the login has INSERT on `ktx_my_grants`.`seen`".to_owned(),
            fix: vec![
                "CREATE USER 'ktx_reader'@'%' IDENTIFIED BY 'choose-a-password'".to_owned(),
                "GRANT SELECT, SHOW VIEW ON `ktx_my_grants`.* TO 'ktx_reader'@'%'".to_owned(),
            ],
        }
    );
}

#[tokio::test]
async fn reports_the_error_of_a_statement() {
    let Some(database) = Database::new("ktx_my_wrong", "CREATE TABLE orders (id int)").await else {
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
    let unknown = fail("SELECT ix FROM orders").await;
    assert!(
        unknown.starts_with("query_failed\nUnknown column 'ix' in '"),
        "{unknown}"
    );
    assert_eq!(
        fail("SELECT 1 FROM nowhere").await,
        "query_failed\nTable 'ktx_my_wrong.nowhere' doesn't exist\n-"
    );
    assert_eq!(
        query(&*connector, "SELECT 1 AS x").await.rows,
        [[Cell::Int(1)]]
    );
}

#[tokio::test]
async fn reports_why_a_connection_fails() {
    let Some(database) = Database::new("ktx_my_failures", "").await else {
        return;
    };
    let user = database.options.user().unwrap_or_default().to_owned();
    let fail = async |extra: Value| {
        let cancel = CancellationToken::new();
        render::error(&database.connector(extra).check(&cancel).await.unwrap_err())
    };
    assert_eq!(
        fail(json!({"password": "wrong-secret"})).await,
        format!(
            "connection_authentication\nthe server refused the password of `{user}`\ncheck \
             `username` and `password`"
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
            "connection_unreachable\nno MySQL at 127.0.0.1:{port}: Connection refused (os error \
             111)\ncheck `host` and `port`, and that the server runs and this machine may reach it"
        )
    );
    let tls = fail(json!({"sslmode": "require"})).await;
    assert!(tls.starts_with("connection_tls\n"), "{tls}");
}

#[tokio::test]
async fn gives_a_silent_server_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let fields = json!({"host": "127.0.0.1", "port": port, "username": "u", "database": "d"});
    let connector = open(Driver::MySql, fields);
    let caps = Caps {
        timeout: Duration::from_millis(50),
        ..Caps::default()
    };
    let error = query_with(&*connector, "SELECT 1", &caps)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
}
