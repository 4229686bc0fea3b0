//! SQL Server and Azure SQL over TDS.
//!
//! Sessions declare that they only read (`ApplicationIntent=ReadOnly`), wait only briefly for
//! locks, and run user statements inside a transaction that is always rolled back. An interrupted
//! session is stopped with an attention signal and discarded.

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
use ktx_warehouse::{
    Caps, ConnectionCheck, Connector, Dialect, ErrorKind, QueryEnd, ReadOnlySql, RowSink,
    SchemaReport, SchemaSnapshot, Scope, WarehouseError,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::limits::{self, Meter, bounded};
use crate::settings::{ServerKind, Settings, Target};
use crate::statement::require_dialect;
use pool::Sessions;

const SQL_SERVER: ServerKind = ServerKind {
    name: "SQL Server",
    schemes: &["sqlserver", "mssql"],
    port: 1433,
    tls_port: 1433,
    user: None,
};

const CHECK_TIME: Duration = Duration::from_secs(30);

const CATALOG_TIME: Duration = Duration::from_mins(5);

pub(crate) fn open(settings: &Settings<'_>) -> Result<Arc<dyn Connector>, WarehouseError> {
    let target = Target::read(settings, SQL_SERVER)?;
    if target.is_socket() {
        return Err(settings.wrong("names a socket; SQL Server is reached over TCP"));
    }
    Ok(Arc::new(SqlServer {
        sessions: Sessions::new(target),
    }))
}

#[derive(Debug)]
pub(crate) struct SqlServer {
    sessions: Sessions,
}

#[async_trait]
impl Connector for SqlServer {
    fn dialect(&self) -> Dialect {
        Dialect::SqlServer
    }

    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        let deadline = Instant::now() + CHECK_TIME;
        let mut session = bounded(self.sessions.open(), deadline, cancel).await?;
        let work = async {
            session.begin().await?;
            role::check(&mut session).await
        };
        let result = bounded(work, deadline, cancel).await;
        session.finish(result).await
    }

    async fn check_schemas(
        &self,
        names: &[String],
        cancel: &CancellationToken,
    ) -> Result<SchemaReport, WarehouseError> {
        let deadline = Instant::now() + CHECK_TIME;
        let mut session = bounded(self.sessions.open(), deadline, cancel).await?;
        let work = async {
            session.begin().await?;
            catalog::check_schemas(&mut session, names).await
        };
        let result = bounded(work, deadline, cancel).await;
        session.finish(result).await
    }

    async fn introspect(
        &self,
        scope: &Scope,
        cancel: &CancellationToken,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        let deadline = Instant::now() + CATALOG_TIME;
        let mut session = bounded(self.sessions.open(), deadline, cancel).await?;
        let work = async {
            session.begin().await?;
            catalog::read(&mut session, scope).await
        };
        let result = bounded(work, deadline, cancel).await;
        session.finish(result).await
    }

    async fn query(
        &self,
        sql: &ReadOnlySql,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        require_dialect(sql, &[Dialect::SqlServer])?;
        let deadline = Instant::now() + caps.timeout;
        let mut session = bounded(self.sessions.open(), deadline, cancel).await?;
        let mut meter = Meter::new(caps, sink);
        let work = async {
            session.begin().await?;
            session.stream(sql.as_str(), &mut meter).await
        };
        let result = bounded(work, deadline, cancel).await;
        match session.finish(result).await {
            Ok(()) => Ok(meter.end()),
            // Before the deadline, only the lock timeout ends a statement like this.
            Err(error) if error.kind == ErrorKind::Timeout && Instant::now() >= deadline => {
                Err(limits::timed_out(caps.timeout))
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
