//! The session pool of a login.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ktx_sql::Dialect;
use ktx_warehouse::{ErrorKind, WarehouseError};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, DriverError, Error, Opts, OptsBuilder, SslOpts};
use rustls::RootCertStore;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;

use super::error::{self, ConnectionPhase};
use super::session::MySqlSession;
use crate::settings::LoginTarget;
use crate::tls::{self, Tls, TlsTrust};

const LOGIN_TIME: Duration = Duration::from_secs(20);

const RESET_TIME: Duration = Duration::from_secs(5);

/// Idle time before a keep-alive probe.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

const GREETING_TIME: Duration = Duration::from_secs(3);

const IDLE_TIME: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub(super) struct ServerInfo {
    pub(super) dialect: Dialect,
    /// Such as `8.4.2` or `10.11.6-MariaDB`.
    pub(super) version: String,
    /// `sql_mode` without the two words that change parsing.
    pub(super) sql_mode: String,
}

pub(super) struct PoolState {
    pub(super) target: LoginTarget,
    pub(super) permits: Arc<Semaphore>,
    server: OnceLock<ServerInfo>,
    idle: Mutex<Vec<(Conn, Instant)>>,
}

impl PoolState {
    pub(super) fn keep(&self, conn: Conn) {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((conn, Instant::now()));
    }

    fn waiting(&self) -> Option<Conn> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(_, since)| since.elapsed() < IDLE_TIME);
        idle.pop().map(|(conn, _)| conn)
    }
}

pub(super) struct MySqlPool {
    pool: Arc<PoolState>,
    named: Dialect,
    options: OnceCell<Opts>,
}

/// Manual, because the driver's options would show the password.
impl std::fmt::Debug for MySqlPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions")
            .field("target", &self.pool.target)
            .finish_non_exhaustive()
    }
}

