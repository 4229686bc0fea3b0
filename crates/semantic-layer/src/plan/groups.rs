//! Checks measure filters, which select groups but no rows within them.

use sqlparser::ast::Expr;

use super::atoms::Evaluator;
use super::filters::GroupFilter;
use super::{Dimension, PlannedMeasure};
use crate::catalog::graph::NodeId;
use crate::model::authored::Visibility;
use crate::model::error::{ErrorKind, QueryError};
use crate::names::{Names, bound};

pub(super) struct Tested<'a> {
    pub(super) dimensions: &'a [Dimension],
    pub(super) measures: &'a [PlannedMeasure],
    pub(super) filters: &'a [GroupFilter],
}

/// Without a dimension to select from, such filters are refused.
pub(super) fn check(
    evaluator: &mut Evaluator<'_>,
    tested: &Tested<'_>,
) -> Result<Vec<String>, QueryError> {
    let names = evaluator.names;
    let mut notes = Vec::new();
    for (text, filter) in tested.filters {
        let tests = homes(evaluator, filter);
        for measure in tested.measures {
            let counted = homes(evaluator, &measure.tree);
            let Some(home) = counted.first().copied() else {
                continue;
            };
            if counted.iter().any(|home| tests.contains(home)) {
                continue;
            }
            let finer = tests
                .iter()
                .copied()
                .find(|test| evaluator.routes(*test).reaches(home));
            match finer {
                _ if tested.dimensions.is_empty() => {
                    return Err(no_groups(names, text, measure, home));
                }
                Some(finer) if !tells_apart(names, tested.dimensions, home) => {
                    notes.push(format!(
                        "filter `{text}` keeps or drops whole groups of the answer: it does not choose among the \
                         rows of `{}` by their `{}`, and `{}` is over all of them",
                        names.node_name(home),
                        names.node_name(finer),
                        measure.name
                    ));
                }
                _ => {}
            }
        }
    }
    Ok(notes)
}

fn homes(evaluator: &Evaluator<'_>, tree: &Expr) -> Vec<NodeId> {
    let mut homes: Vec<NodeId> = Vec::new();
    for at in bound::atoms(tree) {
        if let Some(atom) = evaluator.atoms.get(at)
            && !homes.contains(&atom.home)
        {
            homes.push(atom.home);
        }
    }
    homes
}

/// True if the dimensions make a group of each row.
fn tells_apart(names: Names<'_>, dimensions: &[Dimension], node: NodeId) -> bool {
    let own = dimensions
        .iter()
        .filter(|one| one.node == node && one.unit.is_none());
    let columns: Vec<&str> = own.map(|one| one.column.as_str()).collect();
    let source = names.source(node).ok();
    source.is_some_and(|source| source.is_told_apart_by(&columns))
}

fn no_groups(names: Names<'_>, text: &str, measure: &PlannedMeasure, home: NodeId) -> QueryError {
    let name = names.node_name(home);
    let is_shown = |column: &&String| {
        let source = names.source(home).ok();
        let found = source.and_then(|source| source.column(column));
        found.is_some_and(|(_, column)| column.visibility != Visibility::Hidden)
    };
    let source = names.source(home).ok();
    let grain = source.map_or(&[] as &[String], |source| source.grain.as_slice());
    let keys: Vec<String> = grain
        .iter()
        .filter(is_shown)
        .map(|column| format!("{name}.{}", names.member(column)))
        .collect();
    let keys = if keys.len() == grain.len() {
        keys
    } else {
        Vec::new()
    };
    let instead = if keys.is_empty() {
        "a dimension".to_owned()
    } else {
        format!("`{}`", keys.join("`, `"))
    };
    let message = format!(
        "filter `{text}` cannot choose among the rows of `{name}` that `{}` counts: it tests the total over all rows; \
         group by {instead} to test it for each group",
        measure.reference
    );
    QueryError::new(ErrorKind::TotalFilter, message)
        .about(text)
        .suggest(keys)
}
