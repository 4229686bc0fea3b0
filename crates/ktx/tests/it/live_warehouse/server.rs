//! Administrator sessions in test databases.

use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use ktx_test_support::sandbox::Sandbox;
use ktx_test_support::services::{Service, ServiceName, service};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Opts};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, Config, NoTls};

use crate::support::{project, write};

#[derive(Debug)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
}

pub(crate) trait Server: Sized {
    const DRIVER: &'static str;
    /// About ten million bytes in `pages`.
    const MANY_ROWS: &'static str;
    /// A hundred thousand rows in `numbers`.
    const NUMBERS: &'static str;
    /// Counts sessions with the marked statement.
    const AT_WORK: &'static str;

    /// Seconds, by the server's clock.
    const AGE: &'static str;

    /// `None` without a server.
    fn new(name: &str) -> Option<Self>;

    fn port(&self) -> u16;

    fn login(&self) -> Login;

    /// As administrator, in one session.
    fn execute(&self, sql: &str);

    fn count(&self, sql: &str) -> i64;

    fn until(&self, sql: &str, expected: i64) {
        while self.count(sql) != expected {
            std::thread::yield_now();
        }
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
}

pub(crate) struct Postgres {
    runtime: Runtime,
    config: Config,
    session: Client,
}

impl Server for Postgres {
    const DRIVER: &'static str = "postgres";
    const MANY_ROWS: &'static str = "CREATE TABLE pages AS
        SELECT repeat('x', 1000) AS line FROM generate_series(1, 10000)";
    const NUMBERS: &'static str =
        "CREATE TABLE numbers AS SELECT g AS n FROM generate_series(1, 100000) g";
    const AGE: &'static str =
        "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - query_start)), 0)::bigint
        FROM pg_stat_activity
        WHERE state = 'active' AND query LIKE '%marked%' AND pid <> pg_backend_pid()
          AND datname = current_database() AND backend_type = 'client backend'";
    const AT_WORK: &'static str = "SELECT count(*) FROM pg_stat_activity
        WHERE state = 'active' AND query LIKE '%marked%' AND pid <> pg_backend_pid()
          AND datname = current_database() AND backend_type = 'client backend'";

    fn new(name: &str) -> Option<Self> {
        let Service::Available(url) = service(ServiceName::Postgres) else {
            return None;
        };
        let runtime = runtime();
        let mut config: Config = url.parse().expect("a good URL");
        let admin = runtime.block_on(connect(&config));
        for sql in ["DROP DATABASE IF EXISTS", "CREATE DATABASE"] {
            let sql = format!("{sql} {name}");
            runtime
                .block_on(admin.batch_execute(&sql))
                .expect("the statement runs");
        }
        config.dbname(name);
        let session = runtime.block_on(connect(&config));
        Some(Self {
            runtime,
            config,
            session,
        })
    }

    fn port(&self) -> u16 {
        self.config.get_ports().first().copied().unwrap_or(5432)
    }

    fn login(&self) -> Login {
        let password = self.config.get_password().unwrap_or_default();
        Login {
            user: self.config.get_user().unwrap_or_default().to_owned(),
            password: String::from_utf8_lossy(password).into_owned(),
        }
    }

    fn execute(&self, sql: &str) {
        let done = self.runtime.block_on(self.session.batch_execute(sql));
        done.expect("the statements run");
    }

    fn count(&self, sql: &str) -> i64 {
        let row = self.runtime.block_on(self.session.query_one(sql, &[]));
        row.expect("the statement runs").get(0)
    }
}

async fn connect(config: &Config) -> Client {
    let (client, session) = config.connect(NoTls).await.expect("the server answers");
    tokio::spawn(session);
    client
}

pub(crate) struct MariaDb {
    runtime: Runtime,
    options: Opts,
    session: RefCell<Conn>,
}

impl Server for MariaDb {
    const DRIVER: &'static str = "mysql";
    const MANY_ROWS: &'static str =
        "CREATE TABLE pages AS SELECT repeat('x', 1000) AS line FROM seq_1_to_10000";
    const NUMBERS: &'static str = "CREATE TABLE numbers AS SELECT seq AS n FROM seq_1_to_100000";
    const AGE: &'static str = "SELECT coalesce(max(time), 0) FROM information_schema.processlist
        WHERE info LIKE '%marked%' AND id <> connection_id() AND db = database()";
    const AT_WORK: &'static str = "SELECT count(*) FROM information_schema.processlist
        WHERE info LIKE '%marked%' AND id <> connection_id() AND db = database()";

