//! MySQL and MariaDB.
//!
//! User statements are prepared, so the server itself accepts only a single statement, and run
//! inside `START TRANSACTION READ ONLY`, which is always rolled back. An interrupted session is
//! ended on the server with `KILL CONNECTION` from a second session and discarded.

mod cell;
mod error;
mod introspect;
mod pool;
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

const CHECK_TIME: Duration = Duration::from_secs(30);

const CATALOG_TIME: Duration = Duration::from_mins(5);

/// How long the client waits past the deadline for the server's own timeout error.
const GRACE: Duration = Duration::from_secs(2);

pub(crate) fn open(settings: &Settings<'_>) -> Result<Arc<dyn Connector>, WarehouseError> {
    Ok(Arc::new(MySql::new(settings, MYSQL, Dialect::MySql)?))
}

pub(crate) fn open_mariadb(settings: &Settings<'_>) -> Result<Arc<dyn Connector>, WarehouseError> {
    Ok(Arc::new(MySql::new(settings, MARIADB, Dialect::MariaDb)?))
}

#[derive(Debug)]
pub(crate) struct MySql {
    sessions: Sessions,
}

impl MySql {
    /// `named` is the dialect of the driver; the server reports the actual one.
    pub(crate) fn new(
        settings: &Settings<'_>,
        kind: ServerKind,
        named: Dialect,
    ) -> Result<Self, WarehouseError> {
        Ok(Self {
            sessions: Sessions::new(Target::read(settings, kind)?, named),
        })
    }

    /// Runs a statement that need not have passed the static gate: the session alone must keep it
    /// from writing.
    async fn run(
        &self,
        sql: &str,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        let deadline = Instant::now() + caps.timeout;
        let mut session = bounded(self.sessions.open(), deadline, cancel).await?;
        let mut meter = Meter::new(caps, sink);
        let work = async {
            session.begin(caps.timeout).await?;
            session.stream(sql, &mut meter).await
        };
        let result = bounded(work, deadline + GRACE, cancel).await;
        match session.finish(result).await {
            Ok(()) => Ok(meter.end()),
            // Before the deadline, only someone at the server can have stopped it.
            Err(error) if error.kind == ErrorKind::Timeout && Instant::now() >= deadline => {
                Err(limits::timed_out(caps.timeout))
            }
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl Connector for MySql {
    /// Returns the driver's dialect until a session has asked the server.
    fn dialect(&self) -> Dialect {
        self.sessions.dialect()
    }

    async fn server_dialect(&self, cancel: &CancellationToken) -> Result<Dialect, WarehouseError> {
        if let Some(dialect) = self.sessions.server_dialect() {
            return Ok(dialect);
        }
        let deadline = Instant::now() + CHECK_TIME;
        let session = bounded(self.sessions.open(), deadline, cancel).await?;
        let dialect = session.server().dialect;
        session.finish(Ok(dialect)).await
    }

    fn timezone(&self) -> Option<&str> {
        Some(self.sessions.timezone())
    }

    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        let deadline = Instant::now() + CHECK_TIME;
        let mut session = bounded(self.sessions.open(), deadline, cancel).await?;
        let work = async {
            session.begin(CHECK_TIME).await?;
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
            session.begin(CHECK_TIME).await?;
            introspect::check_schemas(&mut session, names).await
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
            session.begin(CATALOG_TIME).await?;
            introspect::read(&mut session, scope).await
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
        require_dialect(sql, &[Dialect::MySql, Dialect::MariaDb])?;
        self.run(sql.as_str(), caps, sink, cancel).await
    }
}

#[cfg(test)]
mod tests;
