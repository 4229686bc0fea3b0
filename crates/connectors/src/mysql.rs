//! MySQL and MariaDB.
//!
//! User statements are prepared, so the server accepts only one, and run in `START TRANSACTION READ
//! ONLY`, which is always rolled back. An interrupted session is ended with `KILL CONNECTION`.

mod cell;
mod error;
mod introspect;
mod pool;
mod role;
mod session;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_sql::Dialect;
use ktx_warehouse::{
    ConnectionCheck, Connector, SchemaReport, SchemaSnapshot, Scope, WarehouseError,
};

use crate::session::{SessionConnector, SessionDriver};
use crate::settings::{ConnectionSettings, LoginTarget, ServerKind};
use pool::MySqlPool;
use session::MySqlSession;

const MYSQL: ServerKind = ServerKind {
    name: "MySQL",
    schemes: &["mysql", "mariadb"],
    port: 3306,
    tls_port: 3306,
    user: None,
};

const MARIADB: ServerKind = ServerKind {
    name: "MariaDB",
    schemes: &["mariadb", "mysql"],
    ..MYSQL
};

pub(crate) fn open(
    settings: &ConnectionSettings<'_>,
) -> Result<Arc<dyn Connector>, WarehouseError> {
    let driver = MySql::new(settings, MYSQL, Dialect::MySql)?;
    Ok(Arc::new(SessionConnector::new(driver)))
}

pub(crate) fn open_mariadb(
    settings: &ConnectionSettings<'_>,
) -> Result<Arc<dyn Connector>, WarehouseError> {
    let driver = MySql::new(settings, MARIADB, Dialect::MariaDb)?;
    Ok(Arc::new(SessionConnector::new(driver)))
}

#[derive(Debug)]
pub(crate) struct MySql {
    sessions: MySqlPool,
}

impl MySql {
    /// `named` is the driver's dialect; the server reports the actual one.
    pub(crate) fn new(
        settings: &ConnectionSettings<'_>,
        kind: ServerKind,
        named: Dialect,
    ) -> Result<Self, WarehouseError> {
        Ok(Self {
            sessions: MySqlPool::new(LoginTarget::read(settings, kind)?, named),
        })
    }
}

#[async_trait]
impl SessionDriver for MySql {
    type Session = MySqlSession;

    const GRACE: Duration = Duration::from_secs(2);

    fn dialect(&self) -> Dialect {
        self.sessions.dialect()
    }

    fn server_dialect(&self) -> Option<Dialect> {
        self.sessions.server_dialect()
    }

    fn accepted(&self) -> &[Dialect] {
        &[Dialect::MySql, Dialect::MariaDb]
    }

    fn timezone(&self) -> Option<&str> {
        Some(self.sessions.timezone())
    }

    async fn open(&self) -> Result<MySqlSession, WarehouseError> {
        self.sessions.open().await
    }

    async fn check(&self, session: &mut MySqlSession) -> Result<ConnectionCheck, WarehouseError> {
        role::check(session).await
    }

    async fn check_schemas(
        &self,
        session: &mut MySqlSession,
        names: &[String],
    ) -> Result<SchemaReport, WarehouseError> {
        introspect::check_schemas(session, names).await
    }

    async fn introspect(
        &self,
        session: &mut MySqlSession,
        scope: &Scope,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        introspect::read(session, scope).await
    }
}

#[cfg(test)]
mod tests;
