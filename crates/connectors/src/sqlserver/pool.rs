//! Idle sessions up to the connection's limit.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ktx_secrets::Secret;
use ktx_warehouse::{ErrorKind, WarehouseError};
use tiberius::error::Error;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt as _};

use super::channel::{ChannelError, LoginChannel};
use super::error::{self, ConnectionPhase};
use super::session::SqlServerSession;
use crate::settings::LoginTarget;
use crate::tls::NO_TLS_HINT;

const CONNECT_TIME: Duration = Duration::from_secs(15);

const PING_TIME: Duration = Duration::from_secs(5);

/// Maximum redirects; Azure uses one.
const DETOURS: usize = 2;

pub(super) type Conn = Client<Compat<LoginChannel>>;

pub(super) struct PoolState {
    pub(super) target: LoginTarget,
    idle: Mutex<Vec<Conn>>,
}

impl PoolState {
    pub(super) fn keep(&self, conn: Conn) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(conn);
    }

    fn take_idle(&self) -> Option<Conn> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }
}

pub(super) struct SqlServerPool {
    pool: Arc<PoolState>,
    permits: Arc<Semaphore>,
}

impl std::fmt::Debug for SqlServerPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions")
            .field("target", &self.pool.target)
            .finish_non_exhaustive()
    }
}

impl SqlServerPool {
    pub(super) fn new(target: LoginTarget) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(target.sessions)),
            pool: Arc::new(PoolState {
                target,
                idle: Mutex::default(),
            }),
        }
    }

    pub(super) async fn open(&self) -> Result<SqlServerSession, WarehouseError> {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(|_| WarehouseError::new(ErrorKind::Other, "the connection is closed"))?;
        while let Some(mut conn) = self.pool.take_idle() {
            if answers(&mut conn).await {
                return Ok(SqlServerSession::new(conn, permit, &self.pool));
            }
        }
        let connecting = connect(&self.pool.target);
        let Ok(conn) = tokio::time::timeout(CONNECT_TIME, connecting).await else {
            let why = format!("no answer within {} s", CONNECT_TIME.as_secs());
            return Err(error::unreachable(&self.pool.target, &why));
        };
        let conn = conn?;
        Ok(SqlServerSession::new(conn, permit, &self.pool))
    }
}

async fn answers(conn: &mut Conn) -> bool {
    let asked = async {
        let stream = conn.simple_query("SELECT 1").await?;
        stream.into_results().await
    };
    matches!(tokio::time::timeout(PING_TIME, asked).await, Ok(Ok(_)))
}

async fn connect(target: &LoginTarget) -> Result<Conn, WarehouseError> {
    let (mut host, mut port) = (target.host.clone(), target.port);
    for _ in 0..=DETOURS {
        match login(target, &host, port).await? {
            Ok(conn) => return Ok(conn),
            Err(Error::Routing {
                host: other,
                port: other_port,
            }) => (host, port) = (other, other_port),
            Err(failed) => return Err(error::map(&failed, target, ConnectionPhase::Login)),
        }
    }
    Err(error::unreachable(
        target,
        "the server keeps redirecting to another address",
    ))
}

async fn login(
    target: &LoginTarget,
    host: &str,
    port: u16,
) -> Result<Result<Conn, Error>, WarehouseError> {
    let unreachable = |error: &std::io::Error| error::unreachable(target, &error.to_string());
    let tcp = TcpStream::connect((host, port))
        .await
        .map_err(|error| unreachable(&error))?;
    tcp.set_nodelay(true).map_err(|error| unreachable(&error))?;
    let address = target.address();
    let tls_error =
        |text: String| WarehouseError::new(ErrorKind::Tls, target.redactor.redact(&text));
    let channel =
        LoginChannel::open(tcp, host, &target.tls)
            .await
            .map_err(|failure| match failure {
                ChannelError::Network(error) => unreachable(&error),
                ChannelError::Tls(why) => {
                    tls_error(format!("no encrypted channel to {address}: {why}"))
                        .hint(HANDSHAKE_HINT)
                }
                ChannelError::NoTls => {
                    tls_error(format!("the server at {address} offers no TLS")).hint(NO_TLS_HINT)
                }
                ChannelError::TlsNeeded => tls_error(format!(
                    "the server at {address} requires an encrypted channel"
                ))
                .hint("remove `ssl` and `sslmode`"),
            })?;
    Ok(Client::connect(config(target, host), channel.compat()).await)
}

const HANDSHAKE_HINT: &str = "give the server's certificate authority in `sslrootcert`, or set \
     `trustServerCertificate: true` to encrypt without checking the certificate";

fn config(target: &LoginTarget, host: &str) -> Config {
    let mut config = Config::new();
    config.host(host);
    config.port(target.port);
    if let Some(database) = &target.database {
        config.database(database);
    }
    let password = target.password.as_ref().map_or("", Secret::expose);
    config.authentication(AuthMethod::sql_server(&target.user, password));
    config.application_name("ktx");
    config.readonly(true);
    config.encryption(EncryptionLevel::NotSupported);
    config.lossy_utf16_decoding(true);
    config
}
