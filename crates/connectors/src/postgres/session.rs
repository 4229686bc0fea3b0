//! One read-only transaction.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Client, ClientWrapper, Object};
use futures_util::TryStreamExt as _;
use ktx_sql::Dialect;
use ktx_warehouse::{Cell, ColumnHeader, ErrorKind, WarehouseError};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::cell::PgCell;
use super::encryption::Encryption;
use super::error;
use super::pool::SessionSettings;
use crate::limits::{self, Meter, RowDemand, SentStatement, StopReply};
use crate::orders;
use crate::session::{ReadIsolation, ReadOnlySession};

/// Rows discarded to reach the end of a capped result; beyond that, the server cancels the
/// statement.
const DRAINED_ROWS: usize = 1000;

const END_TIME: Duration = Duration::from_secs(5);

const CANCEL_TIME: Duration = Duration::from_secs(5);

const CANCEL_STEP: Duration = Duration::from_millis(200);

/// The server checks every two seconds for a killed client, which sends no cancel request.
/// Unavailable before version 14 and on Windows.
const WATCH_THE_CLIENT: &str = " SELECT pg_catalog.set_config('client_connection_check_interval', '2s', true) \
     WHERE pg_catalog.current_setting('client_connection_check_interval', true) IS NOT NULL \
     AND pg_catalog.version() !~* 'windows|mingw|msvc|visual c';";

/// A session in use by one operation.
///
/// While `busy`, the server can be working. Dropping a busy session cancels it on the server.
pub(crate) struct PostgresSession {
    client: Option<Client>,
    tls: Encryption,
    place: Arc<SessionSettings>,
    busy: AtomicBool,
    /// Last statement, for the error if its answer is lost.
    waiting: Mutex<Option<SentStatement>>,
    _at_work: TaskTrackerToken,
}

impl PostgresSession {
    pub(super) fn new(client: Client, tls: Encryption, place: Arc<SessionSettings>) -> Self {
        Self {
            client: Some(client),
            tls,
            place,
            busy: AtomicBool::new(false),
            waiting: Mutex::new(None),
            _at_work: orders::track_operation(),
        }
    }

    pub(super) fn place(&self) -> &SessionSettings {
        &self.place
    }

