//! Reads past queries from the caller and the warehouse's record.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ktx_relationships::links::joins::{Group, Joins};
use ktx_relationships::settings::Switch;
use ktx_sql::Dialect;
use ktx_warehouse::{Caps, Cell, ErrorKind, QueryResult, ScanWarning, Table, TableKind};

use crate::history::Catalog;
use crate::history::equalities::equalities;
use crate::history::usage::{Tally, Usage};
use crate::request::{HistoryRead, ScanError, ScanRequest};
use crate::settings::{History, PastQuery, People};
use crate::spending::Spending;

/// Maximum queries of the record, most frequent first.
const QUERIES: usize = 5000;
const TEXT_BYTES: usize = 256 << 10;
/// Enough for the longest condition.
const STACK_BYTES: usize = 256 << 20;

#[derive(Debug, Default)]
pub(crate) struct Past {
    pub(crate) joins: Joins,
    /// `None` without enough data.
    pub(crate) usage: Option<Usage>,
    pub(crate) warnings: Vec<ScanWarning>,
    pub(crate) read: HistoryRead,
}

#[derive(Debug, Default)]
struct Record {
    queries: Vec<PastQuery>,
    rare: Vec<PastQuery>,
    is_whole: bool,
    /// The login cannot see the queries of others.
    is_hidden: bool,
}

pub(crate) async fn read(
    request: &ScanRequest,
    tables: &[Table],
    spending: &Spending<'_>,
) -> Result<Past, ScanError> {
    let history = &request.settings.history;
    let (mut past, mut record, mut tells_usage) = (Past::default(), Record::default(), false);
    if history.warehouse == Switch::On {
        match recorded(request, spending).await? {
            Ok(found) => {
                past.read = HistoryRead::Read;
                tells_usage = !found.is_hidden;
                if found.is_hidden {
                    past.warnings.push(warning(
                        "the texts of other users' queries are hidden from this login, so `usage` stays as it was; \
                         run `GRANT pg_read_all_stats TO` its role".to_owned(),
                    ));
                }
                record = found;
            }
            Err(reason) => {
                past.warnings.push(warning(reason.clone()));
                past.read = HistoryRead::Unavailable(reason);
            }
        }
        // A file replaces a missing record.
        let keeps_none = request.connector.query_history(history.days).is_none();
        tells_usage |= keeps_none && !history.queries.is_empty();
    }
    let mut queries = history.queries.clone();
    queries.append(&mut record.queries);
    let dialect = request.connector.dialect();
    let scope = in_scope(history, tables);
    let said = said((&queries, &record.rare), dialect, tables, &scope)?;
    if said.unread * 2 > queries.len() {
        past.warnings.push(warning(format!(
            "{} of {} past queries could not be read; check that they are in the dialect of the connection",
            said.unread,
            queries.len()
        )));
    }
    // Queries through a view do not name its tables.
    let has_views = tables.iter().any(|table| table.kind == TableKind::View);
    let knows_all = record.is_whole && said.has_words && !has_views;
    let least = knows_all.then_some(history.least_runs);
    past.joins = said.joins;
    past.usage = tells_usage.then(|| said.tally.usage(tables, &scope, least));
    Ok(past)
}

fn in_scope(history: &History, tables: &[Table]) -> BTreeSet<usize> {
    let is_in = |(at, table): (usize, &Table)| {
        let place = &table.table;
        let schema = || {
            history.schemas.iter().any(|schema| {
                schema == "*"
                    || place
                        .db
                        .as_ref()
                        .is_some_and(|own| own.eq_ignore_ascii_case(schema))
            })
        };
        let table = || {
            let parts: Vec<&str> = place.parts().collect();
            (0..parts.len()).any(|from| {
                let name = parts.get(from..).unwrap_or_default().join(".");
                history
                    .tables
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(&name))
            })
        };
        let counts = match (history.tables.is_empty(), history.schemas.is_empty()) {
            (false, _) => table(),
            (true, false) => schema(),
            (true, true) => true,
        };
        counts.then_some(at)
    };
    tables.iter().enumerate().filter_map(is_in).collect()
}

