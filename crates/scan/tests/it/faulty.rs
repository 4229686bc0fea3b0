//! A connector that fails, waits or bills on demand.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use ktx_read_only_sql::ReadOnlySql;
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{
    Caps, ConnectionCheck, Connector, ErrorKind, Estimate, QueryEnd, RowSink, SchemaSnapshot,
    Scope, Table, TableKind, WarehouseError,
};
use tokio_util::sync::CancellationToken;

use crate::sqlite::Sqlite;

#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    pub(crate) dead: bool,
    /// Answers before the connection breaks.
    pub(crate) breaks_after: Option<usize>,
    /// Failures; all if absent.
    pub(crate) breaks: Option<usize>,
    pub(crate) slow: Option<String>,
    pub(crate) price: Option<u64>,
    pub(crate) shows_empty_table: bool,
    pub(crate) shows_vanished: Option<String>,
    pub(crate) history: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Faulty {
    inner: Arc<Sqlite>,
    pub(crate) faults: Mutex<Faults>,
    asked: AtomicUsize,
    in_flight: AtomicUsize,
    pub(crate) most_in_flight: AtomicUsize,
}

impl Faulty {
    pub(crate) fn new(inner: Arc<Sqlite>, faults: Faults) -> Self {
        Self {
            inner,
            faults: Mutex::new(faults),
            asked: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
        }
    }

    fn faults(&self) -> Faults {
        self.faults.lock().expect("not poisoned").clone()
    }
}

fn bare_table(name: &str, like: Option<&Table>) -> Table {
    Table {
        table: TableRef::bare(name),
        kind: TableKind::Table,
        comment: None,
        estimated_rows: None,
        columns: like.map(|table| table.columns.clone()).unwrap_or_default(),
        primary_key: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

#[async_trait]
impl Connector for Faulty {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    fn query_history(&self, _: u32) -> Option<String> {
        self.faults().history
    }

    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        self.inner.check(cancel).await
    }

    async fn introspect(
        &self,
        scope: &Scope,
        cancel: &CancellationToken,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        let faults = self.faults();
        if faults.dead {
            return Err(WarehouseError::new(
                ErrorKind::Unreachable,
                "no server answers",
            ));
        }
        let mut snapshot = self.inner.introspect(scope, cancel).await?;
        if faults.shows_empty_table {
            snapshot.tables.push(bare_table("empty", None));
        }
        if let Some(name) = faults.shows_vanished {
            let table = bare_table(&name, snapshot.tables.first());
            snapshot.tables.push(table);
        }
        Ok(snapshot)
    }

    async fn query(
        &self,
        sql: &ReadOnlySql,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_in_flight.fetch_max(now, Ordering::SeqCst);
        tokio::task::yield_now().await;
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        let faults = self.faults();
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        if faults
            .slow
            .is_some_and(|table| sql.as_str().contains(&format!("\"{table}\"")))
        {
            return Err(WarehouseError::new(ErrorKind::Timeout, "out of time"));
        }
        let broken = faults.breaks_after.is_some_and(|after| {
            number >= after && faults.breaks.is_none_or(|breaks| number < after + breaks)
        });
        let end = self.inner.query(sql, caps, sink, cancel).await?;
        if broken {
            return Err(WarehouseError::new(
                ErrorKind::Dropped,
                "the connection broke",
            ));
        }
        Ok(end)
    }

    async fn estimate(
        &self,
        _: &ReadOnlySql,
        _: &CancellationToken,
    ) -> Result<Option<Estimate>, WarehouseError> {
        let price = self.faults().price;
        Ok(price.map(|bytes| Estimate { bytes, limit: None }))
    }
}