    pub(super) async fn rows(
        &self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, WarehouseError> {
        let client = self.client()?;
        self.watched(sql, client.query(sql, parameters)).await
    }

    async fn watched<T>(
        &self,
        sql: &str,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, WarehouseError> {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(SentStatement::begin(sql));
        self.busy.store(true, Ordering::Release);
        let value = work.await.map_err(|error| self.failed(&error))?;
        self.busy.store(false, Ordering::Release);
        Ok(value)
    }

    /// A server error means that it has stopped; others leave that open.
    pub(super) fn failed(&self, error: &tokio_postgres::Error) -> WarehouseError {
        if error.as_db_error().is_some() {
            self.busy.store(false, Ordering::Release);
        }
        error::map(error, &self.place.target)
    }

    fn client(&self) -> Result<&Client, WarehouseError> {
        self.client
            .as_ref()
            .ok_or_else(|| WarehouseError::new(ErrorKind::Other, "the session is closed"))
    }

    fn detach(&mut self) -> Option<(ClientWrapper, Encryption)> {
        let client = self.client.take()?;
        Some((Object::take(client), self.tls.clone()))
    }
}

#[async_trait]
impl ReadOnlySession for PostgresSession {
    async fn begin(
        &mut self,
        isolation: ReadIsolation,
        limit: Duration,
    ) -> Result<(), WarehouseError> {
        let text = opening(&self.place, isolation, limit);
        let client = self.client()?;
        self.watched(&text, client.batch_execute(&text)).await
    }

    async fn stream(&mut self, sql: &str, meter: &mut Meter<'_>) -> Result<(), WarehouseError> {
        let client = self.client()?;
        let statement = self.watched(sql, client.prepare(sql)).await?;
        limits::without_parameters(statement.params().len())?;
        let header: Vec<ColumnHeader> = statement
            .columns()
            .iter()
            .map(|column| ColumnHeader {
                name: column.name().to_owned(),
                native_type: Some(column.type_().name().to_owned()),
            })
            .collect();
        meter.header(&header);
        self.busy.store(true, Ordering::Release);
        let nothing: [&(dyn ToSql + Sync); 0] = [];
        let rows = client
            .query_raw(&statement, nothing)
            .await
            .map_err(|error| self.failed(&error))?;
        let mut rows = pin!(rows);
        let mut spare = None;
        loop {
            let row = match rows.try_next().await {
                Ok(Some(row)) => row,
                Ok(None) => break,
                // Only the session is lost, and it is still marked busy.
                Err(error) if spare.is_some() && error.as_db_error().is_none() => return Ok(()),
                Err(error) => return Err(self.failed(&error)),
            };
            match spare.as_mut() {
                Some(0) => return Ok(()),
                Some(left) => *left -= 1,
                None => {
                    let cells = (0..header.len())
                        .map(|index| row.try_get::<_, PgCell>(index).map(|cell| cell.0))
                        .collect::<Result<Vec<Cell>, _>>()
                        .map_err(|error| self.failed(&error))?;
                    if meter.row(cells)? == RowDemand::Enough {
                        spare = Some(DRAINED_ROWS);
                    }
                }
            }
        }
        self.busy.store(false, Ordering::Release);
        Ok(())
    }

    async fn finish<T: Send>(
        mut self,
        result: Result<T, WarehouseError>,
    ) -> Result<T, WarehouseError> {
        if self.busy.load(Ordering::Acquire) {
            let waiting = self
                .waiting
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner);
            let unanswered = waiting.take().map(SentStatement::give_up);
            if let Some((client, tls)) = self.detach()
                && let Some(reply) = orders::send_and_wait(cancel(client, tls)).await
            {
                let target = &self.place.target;
                return result
                    .map_err(|error| limits::interrupted(error, unanswered, reply, target));
            }
        } else if let Some(client) = self.client.take() {
            let end = match self.place.dialect {
                Dialect::Redshift => "ROLLBACK",
                _ => "ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()",
            };
            let ended = tokio::time::timeout(END_TIME, client.batch_execute(end)).await;
            if !matches!(ended, Ok(Ok(()))) {
                tracing::debug!(?ended, "a session could not be rolled back and is closed");
                drop(Object::take(client));
            }
        }
        result
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        if !self.busy.load(Ordering::Acquire) {
            return;
        }
        if let Some((client, tls)) = self.detach() {
            orders::send(cancel(client, tls));
        }
    }
}

/// Cancels and closes. The server ignores a cancel request between two messages of a statement, so
/// it is repeated until the session answers a later query.
async fn cancel(client: ClientWrapper, tls: Encryption) -> StopReply {
    let token = client.cancel_token();
    let work = async {
        let mut next_query = pin!(client.simple_query(""));
        loop {
            tokio::select! {
                biased;
                sent = token.cancel_query(tls.clone()) => if let Err(error) = sent {
                    tracing::debug!(%error, "the cancel request failed");
                },
                _ = &mut next_query => return,
            }
            if tokio::time::timeout(CANCEL_STEP, &mut next_query)
                .await
                .is_ok()
            {
                return;
            }
        }
    };
    if tokio::time::timeout(CANCEL_TIME, work).await.is_ok() {
        return StopReply::Stopped;
    }
    tracing::debug!("the server did not obey the cancel request in time");
    StopReply::Silent
}

/// PostgreSQL reads offsets as POSIX; ktx uses ISO 8601: `+09:00` is east of Greenwich.
fn zone(text: &str) -> String {
    match text.split_at_checked(1) {
        Some(("+", rest)) => format!("-{rest}"),
        Some(("-", rest)) => format!("+{rest}"),
        _ => text.to_owned(),
    }
}

/// `standard_conforming_strings` gives backslashes the meaning that the static gate assumes.
fn opening(place: &SessionSettings, isolation: ReadIsolation, limit: Duration) -> String {
    let mut text = match isolation {
        ReadIsolation::Statement => "BEGIN READ ONLY;".to_owned(),
        ReadIsolation::Snapshot if place.dialect == Dialect::Redshift => {
            "BEGIN READ ONLY;".to_owned()
        }
        ReadIsolation::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;".to_owned(),
    };
    // Zero means no limit; the server accepts at most 2^31 - 1.
    let millis = limit.as_millis().clamp(1, 2_000_000_000);
    let mut set = |name: &str, value: &str| {
        text.extend([" SET LOCAL ", name, " = ", value, ";"]);
    };
    set("statement_timeout", &millis.to_string());
    set(
        "timezone",
        &place.dialect.literal(&zone(&place.target.timezone)),
    );
    if place.dialect != Dialect::Redshift {
        set("lock_timeout", &millis.to_string());
        set(
            "idle_in_transaction_session_timeout",
            &(millis + 60_000).to_string(),
        );
        set("standard_conforming_strings", "on");
    }
    if !place.search_path.is_empty() {
        let path: Vec<String> = place
            .search_path
            .iter()
            .map(|schema| place.dialect.quote(schema))
            .collect();
        set("search_path", &path.join(", "));
    }
    if place.dialect != Dialect::Redshift {
        text.push_str(WATCH_THE_CLIENT);
    }
    text
}
