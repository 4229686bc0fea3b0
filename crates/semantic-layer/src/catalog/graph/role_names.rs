//! The words that name joins.

use std::collections::{BTreeSet, VecDeque};

use super::{Edge, Graph, Lookup, NodeId, Routes};
use crate::catalog::Catalog;
use crate::model::resolved::{Join, Source};

/// Endings of key columns that do not describe the row.
const KEY_ENDINGS: [&str; 14] = [
    "_id", "_key", "_code", "_fk", "_sk", "_uuid", "_guid", "_ref", "_no", "_nr", "Id", "ID",
    "Key", "Code",
];

const SHARED_ENDINGS: [&str; 4] = ["id", "key", "code", "nr"];

/// Beginnings of key columns: `id_cliente`.
const KEY_BEGINNINGS: [&str; 4] = ["id_", "fk_", "sk_", "cod_"];

/// Returns the role that a key column gives: `billtoaddressid` to `addressid` is `billtoaddress`.
pub(crate) fn role_of_key<'c>(column: &'c str, far: &str) -> &'c str {
    let ending = KEY_ENDINGS.iter().find_map(|ending| {
        let at = column.len().checked_sub(ending.len())?;
        let is_there = if ending.starts_with('_') {
            column.get(at..)?.eq_ignore_ascii_case(ending)
        } else {
            column.get(at..)? == *ending
        };
        (is_there && at > 0).then_some(at)
    });
    let shared = SHARED_ENDINGS.iter().find_map(|ending| {
        let at = column
            .len()
            .checked_sub(ending.len())
            .filter(|at| *at > 0)?;
        let far = far.get(far.len().checked_sub(ending.len())?..)?;
        let is_there = column.get(at..)?.eq_ignore_ascii_case(ending);
        (is_there && far.eq_ignore_ascii_case(ending)).then_some(at)
    });
    let ending = ending.or(shared);
    let stem = ending.and_then(|at| column.get(..at)).unwrap_or(column);
    let begun = KEY_BEGINNINGS.iter().find_map(|beginning| {
        let front = stem.get(..beginning.len())?;
        let rest = stem
            .get(beginning.len()..)
            .filter(|rest| !rest.is_empty())?;
        front.eq_ignore_ascii_case(beginning).then_some(rest)
    });
    begun.unwrap_or(stem).trim_end_matches('_')
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) edge: Edge,
    /// Names this join and no other one of its source.
    pub(crate) word: String,
}

pub(crate) fn steps(catalog: &Catalog, source: usize) -> Vec<Step> {
    let graph = &catalog.graph;
    let edges: Vec<Edge> = lookups(catalog, source);
    let leading_to = |node: NodeId| edges.iter().filter(|edge| edge.to == node).count();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut steps = Vec::new();
    for edge in &edges {
        let target = graph.name(edge.to);
        let words = [
            (graph.is_alias(edge.to) || leading_to(edge.to) == 1 && edge.to != source)
                .then_some(target),
            key_role(edge),
        ];
        let word = words
            .into_iter()
            .flatten()
            .find(|word| !taken.contains(&word.to_lowercase()));
        if let Some(word) = word {
            taken.insert(word.to_lowercase());
            steps.push(Step {
                edge: edge.clone(),
                word: word.to_owned(),
            });
        }
    }
    steps
}

pub(crate) fn join_name(catalog: &Catalog, source: &Source, join: &Join) -> Option<String> {
    let graph = &catalog.graph;
    let own = graph.node_id(&source.name)?;
    let target = graph.node_id(&join.to)?;
    let mut steps = steps(catalog, own).into_iter();
    let step = steps.find(|step| step.edge.to == target && step.edge.pairs == join.pairs)?;
    (step.word != graph.name(target)).then(|| format!("{}.{}", source.name, step.word))
}

fn lookups(catalog: &Catalog, source: usize) -> Vec<Edge> {
    let graph = &catalog.graph;
    let mut edges: Vec<Edge> = graph
        .safe_edges_from(source)
        .filter(|edge| !graph.is_behind_role(edge.to) && graph.behind(edge.to).is_none())
        .cloned()
        .collect();
    let Some(own) = catalog.sources.get(source) else {
        return edges;
    };
    let to_itself = own
        .joins
        .iter()
        .filter(|join| join.to == own.name && join.alias.is_none() && join.relationship.is_safe());
    edges.extend(to_itself.map(|join| Edge {
        from: source,
        to: source,
        relationship: join.relationship,
        pairs: join.pairs.clone(),
        grounds: super::build::grounds(join, own, join.pairs.iter().map(|(_, far)| far.as_str())),
        origin: join.origin,
        counted: join.counted,
    }));
    edges
}

