//! ClickHouse over HTTP.
//!
//! Every request has `readonly=1`, so the server refuses writes, DDL and functions that reach other
//! systems. The server cancels a query when the connection closes.

mod catalog;
mod cell;
mod error;
mod http;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_read_only_sql::ReadOnlySql;
use ktx_sql::Dialect;
use ktx_warehouse::{
    Caps, ConnectionCheck, Connector, ErrorKind, QueryEnd, QueryResult, RoleCheck, RowSink,
    SchemaReport, SchemaSnapshot, Scope, WarehouseError,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::history;
use crate::limits::{self, Meter, bounded};
use crate::settings::{ConnectionSettings, LoginTarget, ServerKind};
use crate::statement::require_dialect;
use http::HttpServer;

const CLICKHOUSE: ServerKind = ServerKind {
    name: "ClickHouse",
    schemes: &["http", "https", "clickhouse"],
    port: 8123,
    tls_port: 8443,
    user: Some("default"),
};

const CHECK_TIME: Duration = Duration::from_secs(30);

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
    let target = LoginTarget::read(settings, CLICKHOUSE)?;
    if target.is_socket() {
        return Err(settings.wrong("names a socket; ClickHouse is reached over HTTP"));
    }
    Ok(Arc::new(ClickHouse {
        server: HttpServer::new(target),
    }))
}

#[derive(Debug)]
pub(crate) struct ClickHouse {
    server: HttpServer,
}

impl ClickHouse {
    /// Does not rely on the static gate.
    async fn run(
        &self,
        sql: &str,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        let deadline = Instant::now() + caps.timeout;
        let mut meter = Meter::new(caps, sink);
        let work = self.server.stream(sql, caps, &mut meter);
        match bounded(work, deadline + GRACE, cancel).await {
            Ok(()) => Ok(meter.end()),
            Err(error) if error.kind == ErrorKind::Timeout && Instant::now() >= deadline => {
                Err(limits::timed_out(caps.timeout))
            }
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
impl Connector for ClickHouse {
    fn dialect(&self) -> Dialect {
        Dialect::ClickHouse
    }

    fn timezone(&self) -> Option<&str> {
        Some(self.server.timezone())
    }

    fn query_history(&self, days: u32) -> Option<String> {
        Some(history::clickhouse(days))
    }

    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        let caps = Caps {
            timeout: CHECK_TIME,
            ..CATALOG
        };
        let mut version = QueryResult::default();
        let begin = Instant::now();
        self.run("SELECT version()", &caps, &mut version, cancel)
            .await?;
        let latency = begin.elapsed();
        let mut grants = QueryResult::default();
        let role = match self.run("SHOW GRANTS", &caps, &mut grants, cancel).await {
            Ok(_) => catalog::judge(&catalog::texts(&grants)),
            Err(error) => RoleCheck::Unknown {
                reason: error.message,
            },
        };
        let version = catalog::texts(&version).pop().unwrap_or_default();
        Ok(ConnectionCheck {
            server: format!("ClickHouse {version}"),
            latency,
            role,
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
        let mut scope = scope.clone();
        if scope.schemas.is_empty() {
            scope.schemas.push(self.server.database().to_owned());
        }
        catalog::read(self, &scope, cancel).await
    }

    async fn query(
        &self,
        sql: &ReadOnlySql,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        require_dialect(sql, &[Dialect::ClickHouse])?;
        self.run(sql.as_str(), caps, sink, cancel).await
    }
}

#[cfg(test)]
mod tests;
