//! PostgreSQL, and Amazon Redshift over the same protocol.
//!
//! User statements use the extended protocol inside `BEGIN READ ONLY`, which is always rolled back;
//! only the connector's own fixed texts use the simple protocol. An interrupted session is
//! cancelled on the server and discarded, never reused.

mod catalog;
mod cell;
mod composite;
mod encryption;
mod error;
mod functions;
mod introspect;
mod listing;
mod number;
mod pool;
mod redshift;
mod role;
mod scalar;
mod session;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_warehouse::{
    Caps, ConnectionCheck, Connector, Dialect, ErrorKind, FunctionName, FunctionVerdict,
    ListedSchema, QueryEnd, ReadOnlySql, RowSink, SchemaReport, SchemaSnapshot, Scope,
    WarehouseError,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::history;
use crate::limits::{self, Meter, bounded};
use crate::settings::{ServerKind, Settings, Target};
use crate::statement::require_dialect;
use functions::RecentVerdicts;
use pool::Sessions;
use session::Isolation;

const POSTGRES: ServerKind = ServerKind {
    name: "PostgreSQL",
    schemes: &["postgres", "postgresql"],
    port: 5432,
    tls_port: 5432,
    user: None,
};

const REDSHIFT: ServerKind = ServerKind {
    name: "Amazon Redshift",
    schemes: &["redshift", "postgres", "postgresql"],
    port: 5439,
    tls_port: 5439,
    user: None,
};

const CHECK_TIME: Duration = Duration::from_secs(30);

const CATALOG_TIME: Duration = Duration::from_mins(5);

/// How long the client waits past the deadline for the server's own timeout error.
const GRACE: Duration = Duration::from_secs(2);

pub(crate) fn open(settings: &Settings<'_>) -> Result<Arc<dyn Connector>, WarehouseError> {
    Ok(Arc::new(Postgres::new(
        settings,
        POSTGRES,
        Dialect::Postgres,
    )?))
}

pub(crate) fn open_redshift(settings: &Settings<'_>) -> Result<Arc<dyn Connector>, WarehouseError> {
    Ok(Arc::new(Postgres::new(
        settings,
        REDSHIFT,
        Dialect::Redshift,
    )?))
}

#[derive(Debug)]
pub(crate) struct Postgres {
    dialect: Dialect,
    sessions: Sessions,
    functions: RecentVerdicts,
}

impl Postgres {
    pub(crate) fn new(
        settings: &Settings<'_>,
        server: ServerKind,
        dialect: Dialect,
    ) -> Result<Self, WarehouseError> {
        let mut target = Target::read(settings, server)?;
        if target.database.is_none() {
            // The server's own default: a database named like the login.
            target.database = Some(target.user.clone());
        }
        let schemas = settings.list(&["schemas", "schema"]);
        Ok(Self {
            dialect,
            sessions: Sessions::new(target, dialect, schemas),
            functions: RecentVerdicts::default(),
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
        let session = bounded(self.sessions.open(), deadline, cancel).await?;
        let mut meter = Meter::new(caps, sink);
        let work = async {
            session.begin(Isolation::Statement, caps.timeout).await?;
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
impl Connector for Postgres {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn timezone(&self) -> Option<&str> {
        Some(self.sessions.timezone())
    }

    async fn judge_functions(
        &self,
        names: &[FunctionName],
        cancel: &CancellationToken,
    ) -> Result<Vec<FunctionVerdict>, WarehouseError> {
        // Redshift records volatility, too, but does not enforce it.
        if self.dialect != Dialect::Postgres {
            return Ok(vec![FunctionVerdict::NotRecorded; names.len()]);
        }
        if let Some(verdicts) = self.functions.all(names) {
            return Ok(verdicts);
        }
        let deadline = Instant::now() + CHECK_TIME;
        let session = bounded(self.sessions.open(), deadline, cancel).await?;
        let work = async {
            session.begin(Isolation::Statement, CHECK_TIME).await?;
            functions::judge(&session, names).await
        };
        let result = bounded(work, deadline, cancel).await;
        let verdicts = session.finish(result).await?;
        self.functions.keep(names, &verdicts);
        Ok(verdicts)
    }

    fn query_history(&self, days: u32) -> Option<String> {
        // The view has no dates; it counts since its last reset.
        (self.dialect == Dialect::Postgres).then(|| history::postgres(days))
    }

    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        let deadline = Instant::now() + CHECK_TIME;
        let session = bounded(self.sessions.open(), deadline, cancel).await?;
        let work = async {
            session.begin(Isolation::Statement, CHECK_TIME).await?;
            role::check(&session, self.dialect).await
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
        let session = bounded(self.sessions.open(), deadline, cancel).await?;
        let work = async {
            session.begin(Isolation::Statement, CHECK_TIME).await?;
            match self.dialect {
                Dialect::Redshift => redshift::check_schemas(&session, names).await,
                _ => introspect::check_schemas(&session, names).await,
            }
        };
        let result = bounded(work, deadline, cancel).await;
        session.finish(result).await
    }

    async fn list_schemas(
        &self,
        scope: &Scope,
        cancel: &CancellationToken,
    ) -> Result<Vec<ListedSchema>, WarehouseError> {
        let deadline = Instant::now() + CHECK_TIME;
        let session = bounded(self.sessions.open(), deadline, cancel).await?;
        let work = async {
            session.begin(Isolation::Statement, CHECK_TIME).await?;
            match self.dialect {
                Dialect::Redshift => redshift::list(&session, scope).await,
                _ => introspect::list(&session, scope).await,
            }
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
        let session = bounded(self.sessions.open(), deadline, cancel).await?;
        let work = async {
            session.begin(Isolation::Snapshot, CATALOG_TIME).await?;
            match self.dialect {
                Dialect::Redshift => redshift::read(&session, scope).await,
                _ => introspect::read(&session, scope).await,
            }
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
        require_dialect(sql, &[self.dialect])?;
        self.run(sql.as_str(), caps, sink, cancel).await
    }
}

#[cfg(test)]
mod tests;
