//! Checks that a semantic layer carries in itself: keys that must be unique, totals that must not
//! change when a dimension is looked up.
//!
//! Everything is SQL for the caller to run read-only; [`judge`] reads the rows that come back.

mod joins;
mod judge;
mod totals;

use std::collections::BTreeSet;

use ktx_warehouse::Dialect;
use sqlparser::ast::Expr;

pub use judge::{Verdict, judge};

use crate::QueryError;
use crate::aggregates::Call;
use crate::catalog::Catalog;
use crate::deep::deep;
use crate::emit::{self, Written};
use crate::graph::NodeId;
use crate::names::Names;
use crate::planner::atoms::Atom;
use crate::planner::{Dimension, Frame, Part, PartKind, Planned, PlannedMeasure};
use crate::sql_text::identifier;
use crate::{ColumnType, bound};

/// What a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SelfTestKind {
    /// The grain tells the rows of its source apart.
    GrainUnique,
    /// A join finds at most one row where it says so.
    JoinTargetUnique,
    /// Rows have the keys that a join looks them up by.
    JoinKeysPresent,
    /// A measure's groups add up to its total.
    MeasureTotal,
}

impl SelfTestKind {
    /// The name in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GrainUnique => "grain_unique",
            Self::JoinTargetUnique => "join_target_unique",
            Self::JoinKeysPresent => "join_keys_present",
            Self::MeasureTotal => "measure_total",
        }
    }
}

/// What the one row that comes back must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// One number, and it is 0; anything else is an error.
    Zero,
    /// One number, and it is 0; anything else is worth a warning.
    ZeroOrWarning,
    /// Two equal numbers; no value counts as 0.
    SameTotals,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfTest {
    /// What is claimed, such as `orders: one row per id`.
    pub name: String,
    /// The source whose file makes the claim.
    pub source: String,
    /// What it is about.
    pub kind: SelfTestKind,
    /// One query in the catalog's dialect that answers one row.
    pub sql: String,
    /// What the row must hold.
    pub expectation: Expectation,
}

/// Whether the grains of other sources are checked as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everything,
    OneSource,
}

/// The checks of all sources, or of the one called `source`, in the order of the catalog: grain,
/// joins, measures. No two have the same SQL, and a join to the grain of a source needs no check of
/// its own where that source is checked too. What cannot be compiled has no check: the validator
/// reports it.
pub fn self_tests(catalog: &Catalog, source: Option<&str>) -> Vec<SelfTest> {
    deep(|| tests_of(catalog, source))
}

fn tests_of(catalog: &Catalog, source: Option<&str>) -> Vec<SelfTest> {
    let names = Names {
        catalog,
        dialect: catalog.dialect(),
    };
    let scope = match source {
        None => Scope::Everything,
        Some(_) => Scope::OneSource,
    };
    let mut tests: Vec<SelfTest> = Vec::new();
    for tested in &catalog.sources {
        let is_wanted = source.is_none_or(|name| name == tested.name);
        if is_wanted && tested.problem.is_none() {
            tests.extend(joins::tests(names, tested, scope));
            tests.extend(totals::tests(names, tested));
        }
    }
    let mut seen: BTreeSet<String> = BTreeSet::new();
    tests.retain(|test| seen.insert(test.sql.clone()));
    tests
}

/// A plan of one part over the rows of a home, without look-ups.
fn own_rows<'a>(
    names: Names<'a>,
    home: NodeId,
    keys: &[String],
    filters: Vec<Expr>,
) -> Result<Planned<'a>, QueryError> {
    let source = names.source(home)?;
    let mut dimensions = Vec::new();
    for key in keys {
        let native = source
            .column(key)
            .and_then(|(_, column)| column.native_type.clone());
        dimensions.push(Dimension {
            node: home,
            column: key.clone(),
            unit: None,
            native_type: native,
            tree: names.own_column(home, key)?,
            name: key.clone(),
            reference: key.clone(),
        });
    }
    Ok(Planned {
        names,
        dimensions,
        measures: vec![PlannedMeasure {
            tree: bound::atom(0),
            name: "row_count".to_owned(),
            reference: "count(*)".to_owned(),
            predefined: None,
        }],
        atoms: vec![Atom {
            call: Call::Rows,
            filters,
            home,
            kind: Some(ColumnType::Number),
            frame: Frame::default(),
            snapshot: None,
        }],
        row_filters: Vec::new(),
        group_filters: Vec::new(),
        parts: vec![Part {
            kind: PartKind::Groups,
            home,
            frame: Frame::default(),
            atoms: vec![0],
            joins: Vec::new(),
        }],
        time: None,
        order: Vec::new(),
        limit: 0,
        notes: Vec::new(),
    })
}

/// A plan of one part as SQL: its text, its name, its number column, what stands before it.
struct OnePart {
    name: String,
    sql: String,
    value: String,
    dimensions: Vec<String>,
    lifted: Vec<(String, String)>,
}

impl OnePart {
    /// Writes a plan; `None` when it does not come down to one part with one number.
    fn of(planned: &Planned<'_>) -> Result<Option<Self>, QueryError> {
        let Written {
            parts,
            measures,
            lifted,
            dimensions,
            ..
        } = emit::write(planned)?;
        Ok(match (parts.as_slice(), measures.as_slice()) {
            ([(name, sql)], [value]) => Some(Self {
                name: name.clone(),
                sql: sql.clone(),
                value: value.clone(),
                dimensions,
                lifted,
            }),
            _ => None,
        })
    }
}

/// `WITH … AS (…)` and a SELECT.
fn with(dialect: Dialect, tables: &[(String, String)], select: &str) -> String {
    let tables: Vec<String> = tables
        .iter()
        .map(|(name, sql)| format!("{} AS (\n{sql}\n)", identifier(dialect, name)))
        .collect();
    format!("WITH {}\n{select}", tables.join(",\n"))
}

#[cfg(test)]
mod tests;
