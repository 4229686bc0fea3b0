//! Groups to which a row can belong more than once.
//!
//! Counts over a table of pairs need no permission. Others need `across: count_each`, because
//! groups add up to more than the total, or `across: allocate`, which divides each row.

use sqlparser::ast::Expr;

use super::atoms::Evaluator;
use super::parts::Asked;
use super::refusals::{shown_ways, spelled, ways_to};
use crate::catalog::graph::{Crossing, Edge, NodeId, ways_apart};
use crate::model::error::{ErrorKind, QueryError};
use crate::names::Names;
use crate::names::aggregates::is_count;
use crate::names::query::Across;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Bridge {
    /// From the home, in order.
    pub(crate) joins: Vec<Edge>,
    pub(crate) dimensions: Vec<usize>,
    /// One of the found rows must pass these.
    pub(crate) filters: Vec<usize>,
    /// The columns that identify a row of the home.
    pub(crate) key: Vec<String>,
    pub(crate) weight: Option<Expr>,
}

impl Bridge {
    pub(super) fn is_needed(&self) -> bool {
        !self.dimensions.is_empty() || !self.filters.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Permission {
    Given(Vec<Edge>),
    /// Possible with `across: count_each`.
    Wanted,
    /// No such answer is exact.
    Impossible,
}

/// Fails if two equally good paths lead to `node`.
pub(super) fn permission(
    evaluator: &Evaluator<'_>,
    asked: &Asked<'_>,
    home: NodeId,
    node: NodeId,
) -> Result<Permission, QueryError> {
    let names = evaluator.names;
    let mut own = evaluator.atoms.iter().filter(|atom| atom.home == home);
    let is_plain = |atom: &super::Atom| atom.frame.is_plain() && atom.snapshot.is_none();
    if asked.time.is_some_and(|time| time.spine.is_some())
        || key(names, home)?.is_empty()
        || !own.all(is_plain)
    {
        return Ok(Permission::Impossible);
    }
    let is_given = asked.across != Across::Counts;
    match evaluator.crossing(home, node) {
        Crossing::Unreachable => Ok(Permission::Impossible),
        Crossing::Ambiguous(one, other) if is_given => {
            let ways = ways_apart(names.graph, &one, &other);
            let message = format!(
                "two equally short joins lead from `{}` to `{}`: {} and {}{}",
                names.node_name(home),
                names.node_name(node),
                spelled(names, home, &one),
                spelled(names, home, &other),
                if ways.is_empty() {
                    String::new()
                } else {
                    format!("; say which one with {}", shown_ways(&ways))
                }
            );
            let mut error =
                QueryError::new(ErrorKind::AmbiguousJoinPath, message).about(names.node_name(node));
            error.remedy.ways = ways_to(names, node, ways);
            Err(error)
        }
        // With permission, the query is refused with both paths.
        Crossing::Ambiguous(..) => Ok(Permission::Wanted),
        Crossing::Path(path) => {
            let mut all = evaluator.atoms.iter();
            let counts = all.all(|atom| atom.home == home && is_count(&atom.call));
            Ok(if is_given || counts && is_over_pairs(names, &path) {
                Permission::Given(path)
            } else {
                Permission::Wanted
            })
        }
    }
}

pub(super) fn key(names: Names<'_>, node: NodeId) -> Result<Vec<String>, QueryError> {
    let source = names.source(node)?;
    Ok(names.catalog.row_key(source))
}

/// The columns of the multiplying join and of the next one are the key.
fn is_over_pairs(names: Names<'_>, path: &[Edge]) -> bool {
    let mut steps = path
        .iter()
        .enumerate()
        .filter(|(_, edge)| !edge.relationship.is_safe());
    let (Some((at, into)), None) = (steps.next(), steps.next()) else {
        return false;
    };
    let Some(out) = path.get(at + 1) else {
        return false;
    };
    let Ok(pairs) = key(names, into.to) else {
        return false;
    };
    let mut columns: Vec<&str> = into.pairs.iter().map(|(_, to)| to.as_str()).collect();
    columns.extend(out.pairs.iter().map(|(from, _)| from.as_str()));
    columns.sort_unstable();
    columns.dedup();
    let mut key: Vec<&str> = pairs.iter().map(String::as_str).collect();
    key.sort_unstable();
    columns == key
}

/// Fails if two dimensions need one source along different joins.
pub(super) fn extend(
    names: Names<'_>,
    bridge: &mut Bridge,
    path: Vec<Edge>,
) -> Result<(), QueryError> {
    for edge in path {
        names.source(edge.to)?;
        match bridge.joins.iter().find(|known| known.to == edge.to) {
            None => bridge.joins.push(edge),
            Some(known) if *known == edge => {}
            Some(_) => {
                let message = format!(
                    "the query needs `{}` along two different joins; ask for one of them",
                    names.node_name(edge.to)
                );
                return Err(
                    QueryError::new(ErrorKind::Fanout, message).about(names.node_name(edge.to))
                );
            }
        }
    }
    Ok(())
}
