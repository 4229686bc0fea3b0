//! Runs one read-only statement.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use ktx_config::Connection;
use ktx_diagnostics::{Code, Failure, excerpt};
use ktx_read_only_sql::{AllowedFunctions, ReadOnlySql, Refusal, SortKey};
use ktx_semantic_layer::{Relation, Source};
use ktx_sql::Dialect;
use ktx_tool_descriptors::CallContext;
use ktx_warehouse::{AdmissionError, Caps, Connector, QueryResult, admit, collect};
use serde_json::Value;

use crate::choice::{Candidates, Match, candidates, choose};
use crate::context::{AuditEntry, AuditOutcome, ProjectContext, Runner};
use crate::reader::Reader;
use crate::scans::ScanSnapshot;
use crate::wire::SqlOutput;

use super::multiplied::multiplied;
use super::sql_names::with_names;

pub(crate) const DEFAULT_ROWS: usize = 1000;

pub(crate) const MAX_ROWS: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlRequest {
    /// Chosen by the tables of the statement if absent.
    pub connection: Option<String>,
    pub sql: String,
    /// 1 to 10,000; 1,000 by default.
    pub max_rows: Option<usize>,
    pub timeout: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SqlAnswer {
    pub connection: Connection,
    pub sql: String,
    pub order: Vec<SortKey>,
    pub result: QueryResult,
    pub caps: Caps,
    pub notes: Vec<String>,
}

impl SqlAnswer {
    pub fn to_wire(&self) -> SqlOutput {
        SqlOutput {
            headers: headers(&self.result),
            header_types: header_types(&self.result),
            rows: rows(&self.result),
            row_count: self.result.rows.len(),
            truncated: self.result.truncated,
            notes: self.notes.clone(),
        }
    }
}

/// Runs one statement. The gate refuses writes before anything is sent.
pub async fn execute_sql(
    context: &dyn ProjectContext,
    request: &SqlRequest,
    call: &CallContext,
) -> Result<SqlAnswer, Failure> {
    call.progress.report(0.0, "Validating SQL");
    let id = request.connection.as_deref();
    let (connection, choice) = warehouse_of_sql(context, id, &request.sql).await?;
    let connector = match context.runner(&connection).await? {
        Runner::Ready(connector) => connector,
        Runner::CompileOnly { reason } => {
            return Err(Failure::new(Code::NotExecutable, reason));
        }
    };
    let rows = request.max_rows.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
    let mut caps = context.reader().caps(rows);
    caps.timeout = request.timeout.unwrap_or(caps.timeout);
    let statement = Statement {
        tool: "sql_execution",
        connection: &connection,
        caps,
    };
    let checked = statement
        .check(context, call, &request.sql, connector.as_ref())
        .await?;
    call.progress.report(0.3, "Executing");
    let ran = statement
        .run(context, call, &checked, connector.as_ref())
        .await;
    let result = match ran {
        Ok(result) => result,
        Err(failure) => return Err(with_names(context, &connection, &checked, failure).await),
    };
    call.progress.report(1.0, &fetched(&result));
    let cut = cut_note(&result, &caps);
    let fanned = fan_out(context, &connection, &checked).await;
    let notes = choice.into_iter().chain(cut).chain(fanned).collect();
    Ok(SqlAnswer {
        connection,
        sql: checked.as_str().to_owned(),
        order: checked.order().to_vec(),
        result,
        caps,
        notes,
    })
}

/// Only for a model. Unreadable catalogs and scans add no note.
async fn fan_out(
    context: &dyn ProjectContext,
    connection: &Connection,
    statement: &ReadOnlySql,
) -> Vec<String> {
    if context.reader() == Reader::Person || statement.tables().len() < 2 {
        return Vec::new();
    }
    match (
        context.catalog(&connection.id).await,
        context.snapshot(&connection.id).await,
    ) {
        (Ok(catalog), Ok(Some(snapshot))) => multiplied(statement, &catalog, &snapshot.places()),
        _ => Vec::new(),
    }
}

/// The named or only warehouse, or the only one with every table; with a note about a choice.
pub async fn warehouse_of_sql(
    context: &dyn ProjectContext,
    id: Option<&str>,
    sql: &str,
) -> Result<(Connection, Option<String>), Failure> {
    match candidates(context, id).await? {
        Candidates::One(connection) => Ok((connection, None)),
        Candidates::Several(several) => {
            let connection = warehouse_with_tables(context, several, sql).await?;
            let note = format!(
                "`{}` is the only warehouse that has the tables of the statement",
                connection.id
            );
            Ok((connection, Some(note)))
        }
    }
}

async fn warehouse_with_tables(
    context: &dyn ProjectContext,
    several: Vec<Connection>,
    sql: &str,
) -> Result<Connection, Failure> {
    let mut matches = Vec::with_capacity(several.len());
    for connection in several {
        let found = match context.runner(&connection).await {
            Ok(Runner::Ready(connector)) => match readable(sql, &connection, connector.dialect()) {
                Ok(statement) => tables_in(context, &connection, statement.tables()).await,
                Err(refusal) => Match::Refused(refusal.into()),
            },
            Ok(Runner::CompileOnly { reason }) => {
                Match::Refused(Failure::new(Code::NotExecutable, reason))
            }
            Err(failure) => Match::Unreadable(failure.message),
        };
        matches.push((connection, found));
    }
    let refused = |(_, found): &(Connection, Match)| matches!(found, Match::Refused(_));
    if !matches.iter().all(refused) {
        // The statement can have the dialect of one warehouse only.
        for (_, found) in &mut matches {
            if let Match::Refused(failure) = found {
                *found = Match::Missing(std::mem::take(&mut failure.message));
            }
        }
    }
    choose(matches, context.reader())
}

pub(crate) async fn has_tables(
    context: &dyn ProjectContext,
    connection: &Connection,
    sql: &str,
) -> bool {
    let Ok(Runner::Ready(connector)) = context.runner(connection).await else {
        return false;
    };
    match readable(sql, connection, connector.dialect()) {
        Ok(statement) => {
            let found = tables_in(context, connection, statement.tables()).await;
            matches!(found, Match::Complete)
        }
        Err(_) => false,
    }
}

/// Unknown functions are judged once the warehouse is chosen.
fn readable(sql: &str, connection: &Connection, dialect: Dialect) -> Result<ReadOnlySql, Refusal> {
    let allowed = AllowedFunctions::new(connection.texts(&["allowed_functions"]));
    match ktx_read_only_sql::check_allowing(sql, dialect, &allowed) {
        Err(refusal) if !refusal.unknown_functions.is_empty() => ktx_read_only_sql::check_allowing(
            sql,
            dialect,
            &allowed.with(refusal.unknown_functions),
        ),
        judged => judged,
    }
}

async fn tables_in(
    context: &dyn ProjectContext,
    connection: &Connection,
    tables: &BTreeSet<String>,
) -> Match {
    let (catalog, snapshot) = match (
        context.catalog(&connection.id).await,
        context.snapshot(&connection.id).await,
    ) {
        (Ok(catalog), Ok(snapshot)) => (catalog, snapshot),
        (Err(failure), _) | (_, Err(failure)) => return Match::Unreadable(failure.message),
    };
    let places = snapshot.as_deref().map(ScanSnapshot::places);
    let is_known = |table: &str| {
        places
            .as_ref()
            .is_some_and(|places| !places.named(table).is_empty())
            || catalog.sources().iter().any(|source| reads(source, table))
    };
    let Some(missing) = tables.iter().find(|table| !is_known(table)) else {
        return Match::Complete;
    };
    match &snapshot {
        None => Match::Missing("it was never scanned".to_owned()),
        Some(snapshot) if snapshot.unread_tables > 0 => {
            Match::Unreadable(snapshot.problems.join("; "))
        }
        Some(_) => Match::Missing(format!("there is no table `{}`", excerpt(missing))),
    }
}

fn reads(source: &Source, table: &str) -> bool {
    let Relation::Table(name) = &source.relation else {
        return false;
    };
    let plain = |name: &str| name.replace(['"', '`', '[', ']'], "").to_lowercase();
    let (name, table) = (plain(name), plain(table));
    let is_end = |whole: &str, end: &str| {
        whole
            .strip_suffix(end)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    is_end(&name, &table) || is_end(&table, &name)
}

pub(crate) fn cut_note(result: &QueryResult, caps: &Caps) -> Option<String> {
    let cells = match result.cut_cells(caps) {
        0 => return None,
        1 => "1 cell is".to_owned(),
        cells => format!("{cells} cells are"),
    };
    let most = caps.cell_bytes;
    Some(format!(
        "{cells} longer than {most} bytes, cut there and marked with `…`"
    ))
}

/// The last step of every query: gate, audit, caps.
pub(crate) struct Statement<'a> {
    pub(crate) tool: &'static str,
    pub(crate) connection: &'a Connection,
    pub(crate) caps: Caps,
}

impl Statement<'_> {
    /// Judges a statement; the warehouse judges functions that the gate does not know.
    pub(crate) async fn check(
        &self,
        context: &dyn ProjectContext,
        call: &CallContext,
        sql: &str,
        connector: &dyn Connector,
    ) -> Result<ReadOnlySql, Failure> {
        let allowed = AllowedFunctions::new(self.connection.texts(&["allowed_functions"]));
        let refused = match admit(sql, connector, &allowed, &call.cancel).await {
            Ok(statement) => return Ok(statement),
            Err(refused) => refused,
        };
        let code = match &refused {
            AdmissionError::Refused(refusal) => AuditOutcome::Refused { code: refusal.code },
            AdmissionError::Failed(error) => AuditOutcome::Failed {
                code: error.kind.code(),
            },
        };
        self.note(context, call, sql, code);
        Err(match refused {
            AdmissionError::Refused(refusal) => refusal.into(),
            AdmissionError::Failed(error) => error.into(),
        })
    }

    pub(crate) async fn run(
        &self,
        context: &dyn ProjectContext,
        call: &CallContext,
        sql: &ReadOnlySql,
        connector: &dyn Connector,
    ) -> Result<QueryResult, Failure> {
        let one_more = u64::try_from(self.caps.rows)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        let limited = sql.with_row_limit(one_more);
        let outcome = collect(connector, &limited, &self.caps, &call.cancel).await;
        match outcome {
            Ok(result) => {
                let rows = result.rows.len();
                self.note(
                    context,
                    call,
                    limited.as_str(),
                    AuditOutcome::Executed { rows },
                );
                Ok(result)
            }
            Err(error) => {
                let code = error.kind.code();
                self.note(
                    context,
                    call,
                    limited.as_str(),
                    AuditOutcome::Failed { code },
                );
                Err(Failure::from(error))
            }
        }
    }

    fn note(
        &self,
        context: &dyn ProjectContext,
        call: &CallContext,
        sql: &str,
        outcome: AuditOutcome,
    ) {
        context.audit(AuditEntry {
            tool: self.tool,
            call_id: call.call_id.clone(),
            connection: self.connection.id.clone(),
            sql: noted(sql).into_owned(),
            outcome,
        });
    }
}

/// Returns the whole statement, unless it is too long for the gate.
fn noted(sql: &str) -> Cow<'_, str> {
    if sql.len() > ktx_read_only_sql::MAX_BYTES {
        excerpt(sql)
    } else {
        Cow::Borrowed(sql)
    }
}

pub(crate) fn fetched(result: &QueryResult) -> String {
    match result.rows.len() {
        1 => "Fetched 1 row".to_owned(),
        rows => format!("Fetched {rows} rows"),
    }
}

pub(crate) fn headers(result: &QueryResult) -> Vec<String> {
    result
        .columns
        .iter()
        .map(|column| column.name.clone())
        .collect()
}

fn header_types(result: &QueryResult) -> Option<Vec<String>> {
    result
        .columns
        .iter()
        .map(|column| column.native_type.clone())
        .collect::<Option<Vec<_>>>()
        .filter(|types| !types.is_empty())
}

pub(crate) fn rows(result: &QueryResult) -> Vec<Vec<Value>> {
    result
        .rows
        .iter()
        .map(|row| row.iter().map(ktx_warehouse::Cell::to_json).collect())
        .collect()
}
