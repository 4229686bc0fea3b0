//! Compares the agent's rows with the reference.

use serde_json::Value;

use super::coding::TableCoding;
use super::columns::{ColumnMapping, ComparedTables, MOST_TRIES, MappingResult, nearest, search};
use super::fan_out;
use super::numeral::Tolerance;
use super::pairing::Pairing;
use super::table::{Cell, Extent, Table};
use crate::count::share;
use crate::{EvaluationError, FailureClass, Grade};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraColumns {
    /// Unless they multiply the rows.
    Allow,
    Forbid,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowOrder {
    Any,
    Listed,
    /// Columns of the reference, from 0; ties are in any order.
    SortedBy(Vec<usize>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SqlResultOptions {
    pub tolerance: Tolerance,
    pub extra_columns: ExtraColumns,
    pub allow_empty: bool,
    pub order: RowOrder,
}

impl SqlResultOptions {
    pub const DEFAULT: Self = Self {
        tolerance: Tolerance::DEFAULT,
        extra_columns: ExtraColumns::Allow,
        allow_empty: false,
        order: RowOrder::Any,
    };

    const fn tolerance(&self) -> Tolerance {
        self.tolerance.bounded()
    }
}

const EXAMPLES: usize = 5;

/// Returns 1 if the agent's last successful query has the reference's rows, else 0. Columns are
/// matched by values, not names. `actual` is absent if no query succeeded.
///
/// The details are `matched`, `missing` and `extra` (row counts), up to five `missing_rows` and
/// `extra_rows`, `soft` (twice the matched rows divided by all rows) and `fan_out_factor`.
///
/// # Errors
/// [`EvaluationError::Truncated`], [`EvaluationError::TruncatedReference`],
/// [`EvaluationError::EmptyReference`], [`EvaluationError::Ragged`], and
/// [`EvaluationError::AmbiguousColumns`] after 10,000 pairs of columns.
pub fn sql_result(
    actual: Option<&Table>,
    gold: &Table,
    options: &SqlResultOptions,
) -> Result<Grade, EvaluationError> {
    gold.check()?;
    if gold.extent == Extent::Truncated {
        return Err(EvaluationError::TruncatedReference);
    }
    if gold.rows.is_empty() && !options.allow_empty {
        return Err(EvaluationError::EmptyReference);
    }
    let Some(actual) = actual else {
        let grade = Grade::failed(FailureClass::NoRows, "no query succeeded");
        return Ok(counted(grade, 0, gold.rows.len(), 0));
    };
    actual.check()?;
    if actual.extent == Extent::Truncated {
        return Err(EvaluationError::Truncated);
    }
    let comparison = Comparison {
        gold,
        actual,
        coding: TableCoding::of(gold, actual, options.tolerance()),
        options,
    };
    comparison.grade()
}

fn counted(grade: Grade, matched: usize, missing: usize, extra: usize) -> Grade {
    let all = 2 * matched + missing + extra;
    let soft = if all == 0 {
        1.0
    } else {
        share(2 * matched, all)
    };
    grade
        .with("matched", matched)
        .with("missing", missing)
        .with("extra", extra)
        .with("soft", soft)
}

struct Comparison<'a> {
    gold: &'a Table,
    actual: &'a Table,
    coding: TableCoding,
    options: &'a SqlResultOptions,
}

impl Comparison<'_> {
    fn grade(&self) -> Result<Grade, EvaluationError> {
        let (wanted, given) = (self.gold.columns.len(), self.actual.columns.len());
        if given > wanted && self.options.extra_columns == ExtraColumns::Forbid {
            let reason = format!("{given} columns; the reference has {wanted}");
            return Ok(self.explain(FailureClass::WrongRows, reason));
        }
        let places = self.blocks();
        if self.search(&places)?.is_some() {
            return Ok(counted(Grade::full(), self.gold.rows.len(), 0, 0));
        }
        let anywhere = vec![0; self.gold.rows.len()];
        if self.options.order != RowOrder::Any
            && let Some(mapping) = self.search(&anywhere)?
        {
            let row = self.first_out_of_order(&mapping, &places);
            let reason = format!("row {row} is in another place");
            let grade = Grade::failed(FailureClass::WrongOrder, reason);
            return Ok(counted(grade, self.gold.rows.len(), 0, 0));
        }
        Ok(self.explain(FailureClass::WrongRows, self.difference()))
    }

    /// Rows of one block can be in any order.
    fn blocks(&self) -> Vec<u64> {
        let rows = self.gold.rows.len();
        let keys = match &self.options.order {
            RowOrder::Any => return vec![0; rows],
            RowOrder::Listed => None,
            RowOrder::SortedBy(keys) => Some(keys),
        };
        let columns = &self.coding.gold.columns;
        let mut block = 0;
        let mut blocks = Vec::with_capacity(rows);
        for row in 0..rows {
            let is_tied = row > 0
                && keys.is_some_and(|keys| {
                    keys.iter()
                        .filter_map(|key| columns.get(*key))
                        .all(|column| column[row] == column[row - 1])
                });
            block += u64::from(!is_tied);
            blocks.push(block);
        }
        blocks
    }

    fn pairing<'p>(&'p self, mapping: &'p ColumnMapping) -> Pairing<'p> {
        Pairing {
            gold: self.gold,
            actual: self.actual,
            coding: &self.coding,
            mapping,
            tolerance: self.options.tolerance(),
        }
    }

    fn search(&self, blocks: &[u64]) -> Result<Option<ColumnMapping>, EvaluationError> {
        let mut confirm = |mapping: &ColumnMapping| {
            let is_sure = !self.coding.has_chains;
            is_sure || {
                let pairs = self.pairing(mapping).pairs(blocks, blocks);
                pairs.iter().all(Option::is_some)
            }
        };
        let sides = ComparedTables {
            gold: self.gold,
            actual: self.actual,
            coding: &self.coding,
            tolerance: self.options.tolerance(),
        };
        match search(sides, blocks, &mut confirm) {
            MappingResult::Mapping(mapping) => Ok(Some(mapping)),
            MappingResult::Nothing => Ok(None),
            MappingResult::OutOfTries => Err(EvaluationError::AmbiguousColumns(MOST_TRIES)),
        }
    }

    fn first_out_of_order(&self, mapping: &ColumnMapping, places: &[u64]) -> usize {
        let pairs = self.pairing(mapping).pairs(places, places);
        let mut is_paired = vec![false; self.actual.rows.len()];
        for row in pairs.into_iter().flatten() {
            is_paired[row] = true;
        }
        is_paired.iter().position(|paired| !paired).unwrap_or(0) + 1
    }

    fn difference(&self) -> String {
        let (wanted, given) = (self.gold.columns.len(), self.actual.columns.len());
        let (rows, others) = (self.gold.rows.len(), self.actual.rows.len());
        if given < wanted {
            format!("{given} of {wanted} columns")
        } else if rows == others {
            "the rows differ".to_owned()
        } else {
            format!("{others} rows; the reference has {rows}")
        }
    }

    /// Shows the different rows under the nearest mapping.
    fn explain(&self, class: FailureClass, reason: String) -> Grade {
        let (rows, others) = (self.gold.rows.len(), self.actual.rows.len());
        let kinds =
            |table: &Table, column: usize| table.rows.iter().find_map(|row| kind(&row[column]));
        let is_alike = |one, two| kinds(self.gold, one) == kinds(self.actual, two);
        let Some(mapping) = nearest(&self.coding, is_alike) else {
            return counted(Grade::failed(class, reason), 0, rows, others)
                .with("missing_rows", examples(self.gold, 0..rows))
                .with("extra_rows", examples(self.actual, 0..others));
        };
        let pairs = self
            .pairing(&mapping)
            .pairs(&vec![0; rows], &vec![0; others]);
        let mut is_extra = vec![true; others];
        for row in pairs.iter().flatten() {
            is_extra[*row] = false;
        }
        let missing: Vec<usize> = (0..rows).filter(|row| pairs[*row].is_none()).collect();
        let extra: Vec<usize> = (0..others).filter(|row| is_extra[*row]).collect();
        let factor = fan_out::factor(
            self.gold,
            self.actual,
            &self.coding,
            &mapping,
            self.options.tolerance(),
        );
        let mut grade = match factor {
            None => Grade::failed(class, reason),
            Some(factor) => {
                let reason = format!("every number that differs is {factor} times the reference");
                Grade::failed(FailureClass::FanOut, reason).with("fan_out_factor", factor)
            }
        };
        grade = counted(grade, rows - missing.len(), missing.len(), extra.len());
        grade
            .with("missing_rows", examples(self.gold, missing))
            .with("extra_rows", examples(self.actual, extra))
    }
}

#[derive(PartialEq, Eq)]
enum CellKind {
    Bool,
    Number,
    Time,
    Text,
}

fn kind(cell: &Cell) -> Option<CellKind> {
    match cell {
        Cell::Null => None,
        Cell::Bool(_) => Some(CellKind::Bool),
        Cell::Number(_) | Cell::Whole(_) => Some(CellKind::Number),
        Cell::Time(_) => Some(CellKind::Time),
        Cell::Text(_) => Some(CellKind::Text),
    }
}

fn examples(table: &Table, rows: impl IntoIterator<Item = usize>) -> Vec<Value> {
    let shown = |row: usize| Value::Array(table.rows[row].iter().map(Cell::shown).collect());
    rows.into_iter().take(EXAMPLES).map(shown).collect()
}
