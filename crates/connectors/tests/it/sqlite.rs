//! SQLite on real files.
#![expect(clippy::disallowed_methods, reason = "the tests make database files")]

use std::path::PathBuf;
use std::sync::Arc;

use ktx_config::Driver;
use ktx_sql::Dialect;
use ktx_warehouse::{Caps, Cell, ConnectionCheck, Connector, ErrorKind, RoleCheck, Scope};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::render;
use crate::support::{TestProject, UNIX_NOW, connection, query, query_with};

pub(crate) struct Database {
    folder: TempDir,
    session: Connection,
}

impl Database {
    pub(crate) fn new(sql: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let session = Connection::open(folder.path().join("shop.db")).unwrap();
        session.execute_batch(sql).unwrap();
        Self { folder, session }
    }

    pub(crate) fn connector(&self) -> Arc<dyn Connector> {
        open(&self.folder, json!({"path": "shop.db"})).unwrap()
    }

    async fn snapshot(&self, tables: &[&str]) -> String {
        let tables = tables.iter().map(|name| (*name).to_owned()).collect();
        let scope = Scope {
            schemas: Vec::new(),
            tables,
        };
        let snapshot = self
            .connector()
            .introspect(&scope, &CancellationToken::new())
            .await;
        render::snapshot(&snapshot.unwrap())
    }
}

fn open(
    folder: &TempDir,
    fields: serde_json::Value,
) -> Result<Arc<dyn Connector>, ktx_warehouse::WarehouseError> {
    let base = folder.path().to_owned();
    let database = base.join("shop.db").display().to_string();
    ktx_connectors::open(
        &connection(Driver::Sqlite, fields),
        &TestProject { base, database },
        UNIX_NOW,
    )
}

#[tokio::test]
async fn reads_the_whole_structure() {
    let long = "n".repeat(200);
    let database = Database::new(&format!(
        "CREATE TABLE Customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born DATE, vip BOOLEAN);
         CREATE TABLE orders (
           region TEXT, number INT, customer INTEGER REFERENCES customers,
           total DECIMAL(10,2), doubled AS (total * 2), kept REAL AS (total * 3) STORED,
           placed TIMESTAMP DEFAULT CURRENT_TIMESTAMP, anything,
           PRIMARY KEY (number, region)) WITHOUT ROWID;
         CREATE TABLE lines (
           id INTEGER PRIMARY KEY, order_region TEXT, order_number INT, again INT,
           FOREIGN KEY (order_number, order_region) REFERENCES orders (NUMBER, Region),
           FOREIGN KEY (again) REFERENCES lines (id));
         CREATE TABLE exact (id INT NOT NULL, data ANY, PRIMARY KEY (id)) STRICT;
         CREATE TABLE \"odd \"\"quoted\"\".name 🦀\" (\"sel'ect\" TEXT, \"a.b\" INT, \"{long}\" TEXT);
         CREATE VIEW totals AS SELECT region, sum(total) AS sum, total FROM orders GROUP BY region;
         CREATE VIRTUAL TABLE notes USING fts5(body);
         INSERT INTO Customers (name) VALUES ('a'), ('b'), ('c');
         DELETE FROM Customers WHERE id = 2;"
    ));
    let expected = format!(
        "schemas: 
table Customers rows=2
  id: INTEGER number required key
  name: TEXT string required
  born: DATE time
  vip: BOOLEAN boolean
  primary key (id)
table exact rows=0
  id: INT number required key
  data: ANY string
  primary key (id)
table lines rows=0
  id: INTEGER number required key
  order_region: TEXT string
  order_number: INT number
  again: INT number
  primary key (id)
  foreign key - (order_number, order_region) -> orders (number, region)
  foreign key - (again) -> lines (id)
table notes rows=?
  body:  (unknown) string
table odd \"quoted\".name 🦀 rows=0
  sel'ect: TEXT string
  a.b: INT number
  {long}: TEXT string
table orders rows=?
  region: TEXT string required key
  number: INT number required key
  customer: INTEGER number
  total: DECIMAL(10,2) number
  doubled:  (unknown) string
  kept: REAL number
  placed: TIMESTAMP time
  anything:  (unknown) string
  primary key (number, region)
  foreign key - (customer) -> Customers (id)
view totals rows=?
  region: TEXT string
  sum:  (unknown) string
  total: DECIMAL(10,2) number"
    );
    assert_eq!(database.snapshot(&[]).await, expected);
}

