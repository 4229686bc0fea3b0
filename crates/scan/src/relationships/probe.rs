//! Checks links in the warehouse where samples are not enough.

use std::collections::BTreeMap;
use std::time::Duration;

use ktx_relationships::Facts;
use ktx_relationships::profile::sketch::{Containment, ratio};
use ktx_relationships::types::{ColumnId, TypeFamily};
use ktx_relationships::{Counts, Proposal};
use ktx_sql::Dialect;
use ktx_warehouse::{Caps, Cell, ErrorKind, ScanWarning, WarehouseError};

use crate::lanes::{Lanes, Load, Onward};
use crate::profile::sample::table_sql;
use crate::request::{ScanError, ScanRequest};
use crate::spending::{Spending, is_strain};
use crate::stage_rows::{StageRows, digest};
use crate::structural::hash::structure_hash;

const VALUES: usize = 200;
const GROUPS: usize = 2000;
/// Change whenever stored answers would be wrong.
const VERSION: &str = "probe-1";

pub(crate) struct Prober<'r> {
    request: &'r ScanRequest,
    rows: &'r StageRows,
    spending: &'r Spending<'r>,
    lanes: Lanes,
    budget: usize,
    pub(crate) sent: usize,
    pub(crate) left: usize,
    pub(crate) warnings: Vec<ScanWarning>,
}

#[derive(Debug)]
pub(crate) struct Question {
    sql: String,
    unit: String,
    input: String,
    table: Option<String>,
}

#[derive(Debug)]
pub(crate) enum ProbePlan<T> {
    Known(T),
    Ask(Question),
    /// Nothing to compare, or no budget.
    Skip,
}

impl<'r> Prober<'r> {
    pub(crate) fn new(
        request: &'r ScanRequest,
        rows: &'r StageRows,
        spending: &'r Spending<'r>,
        tables: usize,
    ) -> Self {
        let settings = &request.settings.relationships;
        Self {
            request,
            rows,
            spending,
            lanes: Lanes::new(settings.validation_concurrency),
            budget: settings.validation_budget.statements(tables),
            sent: 0,
            left: 0,
            warnings: Vec::new(),
        }
    }

    /// Also returns the number of values.
    pub(crate) fn values(
        &mut self,
        facts: &Facts<'_>,
        child: ColumnId,
        parent: ColumnId,
    ) -> Result<(ProbePlan<Counts>, usize), ScanError> {
        let dialect = self.request.connector.dialect();
        let Some((sql, compared)) = values_sql(dialect, facts, child, parent) else {
            return Ok((ProbePlan::Skip, 0));
        };
        let unit = format!("{}->{}", place(facts, child), place(facts, parent));
        let planned = self.plan(facts, (child.table, parent.table), unit, sql)?;
        Ok((planned, compared))
    }

    pub(crate) fn groups(
        &mut self,
        facts: &Facts<'_>,
        proposal: &Proposal,
    ) -> Result<ProbePlan<Counts>, ScanError> {
        let Some(sql) = groups_sql(self.request.connector.dialect(), facts, proposal) else {
            return Ok(ProbePlan::Skip);
        };
        let unit = digest([sql.as_str()]);
        self.plan(facts, (proposal.child.0, proposal.parent.0), unit, sql)
    }

    pub(crate) fn why_unasked(&self) -> &'static str {
        if self.sent >= self.budget {
            "`scan.relationships.validationBudget` allows no more statements"
        } else {
            "the warehouse gave no answer"
        }
    }

    fn plan(
        &mut self,
        facts: &Facts<'_>,
        (child, parent): (usize, usize),
        unit: String,
        sql: String,
    ) -> Result<ProbePlan<Counts>, ScanError> {
        let structure = |at: usize| {
            facts
                .table(at)
                .map(|table| structure_hash(table.table))
                .unwrap_or_default()
        };
        let input = digest([VERSION, &sql, &structure(child), &structure(parent)]);
        if let Some(counts) = self.rows.get("probe", &unit, &input)? {
            return Ok(ProbePlan::Known(counts));
        }
        if self.sent >= self.budget {
            return Ok(ProbePlan::Skip);
        }
        self.sent += 1;
        let table = facts.table(child);
        Ok(ProbePlan::Ask(Question {
            sql,
            unit,
            input,
            table: table.map(|table| table.table.table.to_string()),
        }))
    }

    /// Returns the answers in order; `None` for no answer.
    pub(crate) async fn ask(
        &mut self,
        questions: Vec<Question>,
    ) -> Result<Vec<Option<Counts>>, ScanError> {
        if self.request.cancel.is_cancelled() {
            return Err(ScanError::Cancelled);
        }
        let mut answers: Vec<Option<Counts>> = vec![None; questions.len()];
        let mut failures: BTreeMap<usize, WarehouseError> = BTreeMap::new();
        let (request, spending, rows) = (self.request, self.spending, self.rows);
        let (mut sent, mut left) = (self.sent, self.left);
        let work = questions
            .iter()
            .enumerate()
            .map(async |(at, question)| (at, counts(request, spending, &question.sql).await));
        let take = |(at, result): (usize, Result<Counts, WarehouseError>)| match result {
            Ok(counts) => {
                if let (Some(question), Some(answer)) = (questions.get(at), answers.get_mut(at)) {
                    rows.put("probe", &question.unit, &question.input, &counts)?;
                    *answer = Some(counts);
                }
                Ok((Load::Easy, Onward::Go))
            }
            Err(error) if error.kind == ErrorKind::Cancelled => Err(ScanError::Cancelled),
            Err(_) if spending.stopped().is_some() => {
                sent -= 1;
                left += 1;
                Ok((Load::Idle, Onward::Go))
            }
            Err(error) => {
                let strained = is_strain(error.kind);
                failures.insert(at, error);
                let load = if strained { Load::Strained } else { Load::Easy };
                Ok((load, Onward::Go))
            }
        };
        self.lanes.run(work, take).await?;
        (self.sent, self.left) = (sent, left);
        for (at, error) in failures {
            self.warnings.push(ScanWarning {
                code: "relationship_validation_failed".to_owned(),
                message: format!("could not check a link in the warehouse: {error}"),
                table: questions
                    .get(at)
                    .and_then(|question| question.table.clone()),
                column: None,
                recoverable: true,
            });
        }
        Ok(answers)
    }
}

