//! The contract of every warehouse driver.

use std::time::Duration;

use async_trait::async_trait;
use ktx_read_only_sql::{FunctionName, ReadOnlySql};
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use tokio_util::sync::CancellationToken;

use crate::{Cell, ColumnHeader, ListedSchema, SchemaSnapshot, WarehouseError};

/// The part of a warehouse to read; an empty list means everything that the connection shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Schemas, datasets or databases.
    pub schemas: Vec<String>,
    /// Tables, as dotted names (`catalog.db.name`, `db.name` or `name`).
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

/// Limits of one statement; all always apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Maximum rows passed on; one more is fetched to detect truncation.
    pub rows: usize,
    /// Maximum bytes of all cells.
    pub bytes: usize,
    /// Maximum bytes of a text, binary or JSON cell; longer ones are cut and marked with `…`.
    pub cell_bytes: usize,
    /// Time from sending the statement to the last row.
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
    /// Stop reading and close the cursor.
    Stop,
}

/// Receives a result row by row.
pub trait RowSink: Send {
    /// Called once, before the first row.
    fn header(&mut self, columns: &[ColumnHeader]);
    /// One cell per column.
    fn row(&mut self, cells: Vec<Cell>) -> Flow;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryEnd {
    pub rows: usize,
    /// Whether there were more rows; exact, because an extra row was fetched.
    pub truncated: bool,
}

/// The rights of the login, as far as known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleCheck {
    ReadOnly,
    /// The login could write, but the sessions of ktx cannot.
    CanWrite {
        /// The right in question, such as `superuser` or `INSERT on public.orders`.
        because: String,
        /// Statements that create a read-only role, ready to run.
        fix: Vec<String>,
    },
    Unknown {
        /// Why, as shown to the user.
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionCheck {
    /// Name and version.
    pub server: String,
    /// Time of one round trip.
    pub latency: Duration,
    pub role: RoleCheck,
}

/// The state of one schema (dataset, database) that a connection names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaCheck {
    /// The schema as the connection names it.
    pub name: String,
    pub state: SchemaState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    Found,
    NotFound,
    /// The warehouse shows no such schema: it does not exist, or the login has no right in it.
    NotShown {
        /// Statements that grant the right.
        fix: Vec<String>,
    },
    /// It exists, but the login may not use it.
    NotGranted {
        /// Statements that grant the right.
        fix: Vec<String>,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaReport {
    /// One per named schema, in the same order.
    pub asked: Vec<SchemaCheck>,
    /// The schemas that the login can see, as candidates for a misspelled name.
    pub shown: Vec<String>,
}

impl SchemaReport {
    /// A name that matches (`means`) none of the visible schemas gets the state `otherwise`.
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
    /// Bytes that would be read and billed.
    pub bytes: u64,
    /// The connection's own cap per statement, if any.
    pub limit: Option<u64>,
}

/// An open warehouse connection.
///
/// Sessions cannot write: each driver opens them read-only. Every operation ends early when
/// `cancel` fires, and cancels on the server if the server can.
#[async_trait]
pub trait Connector: Send + Sync + std::fmt::Debug {
    /// The dialect of the warehouse. A driver of two dialects returns its default until it has
    /// reached the server.
    fn dialect(&self) -> Dialect;

    /// The dialect of the server; asks the server once if the driver does not determine it.
    async fn server_dialect(&self, _cancel: &CancellationToken) -> Result<Dialect, WarehouseError> {
        Ok(self.dialect())
    }

    /// The catalog's verdicts on functions, one per name in the same order.
    async fn judge_functions(
        &self,
        names: &[FunctionName],
        _cancel: &CancellationToken,
    ) -> Result<Vec<FunctionVerdict>, WarehouseError> {
        Ok(vec![FunctionVerdict::NotRecorded; names.len()])
    }

    /// The time zone in which sessions interpret moments and split them into days; `None` if they
    /// have none.
    fn timezone(&self) -> Option<&str> {
        None
    }

    /// Connects and reports the server and the rights of the login.
    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError>;

    /// Drivers without schemas return an empty report.
    async fn check_schemas(
        &self,
        _names: &[String],
        _cancel: &CancellationToken,
    ) -> Result<SchemaReport, WarehouseError> {
        Ok(SchemaReport::default())
    }

    /// All schemas except the server's own, sorted by name, with what a scan of this scope reads of
    /// each. Empty if the driver does not know.
    async fn list_schemas(
        &self,
        _scope: &Scope,
        _cancel: &CancellationToken,
    ) -> Result<Vec<ListedSchema>, WarehouseError> {
        Ok(Vec::new())
    }

    /// Reads the structure with a fixed number of catalog queries per schema. Missing grants become
    /// warnings in the snapshot.
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

    /// The statement that lists the queries of the last `days` days, the most frequent first: the
    /// text, the number of runs and, if known, the user and whether the history of these days is
    /// complete. `None` if the warehouse keeps no history.
    fn query_history(&self, _days: u32) -> Option<String> {
        None
    }

    /// `None` unless the warehouse bills by bytes and can estimate without running the statement.
    async fn estimate(
        &self,
        _sql: &ReadOnlySql,
        _cancel: &CancellationToken,
    ) -> Result<Option<Estimate>, WarehouseError> {
        Ok(None)
    }
}

/// A result in memory, bounded by its caps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryResult {
    pub columns: Vec<ColumnHeader>,
    /// One cell per column.
    pub rows: Vec<Vec<Cell>>,
    pub truncated: bool,
}

impl QueryResult {
    /// Cells cut because they exceeded the caps.
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

/// The catalog's verdict on all functions of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionVerdict {
    /// Every function that the name may mean only reads.
    Reads,
    /// One of them may write, or runs with the rights of its owner.
    MayWrite {
        /// Which and why, such as `` `public.tax(numeric)` is VOLATILE ``.
        because: String,
    },
    /// The catalog shows the login no such function.
    NotFound,
    /// The warehouse does not record what its functions do.
    NotRecorded,
}