#[tokio::test]
async fn reads_only_the_tables_of_the_scope() {
    let database = Database::new("CREATE TABLE a (x); CREATE TABLE b (x); CREATE TABLE c (x);");
    assert_eq!(
        database.snapshot(&["a", "c", "missing"]).await,
        "schemas: \ntable a rows=0\n  x:  (unknown) string\ntable c rows=0\n  x:  (unknown) string"
    );
}

#[tokio::test]
async fn skips_broken_views_and_keys() {
    let database = Database::new(
        "CREATE TABLE a (x INT); CREATE VIEW broken AS SELECT x FROM a; DROP TABLE a;
         CREATE TABLE b (y INT REFERENCES nowhere, z INT REFERENCES nowhere (id));",
    );
    assert_eq!(
        database.snapshot(&[]).await,
        "schemas: 
table b rows=0
  y: INT number
  z: INT number
  foreign key - (z) -> nowhere (id)
warning foreign_key_unresolved b: a foreign key of `b` refers to the primary key of `nowhere`, \
         which has none here
warning table_unreadable broken: the columns of `broken` cannot be read: no such table: main.a"
    );
}

#[tokio::test]
async fn estimates_rows_without_counting_whole_tables() {
    let database = Database::new(
        "CREATE TABLE analyzed (x INT); CREATE INDEX i ON analyzed (x);
         CREATE TABLE large (x INT); CREATE TABLE sparse (id INTEGER PRIMARY KEY);
         INSERT INTO analyzed VALUES (1), (2), (3); ANALYZE; INSERT INTO analyzed VALUES (4);
         WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 20000)
         INSERT INTO large SELECT x FROM c;
         INSERT INTO sparse SELECT x * 1000000000 FROM large;",
    );
    let scope = Scope::default();
    let snapshot = database
        .connector()
        .introspect(&scope, &CancellationToken::new())
        .await
        .unwrap();
    let rows: Vec<(String, Option<u64>)> = snapshot
        .tables
        .iter()
        .map(|table| (table.table.to_string(), table.estimated_rows))
        .collect();
    let bytes = std::fs::metadata(database.folder.path().join("shop.db"))
        .unwrap()
        .len();
    assert_eq!(
        rows,
        [
            ("analyzed".to_owned(), Some(3)),
            ("large".to_owned(), Some(20_000)),
            ("sparse".to_owned(), Some(bytes / 6)),
        ]
    );
}

