//! What every warehouse driver can do.

use std::time::Duration;

use async_trait::async_trait;
use ktx_vocabulary::TableRef;
use tokio_util::sync::CancellationToken;

use crate::{
    Cell, ColumnHeader, Dialect, FunctionName, FunctionVerdict, ListedSchema, ReadOnlySql,
    SchemaSnapshot, WarehouseError,
};

/// Which part of a warehouse is looked at; empty lists mean everything the connection shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Schemas, datasets or databases.
    pub schemas: Vec<String>,
    /// Tables, as dotted names (`catalog.db.name`, `db.name` or `name`).
    pub tables: Vec<String>,
}

impl Scope {
    /// Whether a table of this place is inside the scope's table list.
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

/// Limits of one statement. Every statement has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Rows handed out at most. One more is fetched to know whether there were more.
    pub rows: usize,
    /// Bytes of all cells at most.
    pub bytes: usize,
    /// Bytes of one text, binary or JSON cell at most; longer ones are cut and marked with `…`.
    pub cell_bytes: usize,
    /// Time from sending to the last row.
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
    /// Go on.
    Continue,
    /// Enough: close the cursor.
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
    /// Rows handed to the sink.
    pub rows: usize,
    /// Whether there were more rows than were handed out. Exact: one row more was asked for.
    pub truncated: bool,
}

/// What is known about the rights of the login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleCheck {
    /// The login cannot write.
    ReadOnly,
    /// The login could write; the sessions that ktx opens cannot.
    CanWrite {
        /// What gives the right, such as `superuser` or `INSERT on public.orders`.
        because: String,
        /// Statements that make a read-only role, ready to run.
        fix: Vec<String>,
    },
    /// The question could not be answered.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// The answer of a connection test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionCheck {
    /// The server's own name and version.
    pub server: String,
    /// Time of one round trip.
    pub latency: Duration,
    /// What the login may do.
    pub role: RoleCheck,
}

/// What a warehouse says of one schema (a dataset, a database) that a connection names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaCheck {
    /// The schema as it was asked for.
    pub name: String,
    /// What there is of it.
    pub state: SchemaState,
}

/// What there is of a schema that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    /// It is there, and the login may look into it.
    Found,
    /// There is none of this name.
    NotFound,
    /// The warehouse tells the login of none: there is none, or the login has no right in it.
    NotShown {
        /// What gives the right.
        fix: Vec<String>,
    },
    /// It is there, and the login may not look into it.
    NotGranted {
        /// What gives the right.
        fix: Vec<String>,
    },
}

/// The answer about the schemas that a connection names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaReport {
    /// One answer for each that was asked for, in the same order.
    pub asked: Vec<SchemaCheck>,
    /// The schemas that the login is told of; a name that is not there may be meant for one of them.
    pub shown: Vec<String>,
}

impl SchemaReport {
    /// The answer by what is shown: a name that `means` none of it is `otherwise`.
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

/// What a statement would cost, before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes that would be read and billed.
    pub bytes: u64,
    /// Bytes that the connection allows one statement, where it has such a cap.
    pub limit: Option<u64>,
}

/// One open warehouse connection.
///
/// Sessions opened through this trait cannot write: each driver opens them read-only. Every
/// operation ends early when `cancel` fires, and cancels on the server where the server can.
#[async_trait]
pub trait Connector: Send + Sync + std::fmt::Debug {
    /// The dialect that the warehouse speaks: that of the driver until the server has been reached, where one driver
    /// serves two dialects.
    fn dialect(&self) -> Dialect;

    /// The dialect of the server, which is asked once when the driver alone does not decide it.
    async fn server_dialect(&self, _cancel: &CancellationToken) -> Result<Dialect, WarehouseError> {
        Ok(self.dialect())
    }

    /// What the warehouse's catalog says about functions, one answer for each name in the same order.
    async fn judge_functions(
        &self,
        names: &[FunctionName],
        _cancel: &CancellationToken,
    ) -> Result<Vec<FunctionVerdict>, WarehouseError> {
        Ok(vec![FunctionVerdict::NotRecorded; names.len()])
    }

    /// The time zone in which sessions read moments and cut them into days. `None` where sessions have none.
    fn timezone(&self) -> Option<&str> {
        None
    }

    /// Reaches the warehouse and says who answers and what the login may do.
    async fn check(&self, cancel: &CancellationToken) -> Result<ConnectionCheck, WarehouseError>;

    /// What there is of the schemas of these names. Drivers without schemas answer with nothing.
    async fn check_schemas(
        &self,
        _names: &[String],
        _cancel: &CancellationToken,
    ) -> Result<SchemaReport, WarehouseError> {
        Ok(SchemaReport::default())
    }

    /// The schemas that are not the server's own, with what a scan of this scope reads of each, ordered
    /// by name. Drivers that do not tell answer with nothing.
    async fn list_schemas(
        &self,
        _scope: &Scope,
        _cancel: &CancellationToken,
    ) -> Result<Vec<ListedSchema>, WarehouseError> {
        Ok(Vec::new())
    }

    /// Reads the structure: a fixed number of catalog queries per schema. What cannot be read for
    /// lack of grants becomes a warning in the snapshot.
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

    /// The statement that lists the queries that were run in the last `days` days, the most frequent first: the text, how
    /// often it ran and, where that is known, who ran it and whether the record has missed nothing in these days.
    /// `None` where no such record is kept.
    fn query_history(&self, _days: u32) -> Option<String> {
        None
    }

    /// What a statement would cost, where the warehouse can tell without running it and bills by it.
    async fn estimate(
        &self,
        _sql: &ReadOnlySql,
        _cancel: &CancellationToken,
    ) -> Result<Option<Estimate>, WarehouseError> {
        Ok(None)
    }
}

/// A whole result in memory; bounded by its caps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryResult {
    /// The columns.
    pub columns: Vec<ColumnHeader>,
    /// The rows, one cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Whether there were more rows than these.
    pub truncated: bool,
}

impl QueryResult {
    /// How many cells were cut, because they were longer than the caps of their statement.
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

/// Runs a statement and keeps its whole (capped) result.
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
