//! The contract of every warehouse driver.

use std::time::Duration;

use async_trait::async_trait;
use ktx_read_only_sql::{FunctionName, ReadOnlySql};
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use tokio_util::sync::CancellationToken;

use crate::{Cell, ColumnHeader, ListedSchema, SchemaSnapshot, WarehouseError};

/// The part of a warehouse to read; an empty list means everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    pub schemas: Vec<String>,
    /// `catalog.db.name`, `db.name` or `name`.
    pub tables: Vec<String>,
}

impl Scope {
    pub fn admits(&self, table: &TableRef) -> bool {
        if self.tables.is_empty() {
            return true;
        }
        let full = table.to_string();
        self.tables
            .iter()
            .any(|entry| full == *entry || full.ends_with(&format!(".{entry}")))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// One more is fetched to detect truncation.
    pub rows: usize,
    pub bytes: usize,
    /// For text, binary and JSON; longer cells are cut and marked with `…`.
    pub cell_bytes: usize,
    pub timeout: Duration,
}

impl Default for Caps {
    /// 1 000 rows, 64 MiB, 1 MiB a cell, 60 s.
    fn default() -> Self {
        Self {
            rows: 1000,
            bytes: 64 << 20,
            cell_bytes: 1 << 20,
            timeout: Duration::from_mins(1),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    Stop,
}

pub trait RowSink: Send {
    /// Called once, before the first row.
    fn header(&mut self, columns: &[ColumnHeader]);
    fn row(&mut self, cells: Vec<Cell>) -> Flow;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryEnd {
    pub rows: usize,
    /// Exact, because an extra row was fetched.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleCheck {
    ReadOnly,
    /// The login could write, but the sessions of ktx cannot.
    CanWrite {
        because: String,
        /// Statements that create a read-only role.
        fix: Vec<String>,
    },
    Unknown {
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionCheck {
    pub server: String,
    pub latency: Duration,
    pub role: RoleCheck,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaCheck {
    pub name: String,
    pub state: SchemaState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    Found,
    NotFound,
    /// Does not exist, or the login has no right in it.
    NotShown {
        fix: Vec<String>,
    },
    /// Exists, but the login may not use it.
    NotGranted {
        fix: Vec<String>,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaReport {
    pub asked: Vec<SchemaCheck>,
    /// Candidates for a misspelled name.
    pub shown: Vec<String>,
}

impl SchemaReport {
    /// Names that match no visible schema get the state `otherwise`.
    pub fn from_listing(
        names: &[String],
        shown: Vec<String>,
        means: impl Fn(&str, &str) -> bool,
        otherwise: impl Fn(&str) -> SchemaState,
    ) -> Self {
        let check = |name: &String| SchemaCheck {
            name: name.clone(),
            state: if shown.iter().any(|known| means(name, known)) {
                SchemaState::Found
            } else {
                otherwise(name)
            },
        };
        Self {
            asked: names.iter().map(check).collect(),
            shown,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Read and billed.
    pub bytes: u64,
    /// The connection's cap per statement.
    pub limit: Option<u64>,
}

/// An open warehouse connection.
///
/// Drivers open sessions read-only. Every operation ends early when `cancel` fires, on the server
/// too if it can.
#[async_trait]
pub trait Connector: Send + Sync + std::fmt::Debug {
    /// A driver of two dialects returns its default until it has reached the server.
    fn dialect(&self) -> Dialect;

    /// Asks the server once if the driver does not determine it.
    async fn server_dialect(&self, _cancel: &CancellationToken) -> Result<Dialect, WarehouseError> {
        Ok(self.dialect())
    }

    /// One verdict per name, in the same order.
    async fn judge_functions(
        &self,
        names: &[FunctionName],
        _cancel: &CancellationToken,
    ) -> Result<Vec<FunctionVerdict>, WarehouseError> {
        Ok(vec![FunctionVerdict::NotRecorded; names.len()])
    }

    /// Sessions split moments into days by it; `None` if they have none.
    fn timezone(&self) -> Option<&str> {
        None
    }

    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError>;

    /// Empty for drivers without schemas.
    async fn check_schemas(
        &self,
        _names: &[String],
        _cancel: &CancellationToken,
    ) -> Result<SchemaReport, WarehouseError> {
        Ok(SchemaReport::default())
    }

    /// All schemas except the server's own, by name; empty if unknown.
    async fn list_schemas(
        &self,
        _scope: &Scope,
        _cancel: &CancellationToken,
    ) -> Result<Vec<ListedSchema>, WarehouseError> {
        Ok(Vec::new())
    }

    /// Uses a fixed number of catalog queries per schema. Missing grants become warnings.
    async fn introspect(
        &self,
        scope: &Scope,
        cancel: &CancellationToken,
    ) -> Result<SchemaSnapshot, WarehouseError>;

    async fn query(
        &self,
        sql: &ReadOnlySql,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError>;

    /// Returns a statement for the queries of the last `days` days, the most frequent first: text,
    /// runs and, if known, user and completeness. `None` without a history.
    fn query_history(&self, _days: u32) -> Option<String> {
        None
    }

    /// `None` unless the warehouse bills by bytes and can estimate without running.
    async fn estimate(
        &self,
        _sql: &ReadOnlySql,
        _cancel: &CancellationToken,
    ) -> Result<Option<Estimate>, WarehouseError> {
        Ok(None)
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryResult {
    pub columns: Vec<ColumnHeader>,
    pub rows: Vec<Vec<Cell>>,
    pub truncated: bool,
}

impl QueryResult {
    pub fn cut_cells(&self, caps: &Caps) -> usize {
        let is_cut = |cell: &&Cell| matches!(cell, Cell::Text(text) if text.len() >= caps.cell_bytes && text.ends_with('…'));
        self.rows.iter().flatten().filter(is_cut).count()
    }
}

impl RowSink for QueryResult {
    fn header(&mut self, columns: &[ColumnHeader]) {
        self.columns = columns.to_vec();
    }

    fn row(&mut self, cells: Vec<Cell>) -> Flow {
        self.rows.push(cells);
        Flow::Continue
    }
}

pub async fn collect(
    connector: &dyn Connector,
    sql: &ReadOnlySql,
    caps: &Caps,
    cancel: &CancellationToken,
) -> Result<QueryResult, WarehouseError> {
    let mut result = QueryResult::default();
    let end = connector.query(sql, caps, &mut result, cancel).await?;
    result.truncated = end.truncated;
    Ok(result)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionVerdict {
    /// Every function of that name only reads.
    Reads,
    /// One may write, or runs with its owner's rights.
    MayWrite {
        /// Such as `` `public.tax(numeric)` is VOLATILE ``.
        because: String,
    },
    /// Not visible to the login.
    NotFound,
    NotRecorded,
}