#[tokio::test]
async fn reads_a_thousand_tables_and_two_thousand_columns() {
    let columns: Vec<String> = (0..2000).map(|number| format!("c{number} INT")).collect();
    let mut sql = format!("BEGIN; CREATE TABLE wide ({});", columns.join(", "));
    for number in 0..1000 {
        sql.push_str(
            &[
                "CREATE TABLE t",
                &number.to_string(),
                " (id INTEGER PRIMARY KEY);",
            ]
            .concat(),
        );
    }
    let database = Database::new(&(sql + "INSERT INTO wide (c1999) VALUES (7); COMMIT;"));
    let connector = database.connector();
    let snapshot = connector
        .introspect(&Scope::default(), &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(snapshot.tables.len(), 1001);
    assert_eq!(
        snapshot.tables.last().map(|table| table.columns.len()),
        Some(2000)
    );
    let result = query(&*connector, "SELECT * FROM wide").await;
    let cells = result.rows.first().unwrap();
    assert_eq!((cells.len(), cells.last()), (2000, Some(&Cell::Int(7))));
}

#[tokio::test]
async fn reads_every_kind_of_value() {
    let database = Database::new(
        "CREATE TABLE v (i INTEGER, r REAL, t TEXT, b BLOB, flag BOOLEAN, empty);
         INSERT INTO v VALUES (-9223372036854775808, -1.5, 'a', x'00ff', 1, NULL),
           (9223372036854775807, 9e999, '', x'', 0, NULL),
           (NULL, 1e300, '🦀''\"', NULL, NULL, NULL),
           ('text', 2, CAST(x'636166e9' AS TEXT), 'text', 'text', NULL);",
    );
    let result = query(&*database.connector(), "SELECT *, i + 1 AS sum FROM v").await;
    assert_eq!(
        render::columns(&result),
        r#"i INTEGER: Int(-9223372036854775808) | Int(9223372036854775807) | Null | Text("text")
r REAL: Float(-1.5) | Float(inf) | Float(1e300) | Float(2.0)
t TEXT: Text("a") | Text("") | Text("🦀'\"") | Text("caf�")
b BLOB: Bytes([0, 255]) | Bytes([]) | Null | Text("text")
flag BOOLEAN: Int(1) | Int(0) | Null | Text("text")
empty -: Null | Null | Null | Null
sum -: Int(-9223372036854775807) | Float(9.223372036854776e18) | Null | Int(1)"#
    );
}

#[tokio::test]
async fn keeps_to_the_caps() {
    let database = Database::new(
        "CREATE TABLE n (x TEXT); INSERT INTO n VALUES ('aaaa'), ('bbbb'), ('cccc');
         CREATE TABLE none (x TEXT);
         CREATE TABLE huge (t TEXT, b BLOB);
         INSERT INTO huge VALUES (replace(hex(zeroblob(4000000)), '0', 'é'), zeroblob(5000000));",
    );
    let connector = database.connector();
    let read = async |caps: Caps, table: &str| {
        let sql = format!("SELECT * FROM {table}");
        let result = query_with(&*connector, &sql, &caps).await.unwrap();
        (result.columns.len(), result.rows.len(), result.truncated)
    };
    let rows = |rows| Caps {
        rows,
        ..Caps::default()
    };
    assert_eq!(read(rows(4), "n").await, (1, 3, false));
    assert_eq!(read(rows(3), "n").await, (1, 3, false));
    assert_eq!(read(rows(2), "n").await, (1, 2, true));
    assert_eq!(read(rows(0), "n").await, (1, 0, true));
    assert_eq!(read(rows(0), "none").await, (1, 0, false));
    let bytes = |bytes| Caps {
        bytes,
        ..Caps::default()
    };
    assert_eq!(read(bytes(12), "n").await, (1, 3, false));
    assert_eq!(read(bytes(11), "n").await, (1, 2, true));
    let error = query_with(&*connector, "SELECT * FROM n", &bytes(3))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);
    let caps = Caps {
        cell_bytes: 5,
        ..Caps::default()
    };
    let huge = query_with(&*connector, "SELECT * FROM huge", &caps)
        .await
        .unwrap();
    let text = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(huge.rows, [[text("éé…"), text("\\x0000000000…")]]);
}

#[tokio::test]
async fn says_who_answers() {
    let check = Database::new("CREATE TABLE a (x);")
        .connector()
        .check(&CancellationToken::new())
        .await
        .unwrap();
    let server = format!("SQLite {}", rusqlite::version());
    assert_eq!(
        check,
        ConnectionCheck {
            server,
            latency: check.latency,
            role: RoleCheck::ReadOnly
        }
    );
}

#[tokio::test]
async fn finds_the_file_in_every_spelling() {
    let database = Database::new("CREATE TABLE a (x); INSERT INTO a VALUES (7);");
    let home = database.folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::copy(database.folder.path().join("shop.db"), home.join("shop.db")).unwrap();
    let absolute = database.folder.path().join("shop.db").display().to_string();
    for fields in [
        json!({"path": "shop.db"}),
        json!({"path": "./home/../shop.db"}),
        json!({"path": "~/shop.db"}),
        json!({"path": "env:DATABASE"}),
        json!({"path": absolute}),
        json!({"url": "sqlite:shop.db"}),
        json!({"url": "file:shop.db?mode=rwc"}),
        json!({"url": format!("sqlite://{absolute}")}),
        json!({"url": "env:DATABASE"}),
    ] {
        let connector = open(&database.folder, fields.clone()).unwrap();
        assert_eq!(
            query(&*connector, "SELECT x FROM a").await.rows,
            [[Cell::Int(7)]],
            "{fields}"
        );
    }
}