    fn new(name: &str) -> Option<Self> {
        let Service::Available(url) = service(ServiceName::MariaDb) else {
            return None;
        };
        let runtime = runtime();
        let options = Opts::from_url(&url).expect("a good URL");
        let session = runtime.block_on(Conn::new(options.clone()));
        let server = Self {
            runtime,
            options,
            session: RefCell::new(session.expect("the server answers")),
        };
        server.execute(&format!(
            "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name} CHARSET utf8mb4; USE {name}"
        ));
        Some(server)
    }

    fn port(&self) -> u16 {
        self.options.tcp_port()
    }

    fn login(&self) -> Login {
        Login {
            user: self.options.user().unwrap_or_default().to_owned(),
            password: self.options.pass().unwrap_or_default().to_owned(),
        }
    }

    fn execute(&self, sql: &str) {
        let mut session = self.session.borrow_mut();
        let done = self.runtime.block_on(session.query_drop(sql));
        done.expect("the statements run");
    }

    fn count(&self, sql: &str) -> i64 {
        let mut session = self.session.borrow_mut();
        let count = self.runtime.block_on(session.query_first(sql));
        count.expect("the statement runs").expect("a row")
    }
}

pub(crate) struct ClickHouse {
    name: &'static str,
    address: String,
    login: Login,
}

impl ClickHouse {
    /// `None` without the engine.
    pub(crate) fn new(name: &'static str) -> Option<Self> {
        let Service::Available(url) = service(ServiceName::ClickHouse) else {
            return None;
        };
        let rest = url.strip_prefix("http://").expect("an HTTP address");
        let (login, place) = rest.split_once('@').expect("a login");
        let (user, password) = login.split_once(':').expect("a password");
        let (address, _) = place.split_once('/').expect("a database");
        let server = Self {
            name,
            address: address.to_owned(),
            login: Login {
                user: user.to_owned(),
                password: password.to_owned(),
            },
        };
        server.send("default", &format!("DROP DATABASE IF EXISTS {name}"));
        server.send("default", &format!("CREATE DATABASE {name}"));
        Some(server)
    }

    pub(crate) fn execute(&self, sql: &str) {
        self.send(self.name, sql);
    }

    fn send(&self, database: &str, sql: &str) {
        let mut stream = TcpStream::connect(&self.address).expect("the engine listens");
        let Login { user, password } = &self.login;
        let head = format!(
            "POST /?database={database} HTTP/1.0\r\nX-ClickHouse-User: {user}\r\nX-ClickHouse-Key: \
             {password}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            sql.len()
        );
        let sent = stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(sql.as_bytes()));
        sent.expect("the engine reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("a text");
        assert!(answer.starts_with("HTTP/1.1 200"), "{sql}: {answer}");
    }

    pub(crate) fn project(&self) -> Sandbox {
        let mut sandbox = project();
        sandbox.set("KTX_IT_PASSWORD", &self.login.password);
        let (host, port) = self.address.split_once(':').expect("a port");
        let config = format!(
            "connections:\n  warehouse:\n    driver: clickhouse\n    host: {host}\n    port: {port}\n    \
             database: {name}\n    databases: [{name}]\n    username: {user}\n    password: env:KTX_IT_PASSWORD\n",
            name = self.name,
            user = self.login.user
        );
        write(&sandbox, "ktx.yaml", &config);
        sandbox
    }
}
