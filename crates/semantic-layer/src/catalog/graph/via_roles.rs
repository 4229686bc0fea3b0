//! Roles reached through named sources: `city.name via staff`.

use super::role_paths::RolePaths;
use super::{Crossing, Edge, Graph, Lookup, NodeId, Routes};
use crate::catalog::Catalog;
use crate::model::error::{ErrorKind, QueryError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Via {
    pub(crate) target: NodeId,
    pub(crate) through: Vec<NodeId>,
}

pub(crate) fn via_name(target: &str, through: &[String]) -> String {
    format!("{target} via {}", through.join(", "))
}

/// Fails unless exactly one best path leads from each source of a way to the next.
pub(crate) fn with_via_roles(
    catalog: &Catalog,
    graph: Option<Graph>,
    ways: &[Via],
) -> Result<Option<Graph>, QueryError> {
    let mut roles = RolePaths { catalog, graph };
    for way in ways {
        roles.add_way(way)?;
    }
    Ok(roles.graph)
}

impl RolePaths<'_> {
    fn add_way(&mut self, way: &Via) -> Result<(), QueryError> {
        let Some((first, rest)) = way.through.split_first() else {
            return Ok(());
        };
        let through: Vec<String> = way
            .through
            .iter()
            .map(|node| self.graph().name(*node).to_owned())
            .collect();
        let mut steps: Vec<Edge> = Vec::new();
        let mut from = *first;
        for to in rest.iter().chain([&way.target]) {
            steps.extend(leg(self.graph(), from, *to)?);
            from = *to;
        }
        let target = via_name(self.graph().name(way.target), &through);
        if self.graph().node_id(&target).is_some() {
            return Ok(());
        }
        let mut passed: Vec<NodeId> = Vec::new();
        let mut at = *first;
        let count = steps.len();
        for (number, edge) in steps.into_iter().enumerate() {
            let name = if number + 1 == count {
                target.clone()
            } else {
                format!("{} to {target}", self.graph().name(edge.to))
            };
            let role = self.add_role(name, edge.to);
            self.connect(at, role, &edge);
            passed.push(role);
            at = role;
        }
        self.editable().mark_way(&passed);
        Ok(())
    }
}

impl Graph {
    fn mark_way(&mut self, passed: &[NodeId]) {
        if let Some(target) = passed.last() {
            self.ways.extend(passed.iter().map(|role| (*role, *target)));
        }
    }

    /// Formats `visits -[doctor_id]-> doctors -[ward_id]-> wards`.
    pub(crate) fn spelled(&self, home: NodeId, path: &[Edge]) -> String {
        let step = |edge: &Edge| {
            let on: Vec<&str> = edge.pairs.iter().map(|(from, _)| from.as_str()).collect();
            format!(" -[{}]-> {}", on.join(", "), self.name(edge.to))
        };
        let steps: String = path.iter().map(step).collect();
        format!("{}{steps}", self.name(home))
    }
}

fn leg(graph: &Graph, from: NodeId, to: NodeId) -> Result<Vec<Edge>, QueryError> {
    let ambiguous = |one: &[Edge], other: &[Edge]| {
        let message = format!(
            "`via`: two equally short joins lead from `{}` to `{}`: {} and {}; name one more source on the way",
            graph.name(from),
            graph.name(to),
            graph.spelled(from, one),
            graph.spelled(from, other)
        );
        QueryError::new(ErrorKind::AmbiguousJoinPath, message).about(graph.name(to))
    };
    match Routes::new(graph, from).lookup(to) {
        Lookup::Path(path) => return Ok(path),
        Lookup::Ambiguous(one, other) => return Err(ambiguous(&one, &other)),
        Lookup::Doubtful(_) | Lookup::Unsafe(_) | Lookup::Unreachable => {}
    }
    match graph.crossing(from, to) {
        Crossing::Path(path) => Ok(path),
        Crossing::Ambiguous(one, other) => Err(ambiguous(&one, &other)),
        Crossing::Unreachable => {
            let message = format!(
                "`via`: no join leads from `{}` to `{}`",
                graph.name(from),
                graph.name(to)
            );
            Err(QueryError::new(ErrorKind::NoJoinPath, message).about(graph.name(from)))
        }
    }
}

/// Returns for each path the last source that the other one lacks.
pub(crate) fn ways_apart(graph: &Graph, one: &[Edge], other: &[Edge]) -> Vec<Vec<String>> {
    let between = |path: &[Edge]| -> Vec<NodeId> {
        let before = path.split_last().map_or(&[][..], |(_, before)| before);
        before.iter().map(|edge| edge.to).collect()
    };
    let (one, other) = (between(one), between(other));
    let only = |own: &[NodeId], others: &[NodeId]| {
        own.iter()
            .rev()
            .find(|node| !others.contains(node))
            .map(|node| vec![graph.name(*node).to_owned()])
    };
    [only(&one, &other), only(&other, &one)]
        .into_iter()
        .flatten()
        .collect()
}
