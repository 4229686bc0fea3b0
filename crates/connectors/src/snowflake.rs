//! Snowflake over its SQL API.
//!
//! Each request runs one statement in a separate session with time and row caps. Statements start
//! asynchronously, so that their handle is known for cancellation.

mod account;
mod api;
mod catalog;
mod cell;
mod error;
mod login;
mod role;
mod statement;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_read_only_sql::ReadOnlySql;
use ktx_sql::Dialect;
use ktx_warehouse::{
    Caps, ConnectionCheck, Connector, ErrorKind, QueryEnd, QueryResult, RowSink, SchemaReport,
    SchemaSnapshot, Scope, WarehouseError,
};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::history;
use crate::limits::{self, Meter, bounded};
use crate::settings::ConnectionSettings;
use crate::statement::require_dialect;
use api::SnowflakeApi;
use statement::RunningStatement;

/// A suspended warehouse must resume first.
const CHECK_TIME: Duration = Duration::from_mins(1);

/// Extra wait for the server's own timeout error.
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
    let statements = settings.count("maxConnections")?.unwrap_or(4);
    Ok(Arc::new(Snowflake {
        api: Arc::new(SnowflakeApi::read(settings)?),
        places: Semaphore::new(statements),
    }))
}

#[derive(Debug)]
pub(crate) struct Snowflake {
    api: Arc<SnowflakeApi>,
    /// One permit per concurrent statement.
    places: Semaphore,
}

impl Snowflake {
    /// Does not rely on the static gate.
    async fn run(
        &self,
        sql: &str,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        let deadline = Instant::now() + caps.timeout;
        let place = async {
            self.places
                .acquire()
                .await
                .map_err(|_| WarehouseError::new(ErrorKind::Other, "the connection is closed"))
        };
        let place = bounded(place, deadline, cancel).await?;
        let mut statement = None;
        let mut meter = Meter::new(caps, sink);
        let work = async {
            let started = RunningStatement::start(&self.api, sql, caps).await?;
            statement.insert(started).read(&mut meter).await
        };
        let result = bounded(work, deadline + GRACE, cancel).await;
        if let Some(statement) = statement {
            statement.finish().await;
        }
        drop(place);
        match result {
            Ok(()) => Ok(meter.end()),
            Err(error) if error.kind == ErrorKind::Timeout => Err(limits::timed_out(caps.timeout)),
            Err(error) => Err(error),
        }
    }

    async fn rows(
        &self,
        sql: &str,
        cancel: &CancellationToken,
    ) -> Result<QueryResult, WarehouseError> {
        let mut result = QueryResult::default();
        self.run(sql, &CATALOG, &mut result, cancel).await?;
        Ok(result)
    }
}

#[async_trait]
impl Connector for Snowflake {
    fn dialect(&self) -> Dialect {
        Dialect::Snowflake
    }

    fn timezone(&self) -> Option<&str> {
        Some(self.api.timezone())
    }

    fn query_history(&self, days: u32) -> Option<String> {
        Some(history::snowflake(days))
    }

    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        let deadline = Instant::now() + CHECK_TIME;
        bounded(role::check(self, cancel), deadline, cancel).await
    }

    async fn check_schemas(
        &self,
        names: &[String],
        cancel: &CancellationToken,
    ) -> Result<SchemaReport, WarehouseError> {
        let deadline = Instant::now() + CHECK_TIME;
        bounded(
            catalog::check_schemas(self, names, cancel),
            deadline,
            cancel,
        )
        .await
    }

    async fn introspect(
        &self,
        scope: &Scope,
        cancel: &CancellationToken,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        catalog::read(self, scope, cancel).await
    }

    async fn query(
        &self,
        sql: &ReadOnlySql,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        require_dialect(sql, &[Dialect::Snowflake])?;
        self.run(sql.as_str(), caps, sink, cancel).await
    }
}

#[cfg(test)]
mod tests;
