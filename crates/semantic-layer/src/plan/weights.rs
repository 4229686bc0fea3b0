//! Weights that divide a row among its groups.

use sqlparser::ast::{BinaryOperator, Expr};

use super::atoms::{Atom, Evaluator};
use super::parts::Asked;
use super::{Bridge, formulas};
use crate::catalog::graph::{Edge, NodeId};
use crate::model::error::{ErrorKind, QueryError};
use crate::model::resolved::Join;
use crate::names::aggregates::{self, Call, is_count};
use crate::names::query::{Across, Query};
use crate::names::{Names, Scope, bound, times};

/// Refuses a weight without `across: allocate`.
pub(super) fn check_words(query: &Query) -> Result<(), QueryError> {
    if query.weight.is_none() || query.across == Across::Allocate {
        return Ok(());
    }
    let message = "a `weight` divides rows among their groups: it goes with `across: allocate`";
    let mut error = QueryError::new(ErrorKind::InvalidQuery, message).about("weight");
    error.remedy.is_crossable = true;
    Err(error)
}

/// Fails if no weight is known, or an aggregate cannot be divided.
pub(super) fn weight(
    evaluator: &Evaluator<'_>,
    asked: &Asked<'_>,
    home: NodeId,
    bridge: &Bridge,
) -> Result<Expr, QueryError> {
    let names = evaluator.names;
    let own = evaluator.atoms.iter().filter(|atom| atom.home == home);
    if own.into_iter().any(|atom| !is_divisible(atom)) {
        let message = "`across: allocate` divides each row among its groups: it goes with sums and counts, not with other \
                       aggregates";
        let mut error = QueryError::new(ErrorKind::NotAdditive, message).about("across");
        error.remedy.is_crossable = true;
        return Err(error);
    }
    let nodes: Vec<NodeId> = bridge.joins.iter().map(|edge| edge.to).collect();
    if let Some(text) = asked.weight {
        let tree = names.parse(text, None)?;
        let tree = bound::bind_rows(tree, names.dialect, &mut |parts| {
            names.column(parts, Scope::QueryFilter)
        })
        .and_then(|tree| times::of_rows(tree, names))?;
        let beyond = bound::nodes(&tree)
            .into_iter()
            .find(|node| *node != home && !nodes.contains(node));
        return match beyond {
            None => Ok(tree),
            Some(node) => {
                let message = format!(
                    "`weight` names `{}`, which is not on the way from `{}` to its groups",
                    names.node_name(node),
                    names.node_name(home)
                );
                Err(QueryError::new(ErrorKind::InvalidQuery, message).about(text))
            }
        };
    }
    let mut declared: Vec<Expr> = Vec::new();
    for (node, text) in bridge.joins.iter().flat_map(|edge| of_join(names, edge)) {
        let source = names.source(node)?;
        let tree = names.parse(&text, Some(source))?;
        let tree = bound::bind_rows(tree, names.dialect, &mut |parts| {
            names.column(parts, Scope::Source(node))
        })
        .and_then(|tree| times::of_rows(tree, names))?;
        if !declared.contains(&tree) {
            declared.push(tree);
        }
    }
    let product = declared
        .into_iter()
        .reduce(|one, other| formulas::binary(one, BinaryOperator::Multiply, other));
    product.ok_or_else(|| {
        let mut joins = bridge.joins.iter();
        let into = joins.find(|edge| !edge.relationship.is_safe());
        let pairs = into.map_or("", |edge| names.node_name(edge.to));
        let message = format!(
            "no join from `{}` to its groups says what part of a row belongs to each: add `weight: COLUMN` to a join of \
             `{pairs}`, or give the query a `weight`, such as `{pairs}.share`",
            names.node_name(home)
        );
        let mut error = QueryError::new(ErrorKind::InvalidQuery, message).about("across");
        error.remedy.is_crossable = true;
        error
    })
}

/// From both sides, with the node of their columns.
fn of_join(names: Names<'_>, edge: &Edge) -> Vec<(NodeId, String)> {
    let source = |node: NodeId| names.source(node).ok();
    let turned: Vec<(String, String)> = edge
        .pairs
        .iter()
        .map(|(near, far)| (far.clone(), near.clone()))
        .collect();
    let sides = [
        (edge.from, edge.to, &edge.pairs),
        (edge.to, edge.from, &turned),
    ];
    let of_side = |(own, other, pairs): (NodeId, NodeId, &Vec<(String, String)>)| {
        let other = source(other).map(|other| other.name.as_str());
        let is_it = |join: &&Join| Some(join.to.as_str()) == other && join.pairs == *pairs;
        let joins = source(own).map_or(&[][..], |source| &source.joins);
        let found = joins.iter().filter(is_it);
        found
            .filter_map(|join| Some((own, join.weight.clone()?)))
            .collect::<Vec<_>>()
    };
    sides.into_iter().flat_map(of_side).collect()
}

fn is_divisible(atom: &Atom) -> bool {
    match &atom.call {
        Call::Rows => true,
        Call::Percentile { .. } => false,
        Call::Function(function) => {
            let name = aggregates::name_of(function);
            ["sum", "count"].contains(&name.as_str()) && !aggregates::is_distinct(function)
        }
    }
}

/// `weight` is SQL.
pub(crate) fn weighed(call: &Call, weight: &str) -> Call {
    use crate::sql::build::{call as called, digit};
    let weight = digit(weight);
    let sum = |tree: Expr| match called("SUM", vec![tree]) {
        Expr::Function(function) => Call::Function(function),
        _ => call.clone(),
    };
    match call {
        Call::Rows => sum(weight),
        Call::Function(function) => match aggregates::arguments(function).as_slice() {
            [value] if is_count(call) => {
                let is_there = Expr::IsNotNull(Box::new((*value).clone()));
                sum(aggregates::filtered(&weight, Some(&is_there)))
            }
            [value] => sum(formulas::binary(
                (*value).clone(),
                BinaryOperator::Multiply,
                weight,
            )),
            _ => call.clone(),
        },
        Call::Percentile { .. } => call.clone(),
    }
}