/// `None` for a join on several columns.
fn key_role(edge: &Edge) -> Option<&str> {
    match edge.pairs.as_slice() {
        [(column, far)] => Some(role_of_key(column, far)),
        _ => None,
    }
}

const MOST_SPELLED: usize = 8;

/// A dense graph has too many paths.
const MOST_TRIED: usize = 5_000;

/// Spells paths for queries, each from the last unambiguous place.
pub(crate) fn spellings(
    catalog: &Catalog,
    graph: &Graph,
    home: NodeId,
    target: NodeId,
    longest: usize,
) -> Vec<String> {
    let source_of = |node: NodeId| graph.node(node).map_or(node, |node| node.source);
    let wanted = source_of(target);
    let routes = Routes::new(graph, home);
    let mut found: Vec<String> = Vec::new();
    let mut open: VecDeque<Vec<Step>> = VecDeque::from([Vec::new()]);
    let mut tried = 0;
    while let Some(path) = open.pop_front() {
        tried += 1;
        if tried > MOST_TRIED {
            break;
        }
        let last = path
            .last()
            .map_or(source_of(home), |step| source_of(step.edge.to));
        if last == wanted && !path.is_empty() {
            found.push(spelling(graph, &routes, home, &path));
            if found.len() == MOST_SPELLED {
                break;
            }
            continue;
        }
        if path.len() == longest {
            continue;
        }
        let all = steps(catalog, last);
        let has_alias = |one: &Step| {
            !graph.is_alias(one.edge.to)
                && all.iter().any(|other| {
                    graph.is_alias(other.edge.to)
                        && source_of(other.edge.to) == source_of(one.edge.to)
                        && other.edge.pairs == one.edge.pairs
                })
        };
        let next = all.iter().filter(|next| {
            let to = source_of(next.edge.to);
            to != source_of(home)
                && path.iter().all(|step| source_of(step.edge.to) != to)
                && !has_alias(next)
        });
        open.extend(next.map(|next| {
            let mut longer = path.clone();
            longer.push(next.clone());
            longer
        }));
    }
    found
}

/// `None` if a join on the path has no word of its own.
pub(crate) fn path_name(
    catalog: &Catalog,
    graph: &Graph,
    home: NodeId,
    path: &[Edge],
) -> Option<String> {
    let source_of = |node: NodeId| graph.node(node).map_or(node, |node| node.source);
    let named = |edge: &Edge| {
        let mut own = steps(catalog, source_of(edge.from)).into_iter();
        own.find(|step| step.edge.pairs == edge.pairs && step.edge.to == edge.to)
    };
    let path: Vec<Step> = path.iter().map(named).collect::<Option<_>>()?;
    Some(spelling(graph, &Routes::new(graph, home), home, &path))
}

fn spelling(graph: &Graph, routes: &Routes<'_>, home: NodeId, path: &[Step]) -> String {
    let is_clear = |count: &usize| {
        let Some(node) = count
            .checked_sub(1)
            .and_then(|at| path.get(at))
            .map(|step| step.edge.to)
        else {
            return true;
        };
        let steps = path.iter().take(*count);
        match routes.lookup(node) {
            Lookup::Path(taken) => {
                taken.len() == *count
                    && taken.iter().zip(steps).all(|(taken, step)| {
                        taken.to == step.edge.to && taken.pairs == step.edge.pairs
                    })
            }
            _ => false,
        }
    };
    let begun = (0..path.len()).rev().find(is_clear).unwrap_or_default();
    let root = match begun.checked_sub(1).and_then(|at| path.get(at)) {
        Some(step) => graph.name(step.edge.to),
        None => graph.name(home),
    };
    let words = path.iter().skip(begun).map(|step| step.word.as_str());
    std::iter::once(root)
        .chain(words)
        .collect::<Vec<_>>()
        .join(".")
}

/// Returns whether a word is the key column of a join, with or without its ending.
pub(super) fn has_role(edge: &Edge, word: &str) -> bool {
    let is_column =
        matches!(edge.pairs.as_slice(), [(column, _)] if column.eq_ignore_ascii_case(word));
    is_column || key_role(edge).is_some_and(|role| role.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests;
