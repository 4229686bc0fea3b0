//! DuckDB files, read by the user's own DuckDB library.
//!
//! The library is loaded at run time through ADBC. Concurrent operations share one instance, locked
//! read-only and without access to other files or extensions. The file is closed between
//! operations, because an open file locks out writers.

mod catalog;
mod cell;
mod error;
mod instance;
mod kind;
mod library;
mod optimizers;
mod query;
mod text;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_read_only_sql::ReadOnlySql;
use ktx_sql::Dialect;
use ktx_warehouse::{
    Caps, Cell, ConnectionCheck, Connector, ErrorKind, QueryEnd, QueryResult, RoleCheck, RowSink,
    SchemaReport, SchemaSnapshot, Scope, WarehouseError,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::file::{self, FileKind};
use crate::limits::{Meter, RowDemand};
use crate::settings::ConnectionSettings;
use crate::statement::require_dialect;
use crate::stop::StopSignal;
use instance::{DuckDbEngine, Instance};
use query::{Interrupter, QueryEvent, QueryRequest};

pub(crate) const FILE: FileKind = FileKind {
    name: "DuckDB",
    schemes: &["duckdb:"],
    example: "data/warehouse.duckdb",
};

const ROWS_IN_FLIGHT: usize = 256;

const CHECK_TIME: Duration = Duration::from_secs(30);

const GRACE: Duration = Duration::from_secs(2);

const CATALOG: Caps = Caps {
    rows: 20_000_000,
    bytes: 1 << 30,
    cell_bytes: 64 << 20,
    timeout: Duration::from_mins(5),
};

pub(crate) fn open(
    settings: &ConnectionSettings<'_>,
) -> Result<Arc<dyn Connector>, WarehouseError> {
    Ok(Arc::new(DuckDb::new(settings)?))
}

#[derive(Debug)]
pub(crate) struct DuckDb {
    engine: Arc<DuckDbEngine>,
}

impl DuckDb {
    fn new(settings: &ConnectionSettings<'_>) -> Result<Self, WarehouseError> {
        let path = file::locate(settings, &FILE)?;
        let library = library::locate(settings)?;
        let memory = instance::memory(settings)?;
        Ok(Self {
            engine: Arc::new(DuckDbEngine::new(
                path,
                library,
                memory,
                settings.timezone()?,
            )),
        })
    }

    /// Does not rely on the static gate.
    async fn run(
        &self,
        sql: &str,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        let stop = StopSignal::new(cancel, Some(Instant::now() + caps.timeout), caps.timeout);
        // Dropping this future also interrupts the thread.
        let guard = stop.token().drop_guard();
        let request = QueryRequest {
            engine: Arc::clone(&self.engine),
            sql: sql.to_owned(),
            cell_bytes: caps.cell_bytes,
            stop: stop.clone(),
            interrupter: Interrupter::default(),
        };
        let (sender, mut receiver) = mpsc::channel(ROWS_IN_FLIGHT);
        let ended = CancellationToken::new();
        tokio::spawn(query::watch(
            stop.clone(),
            request.interrupter.clone(),
            ended.clone(),
        ));
        let end_guard = ended.drop_guard();
        let thread = tokio::task::spawn_blocking(move || {
            let outcome = query::run(&request, &sender);
            drop(end_guard);
            outcome
        });
        let mut meter = Meter::new(caps, sink);
        let work = async {
            let mut step = RowDemand::More;
            while step == RowDemand::More
                && let Some(event) = receiver.recv().await
            {
                match event {
                    QueryEvent::Header(columns) => meter.header(&columns),
                    QueryEvent::Row(cells) => step = meter.row(cells)?,
                }
            }
            if step == RowDemand::More {
                thread.await.map_err(|error| thread_ended_early(&error))??;
                return Ok(meter.end());
            }
            // DuckDB can still be computing; it releases the file when it ends.
            drop(receiver);
            drop(guard);
            if tokio::time::timeout(GRACE, thread).await.is_err() {
                tracing::debug!("an interrupted DuckDB statement still runs");
            }
            Ok(meter.end())
        };
        tokio::select! {
            biased;
            result = work => result,
            reason = overdue(&stop) => Err(reason),
        }
    }

    async fn rows(
        &self,
        sql: &str,
        caps: &Caps,
        cancel: &CancellationToken,
    ) -> Result<QueryResult, WarehouseError> {
        let mut result = QueryResult::default();
        self.run(sql, caps, &mut result, cancel).await?;
        Ok(result)
    }

    async fn open_instance(&self) -> Result<Arc<Instance>, WarehouseError> {
        let engine = Arc::clone(&self.engine);
        tokio::task::spawn_blocking(move || engine.instance())
            .await
            .map_err(|error| thread_ended_early(&error))?
    }
}

async fn overdue(stop: &StopSignal) -> WarehouseError {
    stop.due().await;
    tokio::time::sleep(GRACE).await;
    stop.reason()
}

fn thread_ended_early(error: &tokio::task::JoinError) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Other,
        format!("the DuckDB thread ended early: {error}"),
    )
}

#[async_trait]
impl Connector for DuckDb {
    fn dialect(&self) -> Dialect {
        Dialect::DuckDb
    }

    fn timezone(&self) -> Option<&str> {
        Some(&self.engine.timezone)
    }

    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        let caps = Caps {
            timeout: CHECK_TIME,
            ..CATALOG
        };
        let begin = Instant::now();
        let version = self.rows("SELECT version()", &caps, cancel).await?;
        let latency = begin.elapsed();
        let version = version
            .rows
            .first()
            .and_then(|row| row.first())
            .and_then(Cell::to_text)
            .unwrap_or_default();
        Ok(ConnectionCheck {
            server: format!("DuckDB {}", version.trim_start_matches('v')),
            latency,
            // The file can be writable, but DuckDB has no logins and sessions are read-only.
            role: RoleCheck::ReadOnly,
        })
    }

    async fn check_schemas(
        &self,
        names: &[String],
        cancel: &CancellationToken,
    ) -> Result<SchemaReport, WarehouseError> {
        catalog::check_schemas(self, names, cancel).await
    }

    async fn introspect(
        &self,
        scope: &Scope,
        cancel: &CancellationToken,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        if cancel.is_cancelled() {
            return Err(WarehouseError::cancelled());
        }
        let held = self.open_instance().await?;
        let snapshot = catalog::read(self, scope, cancel).await;
        drop(held);
        snapshot
    }

    async fn query(
        &self,
        sql: &ReadOnlySql,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        require_dialect(sql, &[Dialect::DuckDb])?;
        self.run(sql.as_str(), caps, sink, cancel).await
    }
}

#[cfg(test)]
mod tests;
