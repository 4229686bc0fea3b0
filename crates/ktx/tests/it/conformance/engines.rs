//! Engines run compiled SQL through the gate and ktx's connector, if any.
#![expect(clippy::panic, reason = "a helper that fails fails its test")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use ktx_config::{Connection, Driver};
use ktx_secrets::SecretSource;
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::{Caps, Cell, Connector, collect};
use mysql_async::prelude::Queryable as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::data::{Model, Types};
use super::judge::Norm;

pub(super) type Rows = (Vec<String>, Vec<Vec<Norm>>);

pub(super) trait Engine {
    fn load(&mut self, model: &Model);
    fn run(&mut self, sql: &str) -> Result<Rows, String>;
}

struct NoSecrets;

impl SecretSource for NoSecrets {
    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn read(&self, path: &Path) -> std::io::Result<String> {
        std::fs::read_to_string(path)
    }

    fn home(&self) -> Option<PathBuf> {
        None
    }

    fn base(&self) -> PathBuf {
        PathBuf::from("/")
    }
}

fn connector(driver: Driver, fields: Value) -> Arc<dyn Connector> {
    let Value::Object(fields) = fields else {
        panic!("the fields are an object")
    };
    let id = ConnectionId::parse("warehouse").expect("a good id");
    let connection = Connection { id, driver, fields };
    ktx_connectors::open(&connection, &NoSecrets, 1_700_000_000).expect("good settings")
}

async fn through_the_gate(connector: &dyn Connector, sql: &str) -> Result<Rows, String> {
    let checked =
        ktx_read_only_sql::check(sql, connector.dialect()).map_err(|refusal| refusal.reason)?;
    let caps = Caps::default();
    let result = collect(connector, &checked, &caps, &CancellationToken::new())
        .await
        .map_err(|error| error.to_string())?;
    let names = result.columns.into_iter().map(|column| column.name);
    let rows = result.rows.iter().map(|row| row.iter().map(norm).collect());
    Ok((names.collect(), rows.collect()))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the numbers of the cases are small"
)]
fn norm(cell: &Cell) -> Norm {
    match cell {
        Cell::Null => Norm::Null,
        Cell::Bool(truth) => Norm::number(f64::from(u8::from(*truth))),
        Cell::Int(number) => Norm::number(*number as f64),
        Cell::UInt(number) => Norm::number(*number as f64),
        Cell::Float(number) => Norm::number(*number),
        Cell::Decimal(text) => Norm::decimal(text),
        Cell::Text(text) | Cell::Date(text) | Cell::Time(text) | Cell::Timestamp(text) => {
            Norm::text(text)
        }
        other => panic!("no value of the cases: {other:?}"),
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

pub(super) struct Sqlite {
    folder: tempfile::TempDir,
    loaded: usize,
    connector: Option<Arc<dyn Connector>>,
    runtime: tokio::runtime::Runtime,
}

impl Sqlite {
    pub(super) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            loaded: 0,
            connector: None,
            runtime: runtime(),
        }
    }
}

impl Engine for Sqlite {
    fn load(&mut self, model: &Model) {
        self.loaded += 1;
        let path = self.folder.path().join(format!("{}.db", self.loaded));
        let database = rusqlite::Connection::open(&path).expect("a database");
        let types = Types {
            quote: '"',
            int: "INTEGER",
            float: "REAL",
            text: "TEXT",
            bool: "INTEGER",
            date: "TEXT",
            timestamp: "TEXT",
        };
        for statement in model.statements(&types) {
            database.execute_batch(&statement).expect("good SQL");
        }
        let path = path.display().to_string();
        self.connector = Some(connector(Driver::Sqlite, json!({ "path": path })));
    }

    fn run(&mut self, sql: &str) -> Result<Rows, String> {
        let connector = Arc::clone(self.connector.as_ref().expect("a loaded model"));
        self.runtime
            .block_on(through_the_gate(connector.as_ref(), sql))
    }
}

pub(super) struct Postgres {
    admin: tokio_postgres::Client,
    connector: Arc<dyn Connector>,
    runtime: tokio::runtime::Runtime,
}

impl Postgres {
    const DATABASE: &str = "ktx_conformance";

    pub(super) fn new(url: &str) -> Self {
        let runtime = runtime();
        let mut config: tokio_postgres::Config = url.parse().expect("a good URL");
        let admin = runtime.block_on(async {
            let admin = postgres_session(&config).await;
            for sql in [
                format!("DROP DATABASE IF EXISTS {}", Self::DATABASE),
                format!("CREATE DATABASE {}", Self::DATABASE),
            ] {
                admin.batch_execute(&sql).await.expect("a database");
            }
            config.dbname(Self::DATABASE);
            postgres_session(&config).await
        });
        let Some(tokio_postgres::config::Host::Tcp(host)) = config.get_hosts().first() else {
            panic!("no host in the URL")
        };
        let password = config.get_password().unwrap_or_default().to_vec();
        let connector = connector(
            Driver::Postgres,
            json!({
                "host": host, "port": config.get_ports().first(), "database": Self::DATABASE,
                "username": config.get_user(), "password": String::from_utf8(password).expect("text"),
            }),
        );
        Self {
            admin,
            connector,
            runtime,
        }
    }
}

