//! Rewrites a client's statements to what it can read.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_diagnostics::Code;
use ktx_read_only_sql::{FunctionName, ReadOnlySql, Restriction, keeps_filters_apart};
use ktx_sql::Dialect;
use ktx_warehouse::{
    Caps, ConnectionCheck, Connector, ErrorKind, Estimate, FunctionVerdict, QueryEnd, RowSink,
    SchemaSnapshot, Scope, WarehouseError,
};
use tokio_util::sync::CancellationToken;

use super::StatementLimits;

#[derive(Debug)]
pub(crate) struct LimitedConnector {
    pub(crate) inner: Arc<dyn Connector>,
    pub(crate) restriction: Option<Arc<Restriction>>,
    pub(crate) limits: StatementLimits,
}

fn closed() -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Policy,
        "the structure of the warehouse is not open to a client with a policy",
    )
}

impl LimitedConnector {
    fn limited(&self, sql: &ReadOnlySql) -> Result<ReadOnlySql, WarehouseError> {
        let Some(restriction) = &self.restriction else {
            return Ok(sql.clone());
        };
        sql.restricted(restriction).map_err(|refusal| {
            let error = WarehouseError::new(ErrorKind::Policy, refusal.reason);
            match refusal.code {
                Code::TableNotAllowed => {
                    error.hint("`discover_data` finds the tables that are there")
                }
                _ => error.hint("write it with plain tables, or use `sl_query`"),
            }
        })
    }

    fn caps(&self, caps: &Caps) -> Caps {
        Caps {
            rows: self
                .limits
                .rows
                .map_or(caps.rows, |rows| rows.min(caps.rows)),
            timeout: self
                .limits
                .time
                .map_or(caps.timeout, |time| time.min(caps.timeout)),
            ..*caps
        }
    }

    async fn check_cost(
        &self,
        sql: &ReadOnlySql,
        cancel: &CancellationToken,
    ) -> Result<(), WarehouseError> {
        let Some(most) = self.limits.bytes else {
            return Ok(());
        };
        match self.inner.estimate(sql, cancel).await? {
            Some(estimate) if estimate.bytes > most => Err(WarehouseError::new(
                ErrorKind::Limit,
                format!(
                    "the statement would read {} bytes; this client may read {most}",
                    estimate.bytes
                ),
            )
            .hint("ask for fewer columns, or a shorter time")),
            _ => Ok(()),
        }
    }

    /// An error can contain a value of a hidden row if the warehouse evaluates a condition there.
    fn shown(&self, error: WarehouseError, sql: &ReadOnlySql) -> WarehouseError {
        let has_filter = self.restriction.as_ref().is_some_and(|restriction| {
            let mut tables = restriction.tables.iter();
            tables.any(|table| table.filter.is_some())
        });
        let tells = matches!(
            error.kind,
            ErrorKind::Sql | ErrorKind::Other | ErrorKind::Dropped
        );
        if has_filter && tells && !keeps_filters_apart(sql.dialect()) {
            return WarehouseError::new(error.kind, "the warehouse could not run the statement")
                .hint("what the warehouse says is withheld, because rows are filtered for this client");
        }
        error
    }
}

#[async_trait]
impl Connector for LimitedConnector {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    async fn server_dialect(&self, cancel: &CancellationToken) -> Result<Dialect, WarehouseError> {
        self.inner.server_dialect(cancel).await
    }

    /// The tables behind a user's function are unknown.
    async fn judge_functions(
        &self,
        names: &[FunctionName],
        cancel: &CancellationToken,
    ) -> Result<Vec<FunctionVerdict>, WarehouseError> {
        if self.restriction.is_some() {
            return Ok(vec![FunctionVerdict::NotRecorded; names.len()]);
        }
        self.inner.judge_functions(names, cancel).await
    }

    fn timezone(&self) -> Option<&str> {
        self.inner.timezone()
    }

    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        self.inner.check(cancel).await
    }

    async fn introspect(
        &self,
        _scope: &Scope,
        _cancel: &CancellationToken,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        Err(closed())
    }

    async fn query(
        &self,
        sql: &ReadOnlySql,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        let limited = self.limited(sql)?;
        self.check_cost(&limited, cancel).await?;
        let caps = self.caps(caps);
        let ended = self.inner.query(&limited, &caps, sink, cancel).await;
        ended.map_err(|error| self.shown(error, &limited))
    }

    async fn estimate(
        &self,
        sql: &ReadOnlySql,
        cancel: &CancellationToken,
    ) -> Result<Option<Estimate>, WarehouseError> {
        self.inner.estimate(&self.limited(sql)?, cancel).await
    }
}
