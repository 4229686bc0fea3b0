//! Bounded statements that check links in the warehouse where samples cannot.

use std::time::Duration;

use ktx_warehouse::{Caps, Cell, Dialect, ErrorKind, ScanWarning, WarehouseError, collect, gate};
use serde::{Deserialize, Serialize};

use crate::profile::sample::table_sql;
use crate::profile::sketch::{Containment, ratio};
use crate::relationships::composite::Proposal;
use crate::relationships::facts::{At, Facts};
use crate::request::{ScanError, ScanRequest};
use crate::stage_rows::{StageRows, digest};
use crate::structural::hash::structure_hash;
use crate::types::TypeFamily;

/// Values asked for in one statement.
const VALUES: usize = 200;
/// Distinct value groups compared in one statement.
const GROUPS: usize = 2000;
/// Raised whenever a stored answer of an earlier version would be wrong.
const VERSION: &str = "probe-1";

/// How many value groups were compared and found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TupleCount {
    pub(crate) compared: u64,
    pub(crate) found: u64,
}

/// Asks the warehouse, within a budget.
pub(crate) struct Prober<'r> {
    request: &'r ScanRequest,
    rows: &'r StageRows,
    budget: usize,
    /// Statements sent.
    pub(crate) sent: usize,
    /// What could not be asked.
    pub(crate) warnings: Vec<ScanWarning>,
}

impl<'r> Prober<'r> {
    /// Prepares for a schema of so many tables.
    pub(crate) fn new(request: &'r ScanRequest, rows: &'r StageRows, tables: usize) -> Self {
        let budget = request
            .settings
            .relationships
            .validation_budget
            .statements(tables);
        Self {
            request,
            rows,
            budget,
            sent: 0,
            warnings: Vec::new(),
        }
    }

    /// How many of a column's sampled values exist in another column. `None`: not asked, or no answer.
    pub(crate) async fn values(
        &mut self,
        facts: &Facts<'_>,
        child: At,
        parent: At,
    ) -> Result<Option<Containment>, ScanError> {
        let Some((sql, compared)) =
            values_sql(self.request.connector.dialect(), facts, child, parent)
        else {
            return Ok(None);
        };
        let unit = format!("{}->{}", place(facts, child), place(facts, parent));
        let count = self
            .ask(facts, (child.table, parent.table), &unit, &sql)
            .await?;
        Ok(count.map(|(found, _)| {
            let found = found.min(compared as u64);
            let share = ratio(found, compared as u64);
            Containment {
                compared,
                found: usize::try_from(found).unwrap_or(compared),
                distinct: share,
                rows: share,
            }
        }))
    }

    /// How many value groups of a proposal exist in the parent. `None`: not asked, or no answer.
    pub(crate) async fn groups(
        &mut self,
        facts: &Facts<'_>,
        proposal: &Proposal,
    ) -> Result<Option<TupleCount>, ScanError> {
        let Some(sql) = groups_sql(self.request.connector.dialect(), facts, proposal) else {
            return Ok(None);
        };
        let unit = digest([sql.as_str()]);
        let count = self
            .ask(facts, (proposal.child.0, proposal.parent.0), &unit, &sql)
            .await?;
        Ok(count.map(|(compared, found)| TupleCount { compared, found }))
    }

    /// Sends one statement of two counts, or reads the answer of an earlier run.
    async fn ask(
        &mut self,
        facts: &Facts<'_>,
        (child, parent): (usize, usize),
        unit: &str,
        sql: &str,
    ) -> Result<Option<(u64, u64)>, ScanError> {
        if self.request.cancel.is_cancelled() {
            return Err(ScanError::Cancelled);
        }
        let structure = |at: usize| {
            facts
                .table(at)
                .map(|table| structure_hash(table.table))
                .unwrap_or_default()
        };
        let input = digest([VERSION, sql, &structure(child), &structure(parent)]);
        if let Some(counts) = self.rows.get("probe", unit, &input)? {
            return Ok(Some(counts));
        }
        if self.sent >= self.budget {
            return Ok(None);
        }
        self.sent += 1;
        match self.counts(sql).await {
            Ok(counts) => {
                self.rows.put("probe", unit, &input, &counts)?;
                Ok(Some(counts))
            }
            Err(error) if error.kind == ErrorKind::Cancelled => Err(ScanError::Cancelled),
            Err(error) => {
                self.warnings.push(ScanWarning {
                    code: "relationship_validation_failed".to_owned(),
                    message: format!("could not check a link in the warehouse: {error}"),
                    table: facts
                        .table(child)
                        .map(|table| table.table.table.to_string()),
                    column: None,
                    recoverable: true,
                });
                Ok(None)
            }
        }
    }

    async fn counts(&self, sql: &str) -> Result<(u64, u64), WarehouseError> {
        let checked = gate::check(sql, self.request.connector.dialect()).map_err(|refusal| {
            WarehouseError::new(
                ErrorKind::Sql,
                format!("the read-only gate refused the statement: {refusal}"),
            )
        })?;
        let caps = Caps {
            rows: 1,
            timeout: Duration::from_secs(self.request.settings.statement_seconds),
            ..Caps::default()
        };
        let result = collect(
            self.request.connector.as_ref(),
            &checked,
            &caps,
            &self.request.cancel,
        )
        .await?;
        let row = result.rows.first().map(Vec::as_slice).unwrap_or_default();
        let number = |at: usize| match row.get(at) {
            Some(Cell::Int(value)) => u64::try_from(*value).ok(),
            Some(Cell::UInt(value)) => Some(*value),
            // Sums come as decimals from some servers; a text that is no number is no answer.
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
}

fn place(facts: &Facts<'_>, at: At) -> String {
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

/// `SELECT COUNT(DISTINCT key), COUNT(*) FROM parent WHERE key IN (values)`, with the number of values.
pub(crate) fn values_sql(
    dialect: Dialect,
    facts: &Facts<'_>,
    child: At,
    parent: At,
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

/// A value as a literal of the key's family; `None` when it cannot be one or cannot be written safely.
fn literal(dialect: Dialect, family: TypeFamily, text: &str) -> Option<String> {
    match family {
        TypeFamily::Integer => {
            crate::profile::value::whole_number(text).map(|number| number.to_string())
        }
        TypeFamily::Uuid => crate::profile::value::is_uuid(text).then(|| dialect.literal(text)),
        _ => (!text.contains(['\\', '…']) && !text.chars().any(char::is_control))
            .then(|| dialect.literal(text)),
    }
}

/// Counts distinct value groups of the child and how many of them the parent has.
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
