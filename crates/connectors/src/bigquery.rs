//! BigQuery over its REST API.
//!
//! A dry run must classify each user statement as a `SELECT` within the byte cap; the job has the
//! same cap, in case the estimate was too low.

mod api;
mod catalog;
mod cell;
mod credentials;
mod error;
mod job;
mod options;
mod role;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_read_only_sql::ReadOnlySql;
use ktx_sql::Dialect;
use ktx_warehouse::{
    Caps, ConnectionCheck, Connector, ErrorKind, Estimate, QueryEnd, QueryResult, RowSink,
    SchemaReport, SchemaSnapshot, Scope, WarehouseError,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::history;
use crate::limits::{self, Meter, bounded};
use crate::settings::ConnectionSettings;
use crate::statement::require_dialect;
use api::BigQueryApi;
use job::Job;

const CHECK_TIME: Duration = Duration::from_secs(30);

/// Extra wait for BigQuery's own timeout error.
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
    Ok(Arc::new(BigQuery {
        api: Arc::new(BigQueryApi::read(settings)?),
    }))
}

#[derive(Debug)]
pub(crate) struct BigQuery {
    api: Arc<BigQueryApi>,
}

impl BigQuery {
    async fn run(
        &self,
        sql: &str,
        caps: &Caps,
        deadline: Instant,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        let time = self.api.options().time(caps.timeout);
        let mut job = Job::new(&self.api)?;
        let mut meter = Meter::new(caps, sink);
        let work = async {
            job.start(sql, time).await?;
            job.read(caps, &mut meter).await
        };
        let result = bounded(work, deadline + GRACE, cancel).await;
        job.finish().await;
        match result {
            Ok(()) => Ok(meter.end()),
            Err(error) if error.kind == ErrorKind::Timeout => Err(limits::timed_out(time)),
            Err(error) => Err(error),
        }
    }

    async fn rows(
        &self,
        sql: &str,
        cancel: &CancellationToken,
    ) -> Result<QueryResult, WarehouseError> {
        let deadline = Instant::now() + CATALOG.timeout;
        let mut result = QueryResult::default();
        self.run(sql, &CATALOG, deadline, &mut result, cancel)
            .await?;
        Ok(result)
    }
}

#[async_trait]
impl Connector for BigQuery {
    fn dialect(&self) -> Dialect {
        Dialect::BigQuery
    }

    fn timezone(&self) -> Option<&str> {
        Some(&self.api.options().timezone)
    }

    fn query_history(&self, days: u32) -> Option<String> {
        // BigQuery keeps the job history per region and requires one.
        let location = self.api.options().location.as_deref()?;
        Some(history::bigquery(location, days))
    }

    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        let deadline = Instant::now() + CHECK_TIME;
        bounded(role::check(&self.api), deadline, cancel).await
    }

    async fn check_schemas(
        &self,
        names: &[String],
        cancel: &CancellationToken,
    ) -> Result<SchemaReport, WarehouseError> {
        let deadline = Instant::now() + CHECK_TIME;
        bounded(catalog::check_schemas(self, names), deadline, cancel).await
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
        require_dialect(sql, &[Dialect::BigQuery])?;
        let deadline = Instant::now() + caps.timeout;
        let plan = bounded(self.api.plan(sql.as_str()), deadline, cancel).await?;
        self.api.allow(&plan)?;
        self.run(sql.as_str(), caps, deadline, sink, cancel).await
    }

    async fn estimate(
        &self,
        sql: &ReadOnlySql,
        cancel: &CancellationToken,
    ) -> Result<Option<Estimate>, WarehouseError> {
        require_dialect(sql, &[Dialect::BigQuery])?;
        let deadline = Instant::now() + CHECK_TIME;
        let plan = bounded(self.api.plan(sql.as_str()), deadline, cancel).await?;
        Ok(Some(Estimate {
            bytes: plan.bytes,
            limit: Some(self.api.options().max_bytes),
        }))
    }
}

#[cfg(test)]
mod tests;
