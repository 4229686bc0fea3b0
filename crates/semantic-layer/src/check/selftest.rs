//! Self-tests of a semantic layer: unique keys, and totals that look-ups of dimensions do not
//! change.
//!
//! The caller runs the SQL read-only; [`judge`] evaluates the returned rows.

mod joins;
mod judge;
mod totals;

use std::collections::BTreeSet;

use ktx_sql::Dialect;
use ktx_sql::deep::deep;
use sqlparser::ast::Expr;

pub use judge::{Verdict, judge};

use crate::catalog::Catalog;
use crate::catalog::graph::NodeId;
use crate::emit::{self, Written};
use crate::model::authored::ColumnType;
use crate::model::error::QueryError;
use crate::names::aggregates::Call;
use crate::names::{Names, bound};
use crate::plan::atoms::Atom;
use crate::plan::{Dimension, Frame, Part, PartKind, Planned, PlannedMeasure};
use crate::sql::sql_text::identifier;

/// The claim that a test checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SelfTestKind {
    /// The grain identifies the rows of its source.
    GrainUnique,
    /// A join finds at most one row if it is declared so.
    JoinTargetUnique,
    /// Rows have the keys of their look-ups.
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

/// The expected content of the returned row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// One number, which must be 0; otherwise an error.
    Zero,
    /// One number, which should be 0; otherwise a warning.
    ZeroOrWarning,
    /// Two equal numbers; NULL counts as 0.
    SameTotals,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfTest {
    /// The claim, such as `orders: one row per id`.
    pub name: String,
    /// The source whose file makes the claim.
    pub source: String,
    /// The kind of claim.
    pub kind: SelfTestKind,
    /// One query in the catalog's dialect that returns one row.
    pub sql: String,
    /// The expected content of the row.
    pub expectation: Expectation,
}

/// Whether the grains of other sources are tested, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everything,
    OneSource,
}

/// Returns the tests of all sources, or of the one called `source`, in catalog order: grain, joins,
/// measures. No two have the same SQL. A join to the grain of a source needs no test if that source
/// is tested, too. Declarations that do not compile have no test; the validator reports them.
pub fn self_tests(catalog: &Catalog, source: Option<&str>) -> Vec<SelfTest> {
    deep(|| tests_of(catalog, source))
}

fn tests_of(catalog: &Catalog, source: Option<&str>) -> Vec<SelfTest> {
    let names = Names::of(catalog, catalog.dialect());
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
            request: 0,
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
        limit_per: Vec::new(),
        is_ordered: false,
        mark: None,
        others: crate::names::query::Others::LeaveOut,
        names,
        dimensions,
        measures: vec![PlannedMeasure {
            request: 0,
            tree: bound::atom(0),
            name: "row_count".to_owned(),
            reference: "count(*)".to_owned(),
            predefined: None,
        }],
        windows: Vec::new(),
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
            bridge: None,
        }],
        time: None,
        order: Vec::new(),
        limit: 0,
        notes: Vec::new(),
    })
}

/// The SQL of a plan with one part: its text, its name, its number column, and the tables before
/// it.
struct OnePart {
    name: String,
    sql: String,
    value: String,
    dimensions: Vec<String>,
    lifted: Vec<(String, String)>,
}

impl OnePart {
    /// Writes a plan; `None` unless it has exactly one part with one number.
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

fn with(dialect: Dialect, tables: &[(String, String)], select: &str) -> String {
    let tables: Vec<String> = tables
        .iter()
        .map(|(name, sql)| format!("{} AS (\n{sql}\n)", identifier(dialect, name)))
        .collect();
    format!("WITH {}\n{select}", tables.join(",\n"))
}

#[cfg(test)]
mod tests;
