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
    /// Whether the scope's table list contains a table.
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

/// Limits of one statement. All of them always apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Maximum rows passed on. One more is fetched to detect truncation.
    pub rows: usize,
    /// Maximum bytes of all cells.
    pub bytes: usize,
    /// Maximum bytes of one text, binary or JSON cell; longer ones are cut and marked with `…`.
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

/// Whether the receiver of rows wants more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    /// Stop reading and close the cursor.
    Stop,
}

/// Receives a result while it is read.
pub trait RowSink: Send {
    /// Called once, before the first row.
    fn header(&mut self, columns: &[ColumnHeader]);
    /// Called for each row; the row has one cell per column.
    fn row(&mut self, cells: Vec<Cell>) -> Flow;
}

/// How a statement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryEnd {
    /// Rows passed to the sink.
    pub rows: usize,
    /// Whether there were more rows. Exact, because one extra row was fetched.
    pub truncated: bool,
}

/// What is known about the rights of the login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleCheck {
    /// The login cannot write.
    ReadOnly,
    /// The login could write, but the sessions of ktx cannot.
    CanWrite {
        /// The right in question, such as `superuser` or `INSERT on public.orders`.
        because: String,
        /// Statements that create a read-only role, ready to run.
        fix: Vec<String>,
    },
    /// The rights could not be determined.
    Unknown {
        /// Why, as shown to the user.
        reason: String,
    },
}

/// The result of a connection test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionCheck {
    /// The server's own name and version.
    pub server: String,
    /// Time of one round trip.
    pub latency: Duration,
    pub role: RoleCheck,
}

/// The result of checking one schema (a dataset, a database) that a connection names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaCheck {
    /// The schema as the connection names it.
    pub name: String,
    pub state: SchemaState,
}

/// Whether a schema exists and can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    /// It exists, and the login may use it.
    Found,
    /// It does not exist.
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

/// The results of checking the schemas that a connection names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaReport {
    /// One result per named schema, in the same order.
    pub asked: Vec<SchemaCheck>,
    /// The schemas that the login can see, as candidates for a misspelled name.
    pub shown: Vec<String>,
}

impl SchemaReport {
    /// Builds the report from the visible schemas: a name that `means` none of them gets the state
    /// `otherwise`.
    pub fn by_what_is_shown(
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

/// The estimated cost of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes that would be read and billed.
    pub bytes: u64,
    /// The connection's cap of the bytes per statement, if it has one.
    pub limit: Option<u64>,
}

/// One open warehouse connection.
///
/// Sessions opened through this trait cannot write, because each driver opens them read-only. Every
/// operation ends early when `cancel` fires, and also cancels on the server if the server supports
/// it.
#[async_trait]
pub trait Connector: Send + Sync + std::fmt::Debug {
    /// Returns the dialect of the warehouse. If one driver serves two dialects, this is the
    /// driver's until the server has been reached.
    fn dialect(&self) -> Dialect;

    /// Returns the dialect of the server; queries the server once if the driver does not determine
    /// it.
    async fn server_dialect(&self, _cancel: &CancellationToken) -> Result<Dialect, WarehouseError> {
        Ok(self.dialect())
    }

    /// Returns the catalog's verdicts on functions, one per name in the same order.
    async fn judge_functions(
        &self,
        names: &[FunctionName],
        _cancel: &CancellationToken,
    ) -> Result<Vec<FunctionVerdict>, WarehouseError> {
        Ok(vec![FunctionVerdict::NotRecorded; names.len()])
    }

    /// Returns the time zone in which sessions interpret moments and split them into days; `None`
    /// if sessions have none.
    fn timezone(&self) -> Option<&str> {
        None
    }

    /// Connects to the warehouse and reports the server and the rights of the login.
    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError>;

    /// Checks the schemas of these names. Drivers without schemas return an empty report.
    async fn check_schemas(
        &self,
        _names: &[String],
        _cancel: &CancellationToken,
    ) -> Result<SchemaReport, WarehouseError> {
        Ok(SchemaReport::default())
    }

    /// Lists the schemas except the server's own, sorted by name, with what a scan of this scope
    /// reads of each. Drivers without this information return nothing.
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

    /// Runs one checked statement in a read-only session and streams its rows.
    async fn query(
        &self,
        sql: &ReadOnlySql,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError>;

    /// Returns the statement that lists the queries of the last `days` days, the most frequent
    /// first: the text, the number of runs and, if known, the user and whether the history of these
    /// days is complete. `None` if the warehouse keeps no history.
    fn query_history(&self, _days: u32) -> Option<String> {
        None
    }

    /// Estimates the cost of a statement, if the warehouse bills by it and can estimate without
    /// running it.
    async fn estimate(
        &self,
        _sql: &ReadOnlySql,
        _cancel: &CancellationToken,
    ) -> Result<Option<Estimate>, WarehouseError> {
        Ok(None)
    }
}

/// A whole result in memory, bounded by its caps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryResult {
    pub columns: Vec<ColumnHeader>,
    /// The rows, one cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Whether there were more rows than these.
    pub truncated: bool,
}

impl QueryResult {
    /// Counts the cells that were cut because they exceeded the statement's caps.
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

/// Runs a statement and collects its (capped) result.
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

/// The catalog's verdict on the functions of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionVerdict {
    /// Every function that the name may mean only reads.
    Reads,
    /// One of them may write, or runs with the rights of its owner.
    MayWrite {
        /// Which one and why, such as `` `public.tax(numeric)` is VOLATILE ``.
        because: String,
    },
    /// The catalog shows no such function to the login.
    NotFound,
    /// The warehouse does not record what its functions do.
    NotRecorded,
}
