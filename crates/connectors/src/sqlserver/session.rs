//! One transaction, always rolled back.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use ktx_warehouse::{Cell, ColumnHeader, ErrorKind, WarehouseError};
use tiberius::error::Error;
use tiberius::{QueryItem, Row};
use tokio::sync::OwnedSemaphorePermit;

use super::cell;
use super::error::{self, ConnectionPhase};
use super::pool::{Conn, PoolState};
use crate::limits::{Meter, RowDemand};
use crate::session::{ReadIsolation, ReadOnlySession};
use crate::settings::LoginTarget;

const END_TIME: Duration = Duration::from_secs(5);

/// Lock timeout of ten seconds, deadlock victim, untruncated values.
const SETTINGS: &str = "SET NOCOUNT ON; SET LOCK_TIMEOUT 10000; SET DEADLOCK_PRIORITY LOW; \
     SET TEXTSIZE 2147483647; SET XACT_ABORT OFF; SET IMPLICIT_TRANSACTIONS OFF";

/// A session in use by one operation.
///
/// While `busy`, the server can be working, so ending the session needs an attention signal.
pub(crate) struct SqlServerSession {
    conn: Option<Conn>,
    busy: bool,
    pool: Arc<PoolState>,
    _permit: OwnedSemaphorePermit,
}

impl SqlServerSession {
    pub(super) fn new(conn: Conn, permit: OwnedSemaphorePermit, pool: &Arc<PoolState>) -> Self {
        Self {
            conn: Some(conn),
            busy: false,
            pool: Arc::clone(pool),
            _permit: permit,
        }
    }

    pub(super) fn target(&self) -> &LoginTarget {
        &self.pool.target
    }

    pub(super) async fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, WarehouseError> {
        self.busy = true;
        let rows = all(self.conn()?, sql).await;
        let rows = self.settled(rows)?;
        Ok(rows.iter().map(cell::row).collect())
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
impl ReadOnlySession for SqlServerSession {
    async fn begin(
        &mut self,
        _isolation: ReadIsolation,
        _limit: Duration,
    ) -> Result<(), WarehouseError> {
        self.busy = true;
        let begun = begin(self.conn()?).await;
        self.settled(begun)
    }

    async fn stream(&mut self, sql: &str, meter: &mut Meter<'_>) -> Result<(), WarehouseError> {
        self.busy = true;
        match read(self.conn()?, sql, meter).await {
            Ok(RowDemand::More) => self.busy = false,
            Ok(RowDemand::Enough) => {}
            Err(StreamError::Server(error)) => return self.settled(Err(error)),
            Err(StreamError::Limit(error)) => return Err(error),
        }
        Ok(())
    }

    async fn finish<T: Send>(
        mut self,
        result: Result<T, WarehouseError>,
    ) -> Result<T, WarehouseError> {
        let Some(mut conn) = self.conn.take() else {
            return result;
        };
        let end = async {
            if self.busy {
                conn.cancel_query().await?;
            }
            conn.rollback_transaction().await
        };
        let is_clean = match tokio::time::timeout(END_TIME, end).await {
            Ok(Ok(())) => true,
            failed => {
                tracing::debug!(?failed, "a session could not be rolled back and is closed");
                false
            }
        };
        // After a cancelled read, the position in the answer is unknown.
        if is_clean && result.is_ok() {
            self.pool.keep(conn);
        }
        result
    }
}

async fn begin(conn: &mut Conn) -> Result<(), Error> {
    conn.simple_query(SETTINGS).await?.into_results().await?;
    conn.begin_transaction().await
}

async fn all(conn: &mut Conn, sql: &str) -> Result<Vec<Row>, Error> {
    conn.query(sql, &[]).await?.into_first_result().await
}

enum StreamError {
    Server(Error),
    Limit(WarehouseError),
}

impl From<Error> for StreamError {
    fn from(error: Error) -> Self {
        Self::Server(error)
    }
}

async fn read(conn: &mut Conn, sql: &str, meter: &mut Meter<'_>) -> Result<RowDemand, StreamError> {
    let mut stream = conn.query(sql, &[]).await?;
    while let Some(item) = stream.try_next().await? {
        match item {
            // Ignores results after the first.
            QueryItem::Metadata(metadata) if metadata.result_index() == 0 => {
                let header: Vec<ColumnHeader> =
                    metadata.columns().iter().map(cell::header).collect();
                meter.header(&header);
            }
            QueryItem::Row(row) if row.result_index() == 0 => {
                let step = meter.row(cell::row(&row)).map_err(StreamError::Limit)?;
                if step == RowDemand::Enough {
                    return Ok(RowDemand::Enough);
                }
            }
            QueryItem::Metadata(_) | QueryItem::Row(_) => {}
        }
    }
    Ok(RowDemand::More)
}
