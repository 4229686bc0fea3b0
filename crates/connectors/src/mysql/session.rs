//! One read-only transaction.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_sql::Dialect;
use ktx_warehouse::{Cell, ColumnHeader, ErrorKind, WarehouseError};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Error, Opts, Row};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::cell;
use super::error::{self, ConnectionPhase};
use super::pool::{PoolState, ServerInfo};
use crate::limits::{self, Meter, RowDemand, SentStatement, StopReply};
use crate::orders;
use crate::session::{ReadIsolation, ReadOnlySession};
use crate::settings::UTC;

/// Rows discarded to reach the end of a capped result; beyond that, the server stops the statement.
const DRAINED_ROWS: usize = 1000;

const END_TIME: Duration = Duration::from_secs(5);

const KILL_TIME: Duration = Duration::from_secs(5);

const NOTICE_TIME: Duration = Duration::from_secs(2);

/// A session in use by one operation.
///
/// While `busy`, the server can be working. Dropping a busy session stops it on the server.
pub(crate) struct MySqlSession {
    conn: Option<Conn>,
    busy: bool,
    /// Last statement, for the error if its answer is lost.
    waiting: Option<SentStatement>,
    options: Opts,
    server: ServerInfo,
    pool: Arc<PoolState>,
    _permit: OwnedSemaphorePermit,
    _at_work: TaskTrackerToken,
}

impl MySqlSession {
    pub(super) fn new(
        conn: Conn,
        permit: OwnedSemaphorePermit,
        options: Opts,
        server: ServerInfo,
        pool: &Arc<PoolState>,
    ) -> Self {
        Self {
            conn: Some(conn),
            busy: false,
            waiting: None,
            options,
            server,
            pool: Arc::clone(pool),
            _permit: permit,
            _at_work: orders::track_operation(),
        }
    }

    pub(super) fn pool(&self) -> &PoolState {
        &self.pool
    }

    pub(super) fn server(&self) -> &ServerInfo {
        &self.server
    }

    pub(super) async fn rows(&mut self, sql: String) -> Result<Vec<Row>, WarehouseError> {
        self.wait_for(&sql);
        let rows = self.conn()?.query(sql).await;
        self.settled(rows)
    }

    fn wait_for(&mut self, sql: &str) {
        self.waiting = Some(SentStatement::begin(sql));
        self.busy = true;
    }

    fn settled<T>(&mut self, outcome: Result<T, Error>) -> Result<T, WarehouseError> {
        self.busy = !matches!(&outcome, Ok(_) | Err(Error::Server(_)));
        outcome.map_err(|error| error::map(&error, &self.pool.target, ConnectionPhase::Running))
    }

    fn conn(&mut self) -> Result<&mut Conn, WarehouseError> {
        self.conn
            .as_mut()
            .ok_or_else(|| WarehouseError::new(ErrorKind::Other, "the session is closed"))
    }
}

#[async_trait]
impl ReadOnlySession for MySqlSession {
    async fn begin(
        &mut self,
        _isolation: ReadIsolation,
        limit: Duration,
    ) -> Result<(), WarehouseError> {
        let cap = match self.server.dialect {
            Dialect::MariaDb => format!("max_statement_time = {}", limit.as_secs_f64().max(0.001)),
            _ => format!(
                "max_execution_time = {}",
                limit.as_millis().clamp(1, 2_000_000_000)
            ),
        };
        let mode = Dialect::MySql.literal(&self.server.sql_mode);
        // Named zones require filled tables; this offset always works.
        let zone = match self.pool.target.timezone.as_str() {
            UTC => "+00:00",
            other => other,
        };
        let zone = Dialect::MySql.literal(zone);
        let text = format!(
            "SET SESSION sql_mode = {mode}, SESSION {cap}, SESSION time_zone = {zone}; SET SESSION TRANSACTION READ ONLY; \
             START TRANSACTION READ ONLY"
        );
        self.wait_for(&text);
        let done = self.conn()?.query_drop(text).await;
        self.settled(done)
    }

