//! Notes the path taken if another one leads to other rows of the same source.

use super::atoms::Evaluator;
use super::refusals::spelled;
use super::{Part, PartKind};
use crate::catalog::graph::{Edge, NodeId, Routes, path_name};
use crate::names::Names;

pub(super) fn note_rivals(evaluator: &mut Evaluator<'_>, parts: &[Part], notes: &mut Vec<String>) {
    let names = evaluator.names;
    let graph = names.graph;
    for part in parts.iter().filter(|part| part.kind != PartKind::Members) {
        for edge in &part.joins {
            // For a look-up inherited by a role, the choice was among the paths of its source.
            let (home, node, rival) = if let Some((source, node)) = graph.behind(edge.to) {
                let rival = Routes::new(graph, source).rival(node);
                (source, node, rival)
            } else {
                let rival = evaluator.routes(part.home).rival(edge.to);
                (part.home, edge.to, rival)
            };
            let Some((taken, other)) = rival else {
                continue;
            };
            let mut note = format!(
                "`{}` is looked up along {}; another path, {}, may give other numbers",
                names.node_name(node),
                spelled(names, home, &taken),
                spelled(names, home, &other),
            );
            if graph.behind(edge.to).is_none() {
                note.push_str(&advice(names, home, node, &taken, &other));
            }
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
}

/// By a role where the path leaves the other one, or by its own name.
fn advice(names: Names<'_>, home: NodeId, node: NodeId, taken: &[Edge], other: &[Edge]) -> String {
    let graph = names.graph;
    let mut steps = other.iter().enumerate();
    let Some((at, fork)) = steps.find(|(at, step)| taken.get(*at) != Some(step)) else {
        return String::new();
    };
    let behind = |role: &str| {
        if at + 1 == other.len() {
            role.to_owned()
        } else {
            format!("{role}.{}", names.node_name(node))
        }
    };
    let is_role = |edge: &&Edge| {
        let source = |node| graph.node(node).map(|node| node.source);
        graph.is_alias(edge.to) && source(edge.to) == source(fork.to) && edge.pairs == fork.pairs
    };
    let mut roles = graph.edges_from(fork.from).iter().filter(is_role);
    let role = roles.find_map(|edge| {
        let role = behind(names.node_name(edge.to));
        graph.node_id(&role).map(|_| role)
    });
    let role = role.or_else(|| path_name(names.catalog, graph, home, other));
    role.map_or_else(String::new, |role| {
        format!("; to take that one, ask for `{role}`")
    })
}
