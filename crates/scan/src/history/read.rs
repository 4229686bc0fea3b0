//! Reads past queries: those that the caller hands over, and those of the warehouse's own record.

use std::time::Duration;

use ktx_warehouse::{Caps, Cell, Dialect, ErrorKind, QueryResult, ScanWarning, Table};

use crate::history::equalities::equalities;
use crate::history::{Catalog, Joins};
use crate::request::{HistoryRead, ScanError, ScanRequest};
use crate::settings::{PastQuery, Switch};
use crate::spending::Spending;

/// Queries of the warehouse's record that are looked at, the most frequent first.
const QUERIES: usize = 5000;
/// Bytes of one query's text.
const TEXT_BYTES: usize = 256 << 10;
/// Stack of the thread that parses: room for the longest condition.
const STACK_BYTES: usize = 256 << 20;

/// What past queries say.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// What they set equal.
    pub(crate) joins: Joins,
    /// What could not be read.
    pub(crate) warnings: Vec<ScanWarning>,
    /// What became of the warehouse's own record.
    pub(crate) read: HistoryRead,
}

/// Reads past queries.
pub(crate) async fn read(
    request: &ScanRequest,
    tables: &[Table],
    spending: &Spending<'_>,
) -> Result<Past, ScanError> {
    let history = &request.settings.history;
    let mut queries = history.queries.clone();
    let mut past = Past::default();
    if history.warehouse == Switch::On {
        past.read = match recorded(request, spending).await? {
            Ok(more) => {
                queries.extend(more);
                HistoryRead::Read
            }
            Err(warning) => {
                let reason = warning.message.clone();
                past.warnings.push(warning);
                HistoryRead::Unavailable(reason)
            }
        };
    }
    if queries.is_empty() {
        return Ok(past);
    }
    let (joins, unread) = joins(&queries, request.connector.dialect(), tables)?;
    past.joins = joins;
    if unread * 2 > queries.len() {
        past.warnings.push(warning(format!(
            "{unread} of {} past queries could not be read; check that they are in the dialect of the connection",
            queries.len()
        )));
    }
    Ok(past)
}

/// The columns that queries set equal; the second part counts statements that could not be read.
pub(crate) fn joins(
    queries: &[PastQuery],
    dialect: Dialect,
    tables: &[Table],
) -> Result<(Joins, usize), ScanError> {
    let internal = |reason: String| ScanError::Internal { reason };
    let result = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || {
                let catalog = Catalog::of(tables);
                let (mut joins, mut unread) = (Joins::default(), 0);
                for query in queries {
                    let (groups, not) = equalities(&query.text, dialect, &catalog);
                    unread += not;
                    for group in groups {
                        joins.add(group, query.runs);
                    }
                }
                (joins, unread)
            })
            .map(std::thread::ScopedJoinHandle::join)
    });
    match result {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(_)) => Err(internal("the reading of past queries failed".to_owned())),
        Err(error) => Err(internal(format!("past queries could not be read: {error}"))),
    }
}

/// The queries that the warehouse has recorded.
async fn recorded(
    request: &ScanRequest,
    spending: &Spending<'_>,
) -> Result<Result<Vec<PastQuery>, ScanWarning>, ScanError> {
    let history = &request.settings.history;
    let Some(sql) = request.connector.query_history(history.days) else {
        return Ok(Err(warning(
            "this connection keeps no record of queries that ktx can read".to_owned(),
        )));
    };
    let caps = Caps {
        rows: QUERIES,
        cell_bytes: TEXT_BYTES,
        timeout: Duration::from_secs(request.settings.statement_seconds),
        ..Caps::default()
    };
    let mut answer = QueryResult::default();
    match spending.run(&sql, &caps, &mut answer).await {
        Ok(_) => {}
        Err(error) if error.kind == ErrorKind::Cancelled => return Err(ScanError::Cancelled),
        Err(error) => {
            return Ok(Err(warning(format!(
                "could not read the record of past queries: {error}"
            ))));
        }
    }
    let query = |row: &Vec<Cell>| match row.as_slice() {
        [text, runs] => Some(PastQuery {
            text: text.to_text()?,
            runs: whole(runs)?,
        }),
        _ => None,
    };
    let queries = answer.rows.iter().filter_map(query);
    Ok(Ok(queries
        .filter(|query| query.runs >= history.least_runs)
        .collect()))
}

/// A count, which some servers send as a decimal.
fn whole(cell: &Cell) -> Option<u64> {
    let text = cell.to_text()?;
    let digits = text.split('.').next().unwrap_or_default();
    // What is no number is no count.
    digits.parse().ok()
}

fn warning(message: String) -> ScanWarning {
    ScanWarning {
        code: "query_history_unavailable".to_owned(),
        message,
        table: None,
        column: None,
        recoverable: true,
    }
}