    async fn stream(&mut self, sql: &str, meter: &mut Meter<'_>) -> Result<(), WarehouseError> {
        self.wait_for(sql);
        let prepared = self.conn()?.prep(sql).await;
        let statement = self.settled(prepared)?;
        limits::without_parameters(usize::from(statement.num_params()))?;
        self.busy = true;
        let ended = read(self.conn()?, &statement, meter).await;
        match ended {
            Ok(ResultEnd::Whole) => self.busy = false,
            Ok(ResultEnd::Stopped) => {}
            Err(StreamError::Server(error)) => return self.settled(Err(error)),
            Err(StreamError::Limit(error)) => return Err(error),
        }
        Ok(())
    }

    async fn finish<T: Send>(
        mut self,
        result: Result<T, WarehouseError>,
    ) -> Result<T, WarehouseError> {
        if self.busy {
            let unanswered = self.waiting.take().map(SentStatement::give_up);
            if let Some(conn) = self.conn.take()
                && let Some(conn) = orders::send_and_wait(kill(conn, self.options.clone())).await
                && let Err(error) = result
            {
                let reply = match error.kind {
                    ErrorKind::Timeout => listen(conn).await,
                    _ => StopReply::Stopped,
                };
                let target = &self.pool.target;
                return Err(limits::interrupted(error, unanswered, reply, target));
            }
        } else if let Some(mut conn) = self.conn.take() {
            // Also releases named locks, which outlive the transaction.
            match tokio::time::timeout(END_TIME, conn.reset()).await {
                Ok(Ok(true)) => self.pool.keep(conn),
                failed => {
                    tracing::debug!(?failed, "a session could not be reset and is closed");
                }
            }
        }
        result
    }
}

impl Drop for MySqlSession {
    fn drop(&mut self) {
        if self.busy
            && let Some(conn) = self.conn.take()
        {
            orders::send(kill(conn, self.options.clone()));
        }
    }
}

enum ResultEnd {
    Whole,
    Stopped,
}

enum StreamError {
    Server(Error),
    Limit(WarehouseError),
}

async fn read(
    conn: &mut Conn,
    statement: &mysql_async::Statement,
    meter: &mut Meter<'_>,
) -> Result<ResultEnd, StreamError> {
    let mut result = conn
        .exec_iter(statement, ())
        .await
        .map_err(StreamError::Server)?;
    let columns = result.columns();
    let columns = columns.as_deref().unwrap_or_default();
    let header: Vec<ColumnHeader> = columns
        .iter()
        .map(|column| ColumnHeader {
            name: column.name_str().into_owned(),
            native_type: Some(cell::type_name(column)),
        })
        .collect();
    meter.header(&header);
    let mut spare = None;
    loop {
        let row = match result.next().await {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(ResultEnd::Whole),
            Err(error) if spare.is_some() && !matches!(error, Error::Server(_)) => {
                return Ok(ResultEnd::Stopped);
            }
            Err(error) => return Err(StreamError::Server(error)),
        };
        match spare.as_mut() {
            Some(0) => return Ok(ResultEnd::Stopped),
            Some(left) => *left -= 1,
            None => {
                let cells: Vec<Cell> = columns
                    .iter()
                    .zip(row.unwrap_raw())
                    .map(|(column, value)| {
                        value.map_or(Cell::Null, |value| cell::decode(column, value))
                    })
                    .collect();
                if meter.row(cells).map_err(StreamError::Limit)? == RowDemand::Enough {
                    spare = Some(DRAINED_ROWS);
                }
            }
        }
    }
}

/// Kills from another session. After a close, the server works until it sends; `KILL QUERY` has no
/// effect between two messages of a statement.
async fn kill(conn: Conn, options: Opts) -> Conn {
    let work = async {
        let mut other = Conn::new(options).await?;
        other
            .query_drop(format!("KILL CONNECTION {}", conn.id()))
            .await?;
        other.disconnect().await
    };
    match tokio::time::timeout(KILL_TIME, work).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the kill request failed"),
        Err(_) => tracing::debug!("the server did not obey the kill request in time"),
    }
    conn
}

async fn listen(mut conn: Conn) -> StopReply {
    match tokio::time::timeout(NOTICE_TIME, conn.ping()).await {
        Ok(_) => StopReply::Stopped,
        Err(_) => StopReply::Silent,
    }
}
