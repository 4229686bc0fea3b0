//! SQL Server and Azure SQL over TDS.
//!
//! Sessions declare `ApplicationIntent=ReadOnly` and always roll back. An interrupted session gets
//! an attention signal and is discarded.

mod catalog;
mod cell;
mod channel;
mod error;
mod pool;
mod prelogin;
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
use pool::SqlServerPool;
use session::SqlServerSession;

const SQL_SERVER: ServerKind = ServerKind {
    name: "SQL Server",
    schemes: &["sqlserver", "mssql"],
    port: 1433,
    tls_port: 1433,
    user: None,
};

pub(crate) fn open(
    settings: &ConnectionSettings<'_>,
) -> Result<Arc<dyn Connector>, WarehouseError> {
    let target = LoginTarget::read(settings, SQL_SERVER)?;
    if target.is_socket() {
        return Err(settings.wrong("names a socket; SQL Server is reached over TCP"));
    }
    Ok(Arc::new(SessionConnector::new(SqlServer {
        sessions: SqlServerPool::new(target),
    })))
}

#[derive(Debug)]
pub(crate) struct SqlServer {
    sessions: SqlServerPool,
}

#[async_trait]
impl SessionDriver for SqlServer {
    type Session = SqlServerSession;

    /// The server has no time limit.
    const GRACE: Duration = Duration::ZERO;

    fn dialect(&self) -> Dialect {
        Dialect::SqlServer
    }

    fn accepted(&self) -> &[Dialect] {
        &[Dialect::SqlServer]
    }

    async fn open(&self) -> Result<SqlServerSession, WarehouseError> {
        self.sessions.open().await
    }

    async fn check(
        &self,
        session: &mut SqlServerSession,
    ) -> Result<ConnectionCheck, WarehouseError> {
        role::check(session).await
    }

    async fn check_schemas(
        &self,
        session: &mut SqlServerSession,
        names: &[String],
    ) -> Result<SchemaReport, WarehouseError> {
        catalog::check_schemas(session, names).await
    }

    async fn introspect(
        &self,
        session: &mut SqlServerSession,
        scope: &Scope,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        catalog::read(session, scope).await
    }
}

#[cfg(test)]
mod tests;
