//! The connector of all warehouses with sessions.
//!
//! [`SessionConnector`] runs operations in read-only transactions and enforces deadline and
//! cancellation. Drivers provide sessions and catalogs.

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
    /// One consistent moment, if the server supports that for its catalog.
    Snapshot,
}

/// A session in use by one operation. Dropped before [`Self::finish`], it stops its work on the
/// server.
#[async_trait]
pub(crate) trait ReadOnlySession: Send {
    async fn begin(
        &mut self,
        isolation: ReadIsolation,
        limit: Duration,
    ) -> Result<(), WarehouseError>;

    async fn stream(&mut self, sql: &str, meter: &mut Meter<'_>) -> Result<(), WarehouseError>;

    /// Ends the transaction for reuse, or stops and closes the session. Returns `result`, possibly
    /// with more about an error.
    async fn finish<T: Send>(self, result: Result<T, WarehouseError>) -> Result<T, WarehouseError>;
}

/// What differs between warehouses with sessions.
#[async_trait]
pub(crate) trait SessionDriver: Send + Sync + std::fmt::Debug {
    type Session: ReadOnlySession;

    /// Extra wait for the server's own timeout error.
    const GRACE: Duration;

    const LISTS_SCHEMAS: bool = false;

    /// Returns the server's dialect, or the driver's until a session has asked.
    fn dialect(&self) -> Dialect;

    fn server_dialect(&self) -> Option<Dialect> {
        Some(self.dialect())
    }

    /// Returns the dialects that the server runs, the driver's own first.
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

    /// Requires [`Self::LISTS_SCHEMAS`].
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

    /// Verdicts that need no session; `None` if the catalog must decide.
    fn known_verdicts(&self, names: &[FunctionName]) -> Option<Vec<FunctionVerdict>> {
        Some(vec![FunctionVerdict::NotRecorded; names.len()])
    }

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

    /// Does not rely on the static gate.
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
            // An early timeout is a kill or a lock timeout of the server.
            Err(error) if error.kind == ErrorKind::Timeout && Instant::now() >= deadline => {
                Err(limits::timed_out(caps.timeout))
            }
            Err(error) => Err(error),
        }
    }

    /// Runs `work` in a transaction of a new session; `limit` covers everything.
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
