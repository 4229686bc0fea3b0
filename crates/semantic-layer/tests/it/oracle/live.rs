//! The oracle on the test servers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ktx_sql::Dialect;
use ktx_test_support::services::{Service, ServiceName, service};
use mysql_async::prelude::Queryable as _;
use serde_json::{Value, json};
use tokio_postgres::SimpleQueryMessage;

use super::engine::{Engine, Rows, Types, statements, texts};
use super::world::{Table, TimeKind, World};

/// A server gets one of this number of questions.
const SHARE: usize = 10;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

struct Postgres {
    admin: tokio_postgres::Client,
    client: tokio_postgres::Client,
    runtime: tokio::runtime::Runtime,
}

impl Postgres {
    const DATABASE: &str = "ktx_oracle";
    const TYPES: Types = Types {
        integer: "BIGINT",
        decimal: "NUMERIC(12, 2)",
        real: "DOUBLE PRECISION",
        text: "TEXT",
        flag: "BOOLEAN",
        date: "DATE",
        timestamp: "TIMESTAMP",
        zoned: "TIMESTAMPTZ",
    };

    fn new(url: &str) -> Self {
        let runtime = runtime();
        let mut config: tokio_postgres::Config = url.parse().expect("a good URL");
        let (admin, client) = runtime.block_on(async {
            let admin = session(&config).await;
            for sql in [
                format!("DROP DATABASE IF EXISTS {}", Self::DATABASE),
                format!("CREATE DATABASE {}", Self::DATABASE),
            ] {
                admin.batch_execute(&sql).await.expect("a database");
            }
            config.dbname(Self::DATABASE);
            (admin, session(&config).await)
        });
        Self {
            admin,
            client,
            runtime,
        }
    }

    fn drop_database(self) {
        let sql = format!("DROP DATABASE {} WITH (FORCE)", Self::DATABASE);
        let dropped = self.runtime.block_on(self.admin.batch_execute(&sql));
        dropped.expect("the database goes");
    }
}

async fn session(config: &tokio_postgres::Config) -> tokio_postgres::Client {
    let (client, session) = config
        .connect(tokio_postgres::NoTls)
        .await
        .expect("the server answers");
    tokio::spawn(session);
    client
}

impl Engine for Postgres {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn load(&mut self, world: &World) {
        let made = statements(world, self.dialect(), &Self::TYPES).join("; ");
        // In a session whose clocks go forward at midnight, only times with a zone change.
        let is_zoned = |table: &Table| table.time == TimeKind::Zoned;
        let zone = if world.tables.iter().any(is_zoned) {
            "UTC"
        } else {
            "<+02>-2<+03>,J1/0,J200/0"
        };
        let sql = format!(
            "SET TIME ZONE '{zone}'; DROP SCHEMA public CASCADE; CREATE SCHEMA public; {made}"
        );
        let loaded = self.runtime.block_on(self.client.batch_execute(&sql));
        loaded.unwrap_or_else(|error| panic!("{error:?}\n{sql}"));
    }

    fn run(&mut self, sql: &str) -> Result<Rows, String> {
        let answer = self.runtime.block_on(self.client.simple_query(sql));
        let messages = answer.map_err(|error| match error.as_db_error() {
            Some(error) => error.to_string(),
            None => error.to_string(),
        })?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                let texts = (0..row.len()).map(|at| row.get(at).map(str::to_owned));
                Some(texts.collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }
}

struct MariaDb {
    connection: mysql_async::Conn,
    runtime: tokio::runtime::Runtime,
}

impl MariaDb {
    const DATABASE: &str = "ktx_oracle";
    const TYPES: Types = Types {
        integer: "BIGINT",
        decimal: "DECIMAL(12, 2)",
        real: "DOUBLE",
        text: "VARCHAR(200)",
        flag: "BOOLEAN",
        date: "DATE",
        timestamp: "DATETIME",
        zoned: "TIMESTAMP",
    };

    fn new(url: &str) -> Self {
        let runtime = runtime();
        let options = mysql_async::Opts::from_url(url).expect("a good URL");
        let connection = runtime.block_on(mysql_async::Conn::new(options));
        Self {
            connection: connection.expect("the server answers"),
            runtime,
        }
    }

    fn each(&mut self, statements: &[String]) {
        let connection = &mut self.connection;
        self.runtime.block_on(async {
            for sql in statements {
                let done = connection.query_drop(sql).await;
                done.unwrap_or_else(|error| panic!("{error}\n{sql}"));
            }
        });
    }

    fn drop_database(mut self) {
        self.each(&[format!("DROP DATABASE {}", Self::DATABASE)]);
        let ended = self.runtime.block_on(self.connection.disconnect());
        ended.expect("the connection ends");
    }
}

impl Engine for MariaDb {
    fn dialect(&self) -> Dialect {
        Dialect::MariaDb
    }