impl MySqlPool {
    pub(super) fn new(target: LoginTarget, named: Dialect) -> Self {
        let permits = Arc::new(Semaphore::new(target.sessions));
        let pool = PoolState {
            target,
            permits,
            server: OnceLock::new(),
            idle: Mutex::new(Vec::new()),
        };
        Self {
            pool: Arc::new(pool),
            named,
            options: OnceCell::new(),
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.server_dialect().unwrap_or(self.named)
    }

    pub(super) fn server_dialect(&self) -> Option<Dialect> {
        self.pool.server.get().map(|server| server.dialect)
    }

    pub(super) fn timezone(&self) -> &str {
        &self.pool.target.timezone
    }

    pub(super) async fn open(&self) -> Result<MySqlSession, WarehouseError> {
        let permit = Arc::clone(&self.pool.permits)
            .acquire_owned()
            .await
            .map_err(|error| WarehouseError::new(ErrorKind::Other, error.to_string()))?;
        if let Some(mut conn) = self.pool.waiting()
            && let Ok(Ok(true)) = tokio::time::timeout(RESET_TIME, conn.reset()).await
            && let (Some(options), Some(server)) = (self.options.get(), self.pool.server.get())
        {
            return Ok(MySqlSession::new(
                conn,
                permit,
                options.clone(),
                server.clone(),
                &self.pool,
            ));
        }
        let (mut conn, options) = match self.options.get() {
            Some(options) => (self.connect(options).await?, options.clone()),
            None => self.first().await?,
        };
        let server = match self.pool.server.get() {
            Some(server) => server.clone(),
            None => self.ask(&mut conn).await?,
        };
        Ok(MySqlSession::new(conn, permit, options, server, &self.pool))
    }

    /// Opens the first session and keeps its options. For this machine, falls back from TLS to
    /// plain text if the server has no TLS.
    async fn first(&self) -> Result<(Conn, Opts), WarehouseError> {
        let target = &self.pool.target;
        let (protected, plain) = match &target.tls {
            Tls::Off => (None, true),
            Tls::WhereOffered => (Some(&TlsTrust::Anything), true),
            Tls::Required(trust) => (Some(trust), false),
        };
        if let Some(trust) = protected {
            let options = options(target, Some(protection(trust)?));
            match login(&options, target).await? {
                Ok(conn) => return Ok((conn, self.remember(options))),
                Err(Error::Driver(DriverError::NoClientSslFlagFromServer)) if plain => {}
                Err(error) => return Err(error::map(&error, target, ConnectionPhase::Login)),
            }
        }
        let options = options(target, None);
        let conn = self.connect(&options).await?;
        Ok((conn, self.remember(options)))
    }

    fn remember(&self, options: Opts) -> Opts {
        if self.options.set(options.clone()).is_err() {
            tracing::trace!("the connection options are already known");
        }
        options
    }

    async fn connect(&self, options: &Opts) -> Result<Conn, WarehouseError> {
        let target = &self.pool.target;
        login(options, target)
            .await?
            .map_err(|error| error::map(&error, target, ConnectionPhase::Login))
    }

    async fn ask(&self, conn: &mut Conn) -> Result<ServerInfo, WarehouseError> {
        let asked: Result<Option<(String, String)>, Error> = conn
            .query_first("SELECT VERSION(), CONVERT(@@sql_mode USING utf8mb4)")
            .await;
        let (version, mode) = asked
            .map_err(|error| error::map(&error, &self.pool.target, ConnectionPhase::Running))?
            .unwrap_or_default();
        let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
        let server = ServerInfo {
            dialect: if is_mariadb {
                Dialect::MariaDb
            } else {
                Dialect::MySql
            },
            version,
            sql_mode: readable_mode(&mode),
        };
        Ok(self.pool.server.get_or_init(|| server).clone())
    }
}

/// The static gate reads `"x"` as text and a backslash as an escape, so the session must do so,
/// too.
pub(super) fn readable_mode(mode: &str) -> String {
    let words: Vec<&str> = mode
        .split(',')
        .filter(|word| !matches!(*word, "" | "ANSI_QUOTES" | "NO_BACKSLASH_ESCAPES" | "ANSI"))
        .collect();
    words.join(",")
}

async fn login(
    options: &Opts,
    target: &LoginTarget,
) -> Result<Result<Conn, Error>, WarehouseError> {
    let login = tokio::time::timeout(LOGIN_TIME, Conn::new(options.clone()));
    tokio::select! {
        biased;
        login = login => login.map_err(|_| error::unreachable(target, "no answer")),
        () = wait_without_greeting(target) => Err(error::silent(target)),
    }
}

/// Completes if the server sends no greeting, like a server of another kind. Used only for slow
/// logins.
async fn wait_without_greeting(target: &LoginTarget) {
    tokio::time::sleep(GREETING_TIME).await;
    let greeting = async {
        if !target.is_socket()
            && let Ok(mut stream) = TcpStream::connect((target.host.as_str(), target.port)).await
        {
            let mut byte = [0; 1];
            drop(stream.read(&mut byte).await);
        }
    };
    if tokio::time::timeout(GREETING_TIME, greeting).await.is_ok() {
        std::future::pending::<()>().await;
    }
}

fn options(target: &LoginTarget, protection: Option<SslOpts>) -> Opts {
    let socket = target.is_socket().then(|| target.host.clone());
    let host = if target.is_socket() {
        "localhost"
    } else {
        target.host.as_str()
    };
    let builder = OptsBuilder::default()
        .ip_or_hostname(host)
        .tcp_port(target.port)
        .socket(socket)
        .user(Some(target.user.clone()))
        .pass(
            target
                .password
                .as_ref()
                .map(|password| password.expose().to_owned()),
        )
        .db_name(target.database.clone())
        .prefer_socket(false)
        .stmt_cache_size(0)
        .tcp_nodelay(true)
        .tcp_keepalive(Some(SIGN_OF_LIFE))
        .ssl_opts(protection);
    Opts::from(builder)
}

fn protection(trust: &TlsTrust) -> Result<SslOpts, WarehouseError> {
    Ok(match trust {
        TlsTrust::Anything => SslOpts::default().with_danger_accept_invalid_certs(true),
        TlsTrust::Authorities(text) => {
            tls::client_config(trust)?;
            SslOpts::default()
                .with_root_certs(vec![text.clone().into_bytes().into()])
                .with_disable_built_in_roots(true)
        }
        TlsTrust::System => {
            let usable: Vec<_> = ktx_http::tls::system_certificates()
                .into_iter()
                .filter(|certificate| RootCertStore::empty().add(certificate.clone()).is_ok())
                .map(|certificate| certificate.as_ref().to_vec().into())
                .collect();
            let found = !usable.is_empty();
            SslOpts::default()
                .with_root_certs(usable)
                .with_disable_built_in_roots(found)
        }
    })
}