#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) joins: Joins,
    pub(crate) unread: usize,
    tally: Tally,
    has_words: bool,
}

pub(crate) fn said(
    (queries, rare): (&[PastQuery], &[PastQuery]),
    dialect: Dialect,
    tables: &[Table],
    scope: &BTreeSet<usize>,
) -> Result<Texts, ScanError> {
    let internal = |reason: String| ScanError::Internal { reason };
    if queries.is_empty() && rare.is_empty() {
        return Ok(Texts {
            has_words: true,
            ..Texts::default()
        });
    }
    let work = || {
        let catalog = Catalog::of(tables);
        let mut texts = Texts {
            has_words: true,
            ..Texts::default()
        };
        let in_scope = |group: &Group| {
            let mut columns = group.iter().flat_map(|(left, right)| [left, right]);
            columns.any(|at| scope.contains(&at.table))
        };
        for query in queries {
            let said = equalities(&query.text, dialect, &catalog);
            texts.unread += said.unread;
            texts.has_words &= said.has_words;
            for reading in &said.readings {
                texts.tally.add(reading, query.runs, scope);
            }
            for group in said.groups.into_iter().filter(in_scope) {
                texts.joins.add(group, query.runs);
            }
        }
        for query in rare {
            let said = equalities(&query.text, dialect, &catalog);
            texts.has_words &= said.has_words;
            for reading in &said.readings {
                texts.tally.name(reading, query.runs);
            }
        }
        texts
    };
    let result = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)
            .map(std::thread::ScopedJoinHandle::join)
    });
    match result {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(_)) => Err(internal("the reading of past queries failed".to_owned())),
        Err(error) => Err(internal(format!("past queries could not be read: {error}"))),
    }
}

const HIDDEN: &str = "<insufficient privilege>";

async fn recorded(
    request: &ScanRequest,
    spending: &Spending<'_>,
) -> Result<Result<Record, String>, ScanError> {
    let history = &request.settings.history;
    let Some(sql) = request.connector.query_history(history.days) else {
        return Ok(Err(
            "this connection keeps no record of queries that ktx can read".to_owned(),
        ));
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
            return Ok(Err(format!(
                "could not read the record of past queries: {error}"
            )));
        }
    }
    let mut record = Record {
        is_whole: !answer.truncated
            && !answer.rows.is_empty()
            && answer.rows.len() < QUERIES
            && answer.cut_cells(&caps) == 0
            && matches!(history.people, People::All),
        ..Record::default()
    };
    // One row per text and user.
    let mut by_text: BTreeMap<String, u64> = BTreeMap::new();
    for row in &answer.rows {
        let text = row.first().and_then(Cell::to_text);
        let runs = row.get(1).and_then(whole);
        let (Some(text), Some(runs)) = (text, runs) else {
            record.is_whole = false;
            continue;
        };
        record.is_whole &= row.get(3).is_some_and(is_true);
        if text == HIDDEN {
            record.is_hidden = true;
        } else if (history.people).count(row.get(2).and_then(Cell::to_text).as_deref()) {
            let known = by_text.entry(text).or_default();
            *known = known.saturating_add(runs);
        }
    }
    let queries = by_text
        .into_iter()
        .map(|(text, runs)| PastQuery { text, runs });
    (record.queries, record.rare) = queries.partition(|query| query.runs >= history.least_runs);
    Ok(Ok(record))
}

fn is_true(cell: &Cell) -> bool {
    cell.to_text()
        .is_some_and(|text| ["true", "t", "1"].contains(&&*text))
}

fn whole(cell: &Cell) -> Option<u64> {
    let text = cell.to_text()?;
    let digits = text.split('.').next().unwrap_or_default();
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
