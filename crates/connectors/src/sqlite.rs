//! SQLite files, opened read-only.
//!
//! Sessions are reused unless the file was replaced. Work checks deadline and cancellation every
//! thousand virtual machine steps.

mod catalog;
mod error;
mod math;
mod pool;
mod query;
mod session;
mod types;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_read_only_sql::ReadOnlySql;
use ktx_sql::Dialect;
use ktx_warehouse::{
    Caps, ConnectionCheck, Connector, ErrorKind, QueryEnd, RoleCheck, RowSink, SchemaSnapshot,
    Scope, WarehouseError,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::file::{self, FileKind};
use crate::limits::{Meter, RowDemand};
use crate::settings::ConnectionSettings;
use crate::statement::require_dialect;
use crate::stop::StopSignal;
use pool::Pool;
use query::{QueryEvent, QueryRequest};

pub(crate) const FILE: FileKind = FileKind {
    name: "SQLite",
    schemes: &["sqlite3:", "sqlite:"],
    example: "data/warehouse.db",
};

const ROWS_IN_FLIGHT: usize = 256;

const CHECK_TIME: Duration = Duration::from_secs(30);

pub(crate) fn open(
    settings: &ConnectionSettings<'_>,
) -> Result<Arc<dyn Connector>, WarehouseError> {
    Ok(Arc::new(Sqlite::at(file::locate(settings, &FILE)?)))
}

#[derive(Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    pool: Arc<Pool>,
}

impl Sqlite {
    fn at(path: PathBuf) -> Self {
        Self {
            path,
            pool: Arc::default(),
        }
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
        // Dropping this future also stops the thread.
        let guard = stop.token().drop_guard();
        let request = QueryRequest {
            path: self.path.clone(),
            sql: sql.to_owned(),
            cell_bytes: caps.cell_bytes,
            stop,
        };
        let (sender, mut receiver) = mpsc::channel(ROWS_IN_FLIGHT);
        let pool = Arc::clone(&self.pool);
        let thread = tokio::task::spawn_blocking(move || query::run(&request, &pool, &sender));
        let mut meter = Meter::new(caps, sink);
        while let Some(event) = receiver.recv().await {
            match event {
                QueryEvent::Header(columns) => meter.header(&columns),
                QueryEvent::Row(cells) => {
                    if meter.row(cells)? == RowDemand::Enough {
                        drop(guard);
                        return Ok(meter.end());
                    }
                }
            }
        }
        thread.await.map_err(|error| lost(&error))??;
        Ok(meter.end())
    }

    async fn on_catalog<T: Send + 'static>(
        &self,
        deadline: Option<Instant>,
        cancel: &CancellationToken,
        work: impl FnOnce(&rusqlite::Connection) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<T, WarehouseError> {
        let stop = StopSignal::new(cancel, deadline, CHECK_TIME);
        let guard = stop.token().drop_guard();
        let path = self.path.clone();
        let thread = tokio::task::spawn_blocking(move || {
            let session = session::open(&path, session::StatementRights::Catalog, &stop)?;
            work(&session).map_err(|error| error::map(&error, &path, &stop))
        });
        let result = thread.await.map_err(|error| lost(&error))?;
        drop(guard);
        result
    }
}

fn lost(error: &tokio::task::JoinError) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Other,
        format!("the SQLite thread ended early: {error}"),
    )
}

#[async_trait]
impl Connector for Sqlite {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        let begin = Instant::now();
        // Only reading the schema detects files that are not databases.
        let version: String = self
            .on_catalog(Some(begin + CHECK_TIME), cancel, |session| {
                session.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
                session.query_row("SELECT sqlite_version()", [], |row| row.get(0))
            })
            .await?;
        Ok(ConnectionCheck {
            server: format!("SQLite {version}"),
            latency: begin.elapsed(),
            // The file can be writable, but SQLite has no logins and sessions are read-only.
            role: RoleCheck::ReadOnly,
        })
    }

    async fn introspect(
        &self,
        scope: &Scope,
        cancel: &CancellationToken,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        let scope = scope.clone();
        self.on_catalog(None, cancel, move |session| catalog::read(session, &scope))
            .await
    }

    async fn query(
        &self,
        sql: &ReadOnlySql,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        require_dialect(sql, &[Dialect::Sqlite])?;
        self.run(sql.as_str(), caps, sink, cancel).await
    }
}

#[cfg(test)]
mod tests;