async fn postgres_session(config: &tokio_postgres::Config) -> tokio_postgres::Client {
    let (client, session) = config
        .connect(tokio_postgres::NoTls)
        .await
        .expect("the server answers");
    tokio::spawn(session);
    client
}

impl Engine for Postgres {
    fn load(&mut self, model: &Model) {
        let types = Types {
            quote: '"',
            int: "BIGINT",
            float: "DOUBLE PRECISION",
            text: "TEXT",
            bool: "BOOLEAN",
            date: "DATE",
            timestamp: "TIMESTAMP",
        };
        self.runtime.block_on(async {
            for statement in model.statements(&types) {
                self.admin
                    .batch_execute(&statement)
                    .await
                    .expect("good SQL");
            }
        });
    }

    fn run(&mut self, sql: &str) -> Result<Rows, String> {
        self.runtime
            .block_on(through_the_gate(self.connector.as_ref(), sql))
    }
}

pub(super) struct MariaDb {
    admin: mysql_async::Conn,
    connector: Arc<dyn Connector>,
    runtime: tokio::runtime::Runtime,
}

impl MariaDb {
    const DATABASE: &str = "ktx_conformance";

    pub(super) fn new(url: &str) -> Self {
        let runtime = runtime();
        let options = mysql_async::Opts::from_url(url).expect("a good URL");
        let admin = runtime.block_on(async {
            let mut admin = mysql_async::Conn::new(options.clone())
                .await
                .expect("the server answers");
            for sql in [
                format!("DROP DATABASE IF EXISTS {}", Self::DATABASE),
                format!("CREATE DATABASE {} CHARSET utf8mb4", Self::DATABASE),
                format!("USE {}", Self::DATABASE),
            ] {
                admin.query_drop(sql).await.expect("a schema");
            }
            admin
        });
        let connector = connector(
            Driver::MySql,
            json!({
                "host": options.ip_or_hostname(), "port": options.tcp_port(),
                "database": Self::DATABASE, "username": options.user(), "password": options.pass(),
            }),
        );
        Self {
            admin,
            connector,
            runtime,
        }
    }
}

impl Engine for MariaDb {
    fn load(&mut self, model: &Model) {
        let types = Types {
            quote: '`',
            int: "BIGINT",
            float: "DOUBLE",
            text: "VARCHAR(200)",
            bool: "BOOLEAN",
            date: "DATE",
            timestamp: "DATETIME",
        };
        let admin = &mut self.admin;
        self.runtime.block_on(async {
            for statement in model.statements(&types) {
                admin.query_drop(statement).await.expect("good SQL");
            }
        });
    }

    fn run(&mut self, sql: &str) -> Result<Rows, String> {
        self.runtime
            .block_on(through_the_gate(self.connector.as_ref(), sql))
    }
}

/// Python's module, over a pipe.
pub(super) struct DuckDb {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl DuckDb {
    pub(super) fn new(python: &str) -> Self {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures/services/duckdb_rows.py");
        let mut child = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let input = child.stdin.take().expect("stdin is piped");
        let output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Self {
            child,
            input,
            output,
        }
    }

    fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.input, "{request}").expect("the script reads");
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .expect("the script answers");
        serde_json::from_str(&line).expect("JSON")
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().expect("the script can be awaited");
    }
}

impl Engine for DuckDb {
    fn load(&mut self, model: &Model) {
        let types = Types {
            quote: '"',
            int: "BIGINT",
            float: "DOUBLE",
            text: "VARCHAR",
            bool: "BOOLEAN",
            date: "DATE",
            timestamp: "TIMESTAMP",
        };
        let answer = self.ask(&json!({ "load": model.statements(&types) }));
        assert_eq!(answer, json!({ "ok": true }));
    }

    fn run(&mut self, sql: &str) -> Result<Rows, String> {
        let answer = self.ask(&json!({ "sql": sql }));
        if let Some(error) = answer["error"].as_str() {
            return Err(error.to_owned());
        }
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let names = list(&answer["columns"])
            .iter()
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect();
        let rows = list(&answer["rows"])
            .iter()
            .map(|row| list(row).iter().map(Norm::of).collect())
            .collect();
        Ok((names, rows))
    }
}
