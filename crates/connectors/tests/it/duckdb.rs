//! DuckDB with the library from `cargo xtask test`.
#![expect(clippy::disallowed_methods, reason = "the tests make database files")]

mod values;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use adbc_core::options::{AdbcVersion, OptionDatabase, OptionValue};
use adbc_core::{Connection as _, Database as _, Driver as _, Statement as _};
use adbc_driver_manager::ManagedDriver;
use ktx_config::Driver;
use ktx_sql::Dialect;
use ktx_test_support::services::{Service, ServiceName, service};
use ktx_warehouse::{
    Caps, Cell, ConnectionCheck, Connector, ErrorKind, RoleCheck, Scope, WarehouseError,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::render;
use crate::support::{TestProject, UNIX_NOW, connection, query, query_with};

pub(crate) struct Database {
    folder: TempDir,
    library: String,
}

impl Database {
    pub(crate) fn new(sql: &str) -> Option<Self> {
        let Service::Available(library) = service(ServiceName::DuckDb) else {
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let database = Self { folder, library };
        database.write(sql);
        Some(database)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("shop.duckdb")
    }

    fn write(&self, sql: &str) {
        let entry: &[u8] = b"duckdb_adbc_init";
        let mut driver = ManagedDriver::load_dynamic_from_filename(
            &self.library,
            Some(entry),
            AdbcVersion::V110,
        )
        .unwrap();
        let option = OptionDatabase::Other("path".to_owned());
        let value = OptionValue::String(self.path().display().to_string());
        let database = driver.new_database_with_opts([(option, value)]).unwrap();
        let mut session = database.new_connection().unwrap();
        let mut statement = session.new_statement().unwrap();
        statement.set_sql_query(sql).unwrap();
        statement.execute_update().unwrap();
    }

    fn open(&self, fields: Value) -> Result<Arc<dyn Connector>, WarehouseError> {
        let mut fields = fields;
        let fields_of = fields.as_object_mut().unwrap();
        fields_of
            .entry("library")
            .or_insert_with(|| json!(self.library));
        let base = self.folder.path().to_owned();
        let database = self.path().display().to_string();
        ktx_connectors::open(
            &connection(Driver::DuckDb, fields),
            &TestProject { base, database },
            UNIX_NOW,
        )
    }

    pub(crate) fn connector(&self) -> Arc<dyn Connector> {
        self.open(json!({"path": "shop.duckdb"})).unwrap()
    }

    async fn snapshot(&self, scope: Scope) -> String {
        let cancel = CancellationToken::new();
        let snapshot = self.connector().introspect(&scope, &cancel).await;
        render::snapshot(&snapshot.unwrap())
    }

    async fn check(&self, path: &str) -> Result<ConnectionCheck, WarehouseError> {
        let connector = self.open(json!({"path": path})).unwrap();
        connector.check(&CancellationToken::new()).await
    }
}

fn scope(schemas: &[&str], tables: &[&str]) -> Scope {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Scope {
        schemas: owned(schemas),
        tables: owned(tables),
    }
}

const STRUCTURE: &str = "CREATE SCHEMA sales; CREATE TYPE mood AS ENUM ('fine', 'bad');
    CREATE TABLE sales.regions (country VARCHAR, code INTEGER, name VARCHAR NOT NULL,
      PRIMARY KEY (code, country));
    CREATE TABLE sales.customers (id INTEGER PRIMARY KEY, country VARCHAR, code INTEGER, mood mood,
      up INTEGER REFERENCES sales.customers (id), vip BOOLEAN, born DATE, tags VARCHAR[],
      home STRUCT(street VARCHAR, no INTEGER), total DECIMAL(10,2), code2 INTEGER AS (code * 2),
      FOREIGN KEY (code, country) REFERENCES sales.regions (code, country));
    CREATE TABLE main.one (id INTEGER PRIMARY KEY); CREATE TABLE main.two (id INTEGER PRIMARY KEY);
    CREATE TABLE main.both (id INTEGER REFERENCES one, FOREIGN KEY (id) REFERENCES two);
    CREATE TABLE \"odd \"\"name\"\".x 🦀\" (\"sel'ect\" INTEGER, \"A.b\" TIMESTAMPTZ);
    CREATE TABLE gone (x INTEGER); CREATE VIEW broken AS SELECT x FROM gone; DROP TABLE gone;
    CREATE VIEW sales.big AS SELECT country, count(*) AS n FROM sales.customers GROUP BY ALL;
    COMMENT ON TABLE sales.regions IS 'where we sell'; COMMENT ON VIEW sales.big IS 'by country';
    COMMENT ON COLUMN sales.regions.code IS 'the number';
    CREATE SEQUENCE s; CREATE MACRO f(x) AS x; CREATE INDEX i ON sales.regions (name);
    INSERT INTO sales.regions VALUES ('de', 1, 'a'), ('fr', 2, 'b'), ('fr', 3, 'c')";

#[tokio::test]
async fn reads_the_whole_structure() {
    let Some(database) = Database::new(STRUCTURE) else {
        return;
    };
    let expected = r#"schemas: main, sales
table main.both rows=0
  id: INTEGER number
  foreign key both_id_id_fkey (id) -> main.one (id)
  foreign key both_id_id_fkey (id) -> main.two (id)
view main.broken rows=?
  x: INTEGER number
table main.odd "name".x 🦀 rows=0
  sel'ect: INTEGER number
  A.b: TIMESTAMP WITH TIME ZONE time
table main.one rows=0
  id: INTEGER number required key
  primary key (id)
table main.two rows=0
  id: INTEGER number required key
  primary key (id)
view sales.big rows=? -- by country
  country: VARCHAR string
  n: BIGINT number
table sales.customers rows=0
  id: INTEGER number required key
  country: VARCHAR string
  code: INTEGER number
  mood: ENUM('fine', 'bad') string
  up: INTEGER number
  vip: BOOLEAN boolean
  born: DATE time
  tags: VARCHAR[] string
  home: STRUCT(street VARCHAR, "no" INTEGER) string
  total: DECIMAL(10,2) number
  code2: INTEGER number
  primary key (id)
  foreign key customers_up_id_fkey (up) -> sales.customers (id)
  foreign key customers_code_country_code_country_fkey (code, country) -> sales.regions (code, country)
table sales.regions rows=3 -- where we sell
  country: VARCHAR string required key
  code: INTEGER number required key -- the number
  name: VARCHAR string required
  primary key (code, country)"#;
    assert_eq!(database.snapshot(Scope::default()).await, expected);
}

#[tokio::test]
async fn keeps_to_the_scope() {
    let Some(database) = Database::new(STRUCTURE) else {
        return;
    };
    assert_eq!(
        database
            .snapshot(scope(&["sales", "nowhere"], &["big"]))
            .await,
        "schemas: sales\nview sales.big rows=? -- by country\n  country: VARCHAR string\n  n: BIGINT \
         number\nwarning schema_not_found -: the schema `nowhere` does not exist"
    );
    assert_eq!(
        database.snapshot(scope(&[], &["main.one", "two"])).await,
        "schemas: main, sales
table main.one rows=0
  id: INTEGER number required key
  primary key (id)
table main.two rows=0
  id: INTEGER number required key
  primary key (id)"
    );
}

/// `shop.orders` is ambiguous in `shop.duckdb`; the reported name must work.
#[tokio::test]
async fn names_the_file_before_a_schema_of_the_same_name() {
    let Some(database) = Database::new(
        "CREATE SCHEMA shop.shop; USE shop.shop; CREATE TABLE orders (id INTEGER PRIMARY KEY);
         CREATE TABLE lines (id INTEGER REFERENCES orders (id));
         CREATE TABLE shop.main.orders (id INTEGER); INSERT INTO orders VALUES (7)",
    ) else {
        return;
    };
    let connector = database.connector();
    let scope = scope(&[], &["shop.orders", "shop.lines"]);
    let cancel = CancellationToken::new();
    let snapshot = connector.introspect(&scope, &cancel).await.unwrap();
    let places: Vec<String> = snapshot
        .tables
        .iter()
        .map(|table| table.table.to_string())
        .collect();
    assert_eq!(places, ["shop.shop.lines", "shop.shop.orders"]);
    let parents = snapshot.tables.iter().flat_map(|table| &table.foreign_keys);
    let parents: Vec<String> = parents.map(|key| key.to_table.to_string()).collect();
    assert_eq!(parents, ["shop.shop.orders"]);
    let rows = query(&*connector, "SELECT id FROM shop.shop.orders")
        .await
        .rows;
    assert_eq!(rows, [[Cell::Int(7)]]);
}

#[tokio::test]
async fn reads_a_thousand_tables_and_two_thousand_columns() {
    let columns: Vec<String> = (0..2000)
        .map(|number| format!("c{number} INTEGER"))
        .collect();
    let tables: Vec<String> = (0..1000)
        .map(|number| format!("CREATE TABLE t{number} (id INTEGER PRIMARY KEY);"))
        .collect();
    let sql = format!(
        "BEGIN; CREATE TABLE wide ({}); {} INSERT INTO wide (c1999) VALUES (7); COMMIT",
        columns.join(", "),
        tables.concat()
    );
    let Some(database) = Database::new(&sql) else {
        return;
    };
    let connector = database.connector();
    let snapshot = connector
        .introspect(&Scope::default(), &CancellationToken::new())
        .await
        .unwrap();
    let wide = snapshot.tables.last().map(|table| table.columns.len());
    assert_eq!((snapshot.tables.len(), wide), (1001, Some(2000)));
    let result = query(&*connector, "SELECT * FROM wide").await;
    let cells = result.rows.first().unwrap();
    assert_eq!((cells.len(), cells.last()), (2000, Some(&Cell::Int(7))));
}

#[tokio::test]
async fn keeps_to_the_caps() {
    let Some(database) = Database::new(
        "CREATE TABLE n AS SELECT 'row ' || range AS x FROM range(100, 20000);
         CREATE TABLE none (x VARCHAR);
         CREATE TABLE huge AS SELECT repeat('é', 4000000) AS t, repeat('ab', 4000000)::BLOB AS b,
           ('[' || repeat('1,', 3000) || '1]')::JSON AS j",
    ) else {
        return;
    };
    let connector = database.connector();
    let read = async |caps: Caps, sql: &str| {
        let result = query_with(&*connector, sql, &caps).await.unwrap();
        (result.columns.len(), result.rows.len(), result.truncated)
    };
    let rows = |rows| Caps {
        rows,
        ..Caps::default()
    };
    assert_eq!(
        read(rows(4), "SELECT x FROM n LIMIT 4").await,
        (1, 4, false)
    );
    assert_eq!(read(rows(3), "SELECT x FROM n LIMIT 4").await, (1, 3, true));
    // One batch has 2048 rows: caps before, at and after its end.
    for cap in [2047, 2048, 2049] {
        assert_eq!(read(rows(cap), "SELECT x FROM n").await, (1, cap, true));
        let sql = format!("SELECT x FROM n LIMIT {cap}");
        assert_eq!(read(rows(cap), &sql).await, (1, cap, false));
    }
    assert_eq!(read(rows(0), "SELECT x FROM n").await, (1, 0, true));
    assert_eq!(read(rows(0), "SELECT x FROM none").await, (1, 0, false));
    let bytes = |bytes| Caps {
        bytes,
        ..Caps::default()
    };
    assert_eq!(read(bytes(70), "SELECT x FROM n").await, (1, 10, true));
    let error = query_with(&*connector, "SELECT x FROM n", &bytes(3)).await;
    assert_eq!(error.unwrap_err().kind, ErrorKind::Limit);
    let caps = Caps {
        cell_bytes: 5,
        ..Caps::default()
    };
    let huge = query_with(&*connector, "SELECT * FROM huge", &caps)
        .await
        .unwrap();
    let text = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(
        huge.rows,
        [[text("éé…"), text("\\x6162616261…"), text("[1,1,…")]]
    );
}

#[tokio::test]
async fn says_who_answers() {
    let Some(database) = Database::new("CREATE TABLE a (x INTEGER)") else {
        return;
    };
    let check = database.check("shop.duckdb").await.unwrap();
    assert!(check.server.starts_with("DuckDB 1."), "{}", check.server);
    assert_eq!(check.role, RoleCheck::ReadOnly);
}

#[tokio::test]
async fn finds_the_file_in_every_spelling() {
    let Some(database) = Database::new("CREATE TABLE a AS SELECT 7 AS x") else {
        return;
    };
    let home = database.folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::copy(database.path(), home.join("shop.duckdb")).unwrap();
    let absolute = database.path().display().to_string();
    for fields in [
        json!({"path": "shop.duckdb"}),
        json!({"path": "./home/../shop.duckdb"}),
        json!({"path": "~/shop.duckdb"}),
        json!({"path": "env:DATABASE"}),
        json!({"path": absolute}),
        json!({"url": "duckdb:shop.duckdb"}),
        json!({"url": format!("duckdb://{absolute}?access_mode=read_write")}),
        json!({"url": format!("file:{absolute}")}),
    ] {
        let connector = database.open(fields.clone()).unwrap();
        let rows = query(&*connector, "SELECT x FROM a").await.rows;
        assert_eq!(rows, [[Cell::Int(7)]], "{fields}");
    }
}

#[track_caller]
fn check_error(outcome: Result<ConnectionCheck, WarehouseError>, expected: &str) {
    assert_eq!(render::error(&outcome.unwrap_err()), expected);
}

#[tokio::test]
async fn names_the_file_that_is_not_a_database() {
    let Some(database) = Database::new("CREATE TABLE a (x INTEGER)") else {
        return;
    };
    let base = database.folder.path();
    std::fs::write(base.join("notes.txt"), "x".repeat(5000)).unwrap();
    std::fs::write(base.join("empty.duckdb"), "").unwrap();
    std::fs::create_dir(base.join("folder")).unwrap();
    let other = rusqlite::Connection::open(base.join("lite.db")).unwrap();
    other.execute_batch("CREATE TABLE a (x)").unwrap();
    let shown = base.display();
    check_error(
        database.check("missing.duckdb").await,
        &format!(
            "connection_not_found\nthe database file `{shown}/missing.duckdb` does not exist\n\
             correct `path`; a relative path starts at the project folder"
        ),
    );
    check_error(
        database.check("folder").await,
        &format!(
            "connection_config\n`{shown}/folder` is a folder, not a DuckDB database\nset `path` to \
             the database file inside it"
        ),
    );
    for file in ["notes.txt", "empty.duckdb"] {
        check_error(
            database.check(file).await,
            &format!(
                "connection_config\n`{shown}/{file}` is not a DuckDB database\nset `path` to a \
                 DuckDB file"
            ),
        );
    }
    check_error(
        database.check("lite.db").await,
        &format!(
            "connection_config\n`{shown}/lite.db` is not a DuckDB database\nit is a SQLite \
             database: use `driver: sqlite`"
        ),
    );
    assert!(!base.join("missing.duckdb").exists());
    let error = database.open(json!({})).unwrap_err();
    assert_eq!(
        render::error(&error),
        "connection_config\nconnection `warehouse` names no database file\nadd `path: \
         data/warehouse.duckdb`"
    );
}

fn check_sum(block: &[u8]) -> u64 {
    block.chunks_exact(8).fold(5381, |sum, word| {
        let word = u64::from_le_bytes(word.try_into().unwrap());
        sum ^ word.wrapping_mul(0xbf58_476d_1ce4_e5b9)
    })
}

#[tokio::test]
async fn distinguishes_a_newer_storage_version_from_a_damaged_file() {
    let Some(database) = Database::new("CREATE TABLE a (x INTEGER)") else {
        return;
    };
    let base = database.folder.path();
    let shown = base.display();
    let mut bytes = std::fs::read(database.path()).unwrap();
    bytes[12..20].copy_from_slice(&200_u64.to_le_bytes());
    std::fs::write(base.join("damaged.duckdb"), &bytes).unwrap();
    let sum = check_sum(&bytes[8..4096]);
    bytes[..8].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(base.join("newer.duckdb"), &bytes).unwrap();
    check_error(
        database.check("newer.duckdb").await,
        &format!(
            "connection_config\n`{shown}/newer.duckdb` has the storage version 200, which the \
             DuckDB library cannot read\ninstall the DuckDB library that wrote the file, or a \
             newer one"
        ),
    );
    let error = database.check("damaged.duckdb").await.unwrap_err();
    let said = format!("`{shown}/damaged.duckdb` is damaged: ");
    assert!(error.message.starts_with(&said), "{error:?}");
}

fn writer(python: &str, path: &Path) -> std::process::Child {
    let script = "import duckdb, sys\nopen_file = duckdb.connect(sys.argv[1])\n\
                  print('open', flush=True)\nsys.stdin.read()";
    let mut child = Command::new(python)
        .args(["-c", script])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let output = child.stdout.as_mut().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    assert_eq!(line, "open\n");
    child
}

#[tokio::test]
async fn names_the_program_that_keeps_the_file() {
    let Service::Available(python) = service(ServiceName::Python) else {
        return;
    };
    let Some(database) = Database::new("CREATE TABLE a (x INTEGER)") else {
        return;
    };
    let mut child = writer(&python, &database.path());
    let error = database.check("shop.duckdb").await.unwrap_err();
    drop(child.stdin.take());
    child.wait().unwrap();
    let said = format!(
        "`{}` is locked by another program: ",
        database.path().display()
    );
    assert!(error.message.starts_with(&said), "{error:?}");
    let process = format!("(PID {})", child.id());
    assert!(error.message.contains(&process), "{error:?}");
    assert_eq!(
        error.hint.as_deref(),
        Some(
            "DuckDB does not open a file that another program has open for writing: close that program, or \
             open the file read-only there"
        )
    );
    assert!(database.check("shop.duckdb").await.is_ok());
}

#[tokio::test]
async fn says_which_library_is_missing_and_where_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.duckdb"), "x").unwrap();
    let text = outside.path().join("text.so");
    std::fs::write(&text, "not a library").unwrap();
    let refused = async |library: &Path| {
        let fields = json!({"path": "shop.duckdb", "library": library});
        let project = TestProject {
            base: folder.path().to_owned(),
            database: String::new(),
        };
        match ktx_connectors::open(&connection(Driver::DuckDb, fields), &project, UNIX_NOW) {
            Ok(connector) => connector
                .check(&CancellationToken::new())
                .await
                .unwrap_err(),
            Err(error) => error,
        }
    };
    let missing = outside.path().join("none.so");
    let error = refused(&missing).await;
    let expected = format!("names the `library` `{}`: No such file", missing.display());
    assert_eq!(error.kind, ErrorKind::Config);
    assert!(error.message.contains(&expected), "{error:?}");

    let error = refused(&text).await;
    assert_eq!(error.kind, ErrorKind::Config);
    let start = format!(
        "the library `{}` of the key `library` cannot be loaded: ",
        text.display()
    );
    assert!(error.message.starts_with(&start), "{error:?}");
    assert_eq!(
        error.hint.as_deref(),
        Some(
            "install `libduckdb` 1.5 or newer from https://duckdb.org/install, and name the \
             file in the key `library` or in `KTX_DUCKDB_LIBRARY`, or put it where the system \
             looks for libraries"
        )
    );
}

#[tokio::test]
async fn reports_the_error_of_a_statement() {
    let Some(database) = Database::new("CREATE TABLE orders (id INTEGER)") else {
        return;
    };
    let connector = database.connector();
    let fail = async |sql: &str| {
        let outcome = query_with(&*connector, sql, &Caps::default()).await;
        render::error(&outcome.unwrap_err())
    };
    assert_eq!(
        fail("SELECT * FROM order_s").await,
        "query_failed\nTable with name order_s does not exist\nDid you mean \"orders\"?"
    );
    assert_eq!(
        fail("SELECT ix FROM orders").await,
        "query_failed\nReferenced column \"ix\" not found in FROM clause\nCandidate bindings: \"id\""
    );
    assert_eq!(
        fail("SELECT CAST('a' AS INTEGER)").await,
        "query_failed\nCould not convert string 'a' to INT32\n-"
    );
    let foreign = ktx_read_only_sql::check("SELECT 1", Dialect::Postgres).unwrap();
    let mut sink = ktx_warehouse::QueryResult::default();
    let cancel = CancellationToken::new();
    let error = connector
        .query(&foreign, &Caps::default(), &mut sink, &cancel)
        .await
        .unwrap_err();
    assert_eq!(
        error.message,
        "the statement was checked as `postgres`, the connection speaks `duckdb`"
    );
}

#[tokio::test]
async fn lets_others_write_between_two_queries() {
    let Some(database) = Database::new("CREATE TABLE a AS SELECT 1 AS x") else {
        return;
    };
    let Service::Available(python) = service(ServiceName::Python) else {
        return;
    };
    let connector = database.connector();
    for number in 2..5 {
        query(&*connector, "SELECT * FROM a").await;
        let script = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute(sys.argv[2])";
        let insert = format!("INSERT INTO a VALUES ({number})");
        let status = Command::new(&python)
            .args(["-c", script])
            .arg(database.path())
            .arg(insert)
            .status()
            .unwrap();
        assert!(status.success());
    }
    let rows = query(&*connector, "SELECT sum(x) FROM a").await.rows;
    assert_eq!(rows, [[Cell::Int(10)]]);
}