    fn load(&mut self, world: &World) {
        let mut all = vec![
            format!("DROP DATABASE IF EXISTS {}", Self::DATABASE),
            format!("CREATE DATABASE {} CHARSET utf8mb4", Self::DATABASE),
            format!("USE {}", Self::DATABASE),
        ];
        all.extend(statements(world, self.dialect(), &Self::TYPES));
        self.each(&all);
    }

    fn run(&mut self, sql: &str) -> Result<Rows, String> {
        let answer = self
            .runtime
            .block_on(self.connection.query::<mysql_async::Row, _>(sql));
        let rows = answer.map_err(|error| error.to_string())?;
        let text = |value: mysql_async::Value| match value {
            mysql_async::Value::NULL => None,
            mysql_async::Value::Bytes(bytes) => {
                Some(String::from_utf8(bytes).expect("the text protocol"))
            }
            other => panic!("not of the text protocol: {other:?}"),
        };
        let rows = rows.into_iter().map(mysql_async::Row::unwrap);
        Ok(rows
            .map(|row| row.into_iter().map(text).collect())
            .collect())
    }
}

/// In a child process, with a database in memory per world.
pub(crate) struct DuckDb {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl DuckDb {
    const TYPES: Types = Types {
        integer: "BIGINT",
        decimal: "DECIMAL(12, 2)",
        real: "DOUBLE",
        text: "VARCHAR",
        flag: "BOOLEAN",
        date: "DATE",
        timestamp: "TIMESTAMP",
        zoned: "TIMESTAMPTZ",
    };

    pub(crate) fn new(python: &str) -> Self {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/services/duckdb_rows.py");
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

    fn is_2_0(&mut self) -> bool {
        self.ask(&json!({ "load": [] }));
        let answer = self.ask(&json!({ "sql": "SELECT version()" }));
        answer.to_string().contains("v2.0.")
    }

    pub(crate) fn ask(&mut self, request: &Value) -> Value {
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
    fn dialect(&self) -> Dialect {
        Dialect::DuckDb
    }

    fn load(&mut self, world: &World) {
        let mut all = vec!["SET TimeZone = 'UTC'".to_owned()];
        if self.is_2_0() {
            all.push(
                "SET disabled_optimizers = 'common_subplan,compressed_materialization,statistics_propagation'"
                    .to_owned(),
            );
        }
        all.extend(statements(world, self.dialect(), &Self::TYPES));
        let answer = self.ask(&json!({ "load": all }));
        assert_eq!(answer, json!({ "ok": true }));
    }

    fn run(&mut self, sql: &str) -> Result<Rows, String> {
        // The engine formats its own values.
        let sql = format!("SELECT COLUMNS(*)::VARCHAR FROM ({sql})");
        let answer = self.ask(&json!({ "sql": sql }));
        if let Some(error) = answer.get("error") {
            return Err(error.to_string());
        }
        let rows = answer.get("rows").and_then(Value::as_array);
        let rows = rows.into_iter().flatten().filter_map(Value::as_array);
        Ok(rows.map(|row| texts(row)).collect())
    }
}

fn compare_with_duckdb(release: ServiceName) {
    let Service::Available(python) = service(release) else {
        return;
    };
    let mut engine = DuckDb::new(&python);
    let result = super::worlds(super::seeds(super::cases() / SHARE), &mut engine);
    super::bridges::check(super::cases() / SHARE / 4, &mut engine);
    super::judge(&result, super::cases() / SHARE);
}

/// Numbers 1 to 9 of the contract on DuckDB.
#[test]
fn duckdb_agrees_with_brute_force() {
    compare_with_duckdb(ServiceName::Python);
}

/// DuckDB 2.0 answers some joins wrong unless three optimizers are off, as in sessions.
#[test]
fn the_newest_duckdb_agrees_with_brute_force() {
    compare_with_duckdb(ServiceName::PythonNewest);
}

/// Numbers 1 to 9 of the contract on PostgreSQL.
#[test]
fn postgres_agrees_with_brute_force() {
    let Service::Available(url) = service(ServiceName::Postgres) else {
        return;
    };
    let mut engine = Postgres::new(&url);
    let result = super::worlds(super::seeds(super::cases() / SHARE), &mut engine);
    super::bridges::check(super::cases() / SHARE / 4, &mut engine);
    engine.drop_database();
    super::judge(&result, super::cases() / SHARE);
}

/// Numbers 1 to 9 of the contract on MariaDB.
#[test]
fn mariadb_agrees_with_brute_force() {
    let Service::Available(url) = service(ServiceName::MariaDb) else {
        return;
    };
    let mut engine = MariaDb::new(&url);
    let result = super::worlds(super::seeds(super::cases() / SHARE), &mut engine);
    super::bridges::check(super::cases() / SHARE / 4, &mut engine);
    engine.drop_database();
    super::judge(&result, super::cases() / SHARE);
}