pub(crate) fn contained((found, _): Counts, compared: usize) -> Containment {
    let found = found.min(compared as u64);
    let share = ratio(found, compared as u64);
    Containment {
        compared,
        found: usize::try_from(found).unwrap_or(compared),
        distinct: share,
        rows: share,
    }
}

async fn counts(
    request: &ScanRequest,
    spending: &Spending<'_>,
    sql: &str,
) -> Result<Counts, WarehouseError> {
    let caps = Caps {
        rows: 1,
        timeout: Duration::from_secs(request.settings.statement_seconds),
        ..Caps::default()
    };
    let row = spending.first_row(sql, &caps).await?;
    let number = |at: usize| match row.get(at) {
        Some(Cell::Int(value)) => u64::try_from(*value).ok(),
        Some(Cell::UInt(value)) => Some(*value),
        // Some servers return decimals.
        Some(Cell::Decimal(text) | Cell::Text(text)) => text.parse().ok(),
        Some(Cell::Null) => Some(0),
        _ => None,
    };
    match (number(0), number(1)) {
        (Some(left), Some(right)) => Ok((left, right)),
        _ => Err(WarehouseError::new(
            ErrorKind::Other,
            "the answer is not two numbers",
        )),
    }
}

fn place(facts: &Facts<'_>, at: ColumnId) -> String {
    let table = facts
        .table(at.table)
        .map(|table| crate::stage_rows::table_unit(&table.table.table))
        .unwrap_or_default();
    let column = facts
        .column(at)
        .map(|column| column.column.name.as_str())
        .unwrap_or_default();
    format!("{table}.{column}")
}

/// `SELECT COUNT(DISTINCT key), COUNT(*) FROM parent WHERE key IN (values)`.
pub(crate) fn values_sql(
    dialect: Dialect,
    facts: &Facts<'_>,
    child: ColumnId,
    parent: ColumnId,
) -> Option<(String, usize)> {
    let values = facts.column(child)?.profile?;
    let key = facts.column(parent)?;
    let sentinels = ["-1", "0", ""];
    let literals: Vec<String> = values
        .frequent
        .iter()
        .map(|(text, _)| text.as_str())
        .filter(|text| !sentinels.contains(text))
        .filter_map(|text| literal(dialect, key.family, text))
        .take(VALUES)
        .collect();
    if literals.is_empty() {
        return None;
    }
    let table = table_sql(dialect, &facts.table(parent.table)?.table.table);
    let key = dialect.quote(&key.column.name);
    let list = literals.join(", ");
    let sql =
        format!("SELECT COUNT(DISTINCT {key}), COUNT(*) FROM {table} WHERE {key} IN ({list})");
    Some((sql, literals.len()))
}

/// Returns `None` if the value does not fit the family or cannot be written safely.
fn literal(dialect: Dialect, family: TypeFamily, text: &str) -> Option<String> {
    match family {
        TypeFamily::Integer => {
            ktx_relationships::profile::value::whole_number(text).map(|number| number.to_string())
        }
        TypeFamily::Uuid => {
            ktx_relationships::profile::value::is_uuid(text).then(|| dialect.literal(text))
        }
        _ => (!text.contains(['\\', '…']) && !text.chars().any(char::is_control))
            .then(|| dialect.literal(text)),
    }
}

pub(crate) fn groups_sql(
    dialect: Dialect,
    facts: &Facts<'_>,
    proposal: &Proposal,
) -> Option<String> {
    let names = |(table, columns): &(usize, Vec<usize>)| -> Option<(String, Vec<String>)> {
        let facts = facts.table(*table)?;
        let columns = columns
            .iter()
            .filter_map(|column| facts.columns.get(*column));
        let quoted = columns
            .map(|column| dialect.quote(&column.column.name))
            .collect();
        Some((table_sql(dialect, &facts.table.table), quoted))
    };
    let (child, from) = names(&proposal.child)?;
    let (parent, to) = names(&proposal.parent)?;
    let list = |columns: &[String], prefix: &str| {
        let named = columns
            .iter()
            .enumerate()
            .map(|(at, column)| format!("{column} AS {prefix}{at}"));
        named.collect::<Vec<_>>().join(", ")
    };
    let filled = from
        .iter()
        .map(|column| format!("{column} IS NOT NULL"))
        .collect::<Vec<_>>()
        .join(" AND ");
    let on = (0..from.len())
        .map(|at| format!("c.c{at} = p.p{at}"))
        .collect::<Vec<_>>()
        .join(" AND ");
    let (top, limit) = match dialect {
        Dialect::SqlServer => (format!("TOP {GROUPS} "), String::new()),
        _ => (String::new(), format!(" LIMIT {GROUPS}")),
    };
    Some(format!(
        "SELECT COUNT(*), SUM(CASE WHEN p.p0 IS NULL THEN 0 ELSE 1 END) \
         FROM (SELECT DISTINCT {top}{} FROM {child} WHERE {filled}{limit}) AS c \
         LEFT JOIN (SELECT DISTINCT {} FROM {parent}) AS p ON {on}",
        list(&from, "c"),
        list(&to, "p"),
    ))
}
