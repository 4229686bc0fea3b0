//! Remarks on valid but doubtful plans.

mod allowed;

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr};

use crate::emit::query_plan::{atom_text, filter_text};
use crate::names::bound;
use crate::plan::atoms::Atom;
use crate::plan::{Planned, PlannedMeasure, RowFilter, Sees};
use allowed::{Constant, tests};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedValue {
    pub source: String,
    pub column: String,
    pub field: String,
    pub value: String,
    pub filter: String,
}

pub(crate) fn of(planned: &Planned<'_>) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    for measure in &planned.measures {
        let found = contradiction(planned, measure).into_iter();
        for remark in found.chain(unequal_sides(planned, measure)) {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
    }
    remarks
}

fn contradiction(planned: &Planned<'_>, measure: &PlannedMeasure) -> Option<String> {
    let atoms = bound::atoms(&measure.tree);
    let atoms = atoms.iter().filter_map(|at| planned.atoms.get(*at));
    for atom in atoms {
        let seen = |filter: &&RowFilter| atom.frame.is_plain() || filter.sees == Sees::Rows;
        for filter in planned.row_filters.iter().filter(seen) {
            let own = atom
                .filters
                .iter()
                .find(|own| contradict(own, &filter.tree));
            if let Some(own) = own {
                return Some(format!(
                    "no row counts for `{}`: its own filter `{}` contradicts filter `{}`",
                    measure.name,
                    filter_text(planned, own),
                    filter.text
                ));
            }
        }
    }
    None
}

fn contradict(one: &Expr, other: &Expr) -> bool {
    let others = tests(other);
    tests(one).iter().any(|test| {
        let mut others = others.iter().filter(|other| other.operand == test.operand);
        others.any(|other| test.allowed.excludes(&other.allowed))
    })
}

fn unequal_sides(planned: &Planned<'_>, measure: &PlannedMeasure) -> Option<String> {
    let mut found: Option<(usize, usize)> = None;
    let flow = ktx_sql::visit_expressions(&measure.tree, |part| {
        let Expr::BinaryOp {
            left,
            op: BinaryOperator::Divide,
            right,
        } = part
        else {
            return ControlFlow::Continue(());
        };
        let (above, below) = (bound::atoms(left), bound::atoms(right));
        let pairs = above
            .iter()
            .flat_map(|one| below.iter().map(move |other| (*one, *other)));
        for (one, other) in pairs {
            let atoms = planned.atoms.get(one).zip(planned.atoms.get(other));
            if atoms.is_some_and(|(one, other)| are_unequal(one, other)) {
                found = Some((one, other));
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    });
    debug_assert_eq!(flow.is_break(), found.is_some());
    let (above, below) = found?;
    Some(format!(
        "the two sides of `{}` are over different rows: `{}` is divided by `{}`",
        measure.name,
        atom_text(planned, above),
        atom_text(planned, below)
    ))
}

/// A share of a total differs on purpose: the same aggregate with an extra filter.
fn are_unequal(one: &Atom, other: &Atom) -> bool {
    let holds = |all: &Atom, some: &Atom| some.filters.iter().all(|one| all.filters.contains(one));
    let (above, below) = (holds(one, other), holds(other, one));
    let is_share = one.call == other.call && (above || below);
    one.home == other.home && !(above && below) && !is_share
}

pub(crate) fn compared(planned: &Planned<'_>) -> Vec<ComparedValue> {
    let mut all = Vec::new();
    for filter in &planned.row_filters {
        for test in tests(&filter.tree) {
            // A field of a structured column has its own values.
            let is_whole =
                matches!(&test.operand, Expr::CompoundIdentifier(parts) if parts.len() == 2);
            let Some((node, column)) = bound::column_of(&test.operand).filter(|_| is_whole) else {
                continue;
            };
            let Ok(source) = planned.names.source(node) else {
                continue;
            };
            for value in test.allowed.values() {
                if let Constant::Text(value) = value {
                    all.push(ComparedValue {
                        source: source.name.clone(),
                        column: column.to_owned(),
                        field: format!("{}.{column}", planned.names.node_name(node)),
                        value: value.clone(),
                        filter: filter.text.clone(),
                    });
                }
            }
        }
    }
    all
}
