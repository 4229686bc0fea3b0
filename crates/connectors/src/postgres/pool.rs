//! The session pool of a login.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType,
};
use ktx_sql::Dialect;
use ktx_warehouse::{ErrorKind, WarehouseError};
use tokio::sync::OnceCell;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::encryption::Encryption;
use super::error;
use super::session::PostgresSession;
use crate::settings::LoginTarget;
use crate::tls::{self, Tls, TlsTrust};

const CONNECT_TIME: Duration = Duration::from_secs(10);

const LOGIN_TIME: Duration = Duration::from_secs(20);

/// Idle time before a keep-alive probe, and the wait for its reply.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(super) struct SessionSettings {
    pub(super) target: LoginTarget,
    pub(super) dialect: Dialect,
    pub(super) search_path: Vec<String>,
}

pub(super) struct PostgresPool {
    place: Arc<SessionSettings>,
    opened: OnceCell<(Pool, Encryption)>,
}

impl std::fmt::Debug for PostgresPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl PostgresPool {
    pub(super) fn new(target: LoginTarget, dialect: Dialect, schemas: Vec<String>) -> Self {
        let mut search_path = schemas;
        if !search_path.is_empty() && !search_path.iter().any(|schema| schema == "public") {
            search_path.push("public".to_owned());
        }
        Self {
            place: Arc::new(SessionSettings {
                target,
                dialect,
                search_path,
            }),
            opened: OnceCell::new(),
        }
    }

    pub(super) fn timezone(&self) -> &str {
        &self.place.target.timezone
    }

    pub(super) async fn open(&self) -> Result<PostgresSession, WarehouseError> {
        let (pool, tls) = self
            .opened
            .get_or_try_init(|| async { self.pool() })
            .await?;
        let client = pool.get().await.map_err(|error| self.refused(error))?;
        Ok(PostgresSession::new(
            client,
            tls.clone(),
            Arc::clone(&self.place),
        ))
    }

    fn pool(&self) -> Result<(Pool, Encryption), WarehouseError> {
        let target = &self.place.target;
        let mut config = Config::new();
        config
            .host(&target.host)
            .port(target.port)
            .user(&target.user)
            .application_name("ktx")
            .connect_timeout(CONNECT_TIME)
            .keepalives_idle(SIGN_OF_LIFE)
            .keepalives_interval(SIGN_OF_LIFE / 2)
            .keepalives_retries(2)
            .tcp_user_timeout(SIGN_OF_LIFE * 2);
        if let Some(database) = &target.database {
            config.dbname(database);
        }
        if let Some(password) = &target.password {
            config.password(password.expose());
        }
        let trust = match &target.tls {
            Tls::Off => {
                config.ssl_mode(SslMode::Disable);
                &TlsTrust::Anything
            }
            Tls::WhereOffered => {
                config.ssl_mode(SslMode::Prefer);
                &TlsTrust::Anything
            }
            Tls::Required(trust) => {
                config.ssl_mode(SslMode::Require);
                trust
            }
        };
        let tls = Encryption::new(tls::client_config(trust)?);
        let reset = match self.place.dialect {
            Dialect::Redshift => "ROLLBACK; RESET ALL",
            _ => "DISCARD ALL",
        };
        let manager = Manager::from_config(
            config,
            tls.clone(),
            ManagerConfig {
                recycling_method: RecyclingMethod::Custom(reset.to_owned()),
            },
        );
        let pool = Pool::builder(manager)
            .max_size(target.sessions)
            .runtime(Runtime::Tokio1)
            .create_timeout(Some(LOGIN_TIME))
            .recycle_timeout(Some(CONNECT_TIME))
            .build()
            .map_err(|error| WarehouseError::new(ErrorKind::Other, error.to_string()))?;
        Ok((pool, tls))
    }

    fn refused(&self, error: PoolError) -> WarehouseError {
        match error {
            PoolError::Backend(error) => error::map(&error, &self.place.target),
            PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => {
                error::unreachable(&self.place.target, "no answer")
            }
            other => WarehouseError::new(ErrorKind::Other, other.to_string()),
        }
    }
}