#[track_caller]
fn check_error(outcome: Result<ConnectionCheck, ktx_warehouse::WarehouseError>, expected: &str) {
    assert_eq!(render::error(&outcome.unwrap_err()), expected);
}

#[tokio::test]
async fn names_the_file_that_is_not_a_database() {
    let database = Database::new("CREATE TABLE a (x);");
    let base = database.folder.path();
    std::fs::write(base.join("notes.txt"), "x".repeat(5000)).unwrap();
    std::fs::create_dir(base.join("folder")).unwrap();
    let check = async |path: &str| {
        let connector = open(&database.folder, json!({"path": path})).unwrap();
        connector.check(&CancellationToken::new()).await
    };
    let shown = base.display();
    check_error(
        check("missing.db").await,
        &format!(
            "connection_not_found\nthe database file `{shown}/missing.db` does not exist\ncorrect \
             `path`; a relative path starts at the project folder"
        ),
    );
    check_error(
        check("folder").await,
        &format!(
            "connection_config\n`{shown}/folder` is a folder, not a SQLite database\nset `path` to \
             the database file inside it"
        ),
    );
    check_error(
        check("notes.txt").await,
        &format!(
            "connection_config\n`{shown}/notes.txt` is not a SQLite database\nset `path` to a \
             SQLite file; encrypted databases are not supported"
        ),
    );
    assert!(!base.join("missing.db").exists());
    let error = open(&database.folder, json!({})).unwrap_err();
    assert_eq!(
        render::error(&error),
        "connection_config\nconnection `warehouse` names no database file\nadd `path: \
         data/warehouse.db`"
    );
    let error = open(&database.folder, json!({"path": ":memory:"})).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
}

#[tokio::test]
async fn reports_the_error_of_a_statement() {
    let database = Database::new("CREATE TABLE a (x);");
    let connector = database.connector();
    let error = query_with(&*connector, "SELECT y FROM a", &Caps::default())
        .await
        .unwrap_err();
    assert_eq!(render::error(&error), "query_failed\nno such column: y\n-");
    let foreign = ktx_read_only_sql::check("SELECT 1", Dialect::Postgres).unwrap();
    let cancel = CancellationToken::new();
    let mut sink = ktx_warehouse::QueryResult::default();
    let error = connector
        .query(&foreign, &Caps::default(), &mut sink, &cancel)
        .await
        .unwrap_err();
    assert_eq!(
        error.message,
        "the statement was checked as `postgres`, the connection speaks `sqlite`"
    );
}

#[tokio::test]
async fn reads_while_another_program_writes() {
    let database =
        Database::new("PRAGMA journal_mode = WAL; CREATE TABLE a (x); INSERT INTO a VALUES (1);");
    database
        .session
        .execute_batch("BEGIN IMMEDIATE; INSERT INTO a VALUES (2);")
        .unwrap();
    let connector = database.connector();
    assert_eq!(
        query(&*connector, "SELECT count(*) FROM a").await.rows,
        [[Cell::Int(1)]]
    );
    database.session.execute_batch("COMMIT").unwrap();
    assert_eq!(
        query(&*connector, "SELECT count(*) FROM a").await.rows,
        [[Cell::Int(2)]]
    );
}

#[tokio::test]
async fn a_cancelled_operation_does_not_start() {
    let database = Database::new("CREATE TABLE a (x);");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = database
        .connector()
        .introspect(&Scope::default(), &cancel)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    let missing: PathBuf = database.folder.path().join("nothing");
    assert!(!missing.exists());
}
