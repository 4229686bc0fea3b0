//! One connector for every warehouse that is read through sessions.
//!
//! A driver opens sessions and reads its own catalog. [`SessionConnector`] does the rest of each
//! operation the same way: it opens a session, starts a read-only transaction, stops the work at
//! the deadline or when the caller cancels, and ends the session.

use std::time::Duration;

use async_trait::async_trait;
use ktx_read_only_sql::{FunctionName, ReadOnlySql};
use ktx_sql::Dialect;
use ktx_warehouse::{
    Caps, ConnectionCheck, Connector, ErrorKind, FunctionVerdict, ListedSchema, QueryEnd, RowSink,
    SchemaReport, SchemaSnapshot, Scope, WarehouseError,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::limits::{self, Meter, bounded};
use crate::statement::require_dialect;

const CHECK_TIME: Duration = Duration::from_secs(30);

const CATALOG_TIME: Duration = Duration::from_mins(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadIsolation {
    Statement,
    /// All see the same moment, if the server can do that for the catalog.
    Snapshot,
}

/// A session checked out for one operation. Dropped before [`Self::finish`], it stops its work on
/// the server.
#[async_trait]
pub(crate) trait ReadOnlySession: Send {
    /// Starts the transaction; `limit` is the server's own time cap for each statement.
    async fn begin(
        &mut self,
        isolation: ReadIsolation,
        limit: Duration,
    ) -> Result<(), WarehouseError>;

    async fn stream(&mut self, sql: &str, meter: &mut Meter<'_>) -> Result<(), WarehouseError>;

    /// Ends the transaction and keeps the session for reuse, or stops the server's work and closes
    /// it. Returns `result`, with more about an error if the session knows more.
    async fn finish<T: Send>(self, result: Result<T, WarehouseError>) -> Result<T, WarehouseError>;
}

/// What differs between warehouses that are read through sessions.
#[async_trait]
pub(crate) trait SessionDriver: Send + Sync + std::fmt::Debug {
    type Session: ReadOnlySession;

    /// How long the client waits past the deadline for the server's own timeout error.
    const GRACE: Duration;

    const LISTS_SCHEMAS: bool = false;

    /// Returns the dialect of the server, or the driver's own until a session has asked the server.
    fn dialect(&self) -> Dialect;

    fn server_dialect(&self) -> Option<Dialect> {
        Some(self.dialect())
    }

    /// Returns the dialects of the statements that the server runs, the driver's own first.
    fn accepted(&self) -> &[Dialect];

    fn timezone(&self) -> Option<&str> {
        None
    }

    fn query_history(&self, _days: u32) -> Option<String> {
        None
    }

    async fn open(&self) -> Result<Self::Session, WarehouseError>;

    async fn check(&self, session: &mut Self::Session) -> Result<ConnectionCheck, WarehouseError>;

    async fn check_schemas(
        &self,
        session: &mut Self::Session,
        names: &[String],
    ) -> Result<SchemaReport, WarehouseError>;

    /// Called only if [`Self::LISTS_SCHEMAS`].
    async fn list_schemas(
        &self,
        _session: &mut Self::Session,
        _scope: &Scope,
    ) -> Result<Vec<ListedSchema>, WarehouseError> {
        Ok(Vec::new())
    }

    async fn introspect(
        &self,
        session: &mut Self::Session,
        scope: &Scope,
    ) -> Result<SchemaSnapshot, WarehouseError>;

    /// Those that need no session; `None` if the catalog must be asked.
    fn known_verdicts(&self, names: &[FunctionName]) -> Option<Vec<FunctionVerdict>> {
        Some(vec![FunctionVerdict::NotRecorded; names.len()])
    }

    /// Called only for names without known verdicts.
    async fn judge_functions(
        &self,
        _session: &mut Self::Session,
        names: &[FunctionName],
    ) -> Result<Vec<FunctionVerdict>, WarehouseError> {
        Ok(vec![FunctionVerdict::NotRecorded; names.len()])
    }
}

#[derive(Debug)]
pub(crate) struct SessionConnector<D> {
    driver: D,
}

impl<D: SessionDriver> SessionConnector<D> {
    pub(crate) fn new(driver: D) -> Self {
        Self { driver }
    }

    /// The statement need not have passed the static gate: the session alone must keep it from
    /// writing.
    pub(crate) async fn run(
        &self,
        sql: &str,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        let deadline = Instant::now() + caps.timeout;
        let mut session = bounded(self.driver.open(), deadline, cancel).await?;
        let mut meter = Meter::new(caps, sink);
        let work = async {
            session
                .begin(ReadIsolation::Statement, caps.timeout)
                .await?;
            session.stream(sql, &mut meter).await
        };
        let result = bounded(work, deadline + D::GRACE, cancel).await;
        match session.finish(result).await {
            Ok(()) => Ok(meter.end()),
            // Before the deadline, only the server can have stopped it: someone there, or a lock's
            // time limit.
            Err(error) if error.kind == ErrorKind::Timeout && Instant::now() >= deadline => {
                Err(limits::timed_out(caps.timeout))
            }
            Err(error) => Err(error),
        }
    }

    /// Runs `work` in a transaction of a new session, within `limit` altogether.
    async fn in_session<T: Send>(
        &self,
        isolation: ReadIsolation,
        limit: Duration,
        cancel: &CancellationToken,
        work: impl AsyncFnOnce(&mut D::Session) -> Result<T, WarehouseError>,
    ) -> Result<T, WarehouseError> {
        let deadline = Instant::now() + limit;
        let mut session = bounded(self.driver.open(), deadline, cancel).await?;
        let whole = async {
            session.begin(isolation, limit).await?;
            work(&mut session).await
        };
        let result = bounded(whole, deadline, cancel).await;
        session.finish(result).await
    }
}

#[async_trait]
impl<D: SessionDriver> Connector for SessionConnector<D> {
    fn dialect(&self) -> Dialect {
        self.driver.dialect()
    }

    async fn server_dialect(&self, cancel: &CancellationToken) -> Result<Dialect, WarehouseError> {
        if let Some(dialect) = self.driver.server_dialect() {
            return Ok(dialect);
        }
        let deadline = Instant::now() + CHECK_TIME;
        let session = bounded(self.driver.open(), deadline, cancel).await?;
        // Opening the session has asked the server.
        session.finish(Ok(self.driver.dialect())).await
    }

    async fn judge_functions(
        &self,
        names: &[FunctionName],
        cancel: &CancellationToken,
    ) -> Result<Vec<FunctionVerdict>, WarehouseError> {
        if let Some(verdicts) = self.driver.known_verdicts(names) {
            return Ok(verdicts);
        }
        let work =
            async |session: &mut D::Session| self.driver.judge_functions(session, names).await;
        self.in_session(ReadIsolation::Statement, CHECK_TIME, cancel, work)
            .await
    }

    fn timezone(&self) -> Option<&str> {
        self.driver.timezone()
    }

    fn query_history(&self, days: u32) -> Option<String> {
        self.driver.query_history(days)
    }

    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        let work = async |session: &mut D::Session| self.driver.check(session).await;
        self.in_session(ReadIsolation::Statement, CHECK_TIME, cancel, work)
            .await
    }

    async fn check_schemas(
        &self,
        names: &[String],
        cancel: &CancellationToken,
    ) -> Result<SchemaReport, WarehouseError> {
        let work = async |session: &mut D::Session| self.driver.check_schemas(session, names).await;
        self.in_session(ReadIsolation::Statement, CHECK_TIME, cancel, work)
            .await
    }

    async fn list_schemas(
        &self,
        scope: &Scope,
        cancel: &CancellationToken,
    ) -> Result<Vec<ListedSchema>, WarehouseError> {
        if !D::LISTS_SCHEMAS {
            return Ok(Vec::new());
        }
        let work = async |session: &mut D::Session| self.driver.list_schemas(session, scope).await;
        self.in_session(ReadIsolation::Statement, CHECK_TIME, cancel, work)
            .await
    }

    async fn introspect(
        &self,
        scope: &Scope,
        cancel: &CancellationToken,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        let work = async |session: &mut D::Session| self.driver.introspect(session, scope).await;
        self.in_session(ReadIsolation::Snapshot, CATALOG_TIME, cancel, work)
            .await
    }

    async fn query(
        &self,
        sql: &ReadOnlySql,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        require_dialect(sql, self.driver.accepted())?;
        self.run(sql.as_str(), caps, sink, cancel).await
    }
}
