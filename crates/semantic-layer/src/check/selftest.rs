//! Self-tests of keys and totals. The caller runs the SQL read-only; [`judge`] evaluates the rows.

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SelfTestKind {
    GrainUnique,
    JoinTargetUnique,
    JoinKeysPresent,
    MeasureTotal,
}

impl SelfTestKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::GrainUnique => "grain_unique",
            Self::JoinTargetUnique => "join_target_unique",
            Self::JoinKeysPresent => "join_keys_present",
            Self::MeasureTotal => "measure_total",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// One number that must be 0.
    Zero,
    /// One number that should be 0.
    ZeroOrWarning,
    /// Two equal numbers; NULL counts as 0.
    SameTotals,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfTest {
    /// Such as `orders: one row per id`.
    pub name: String,
    /// Its file makes the claim.
    pub source: String,
    pub kind: SelfTestKind,
    /// Has one result row.
    pub sql: String,
    pub expectation: Expectation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everything,
    OneSource,
}

/// Returns the tests of all sources, or of `source`. Declarations that do not compile have none;
/// the validator reports them.
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

struct OnePart {
    name: String,
    sql: String,
    value: String,
    dimensions: Vec<String>,
    lifted: Vec<(String, String)>,
}

impl OnePart {
    /// `None` unless the plan has one part with one number.
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
