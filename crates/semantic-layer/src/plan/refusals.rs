//! Errors that several steps of the planner share, with alternatives.

use crate::catalog::graph::{Edge, NodeId};
use crate::model::error::{ErrorKind, QueryError};
use crate::model::resolved::Source;
use crate::names::refusals::having;
use crate::names::{Names, Scope};

pub(crate) fn ambiguous_path(
    names: Names<'_>,
    home: NodeId,
    node: NodeId,
    one: &[Edge],
    other: &[Edge],
) -> QueryError {
    let spelled = |path| spelled(names, home, path);
    let graph = &names.catalog.graph;
    let source = graph.node(node).map(|node| node.source);
    let roles = source.map_or(&[] as &[NodeId], |source| graph.roles_of(source));
    let message = format!(
        "two equally short joins lead from `{}` to `{}`: {} and {}; give a join an `alias` and use it",
        names.node_name(home),
        names.node_name(node),
        spelled(one),
        spelled(other)
    );
    QueryError::new(ErrorKind::AmbiguousJoinPath, message)
        .about(names.node_name(node))
        .suggest(roles.iter().map(|role| graph.name(*role)))
}

/// Formats a path, such as `visits -[doctor_id]-> doctors -[ward_id]-> wards`.
pub(crate) fn spelled(names: Names<'_>, home: NodeId, path: &[Edge]) -> String {
    let step = |edge: &Edge| {
        let on: Vec<&str> = edge.pairs.iter().map(|(from, _)| from.as_str()).collect();
        format!(" -[{}]-> {}", on.join(", "), names.node_name(edge.to))
    };
    let steps: String = path.iter().map(step).collect();
    format!("{}{steps}", names.node_name(home))
}

/// The error for a path that may change once the file of `missing` is readable.
pub(crate) fn doubtful_path(
    names: Names<'_>,
    home: NodeId,
    node: NodeId,
    missing: &str,
) -> QueryError {
    let mut error = names.catalog.unknown_source(missing);
    error.message = format!(
        "{}; the join from `{}` to `{}` may lead through it",
        error.message,
        names.node_name(home),
        names.node_name(node)
    );
    error
}

pub(crate) fn no_measure(names: Names<'_>, parts: &[&str]) -> QueryError {
    let text = parts.join(".");
    if names.is_column(parts) {
        if let Err(error) = names.column(parts, Scope::QueryFilter)
            && error.kind == ErrorKind::HiddenColumn
        {
            return error;
        }
        let message = format!("`{text}` is a column, not a measure; aggregate it");
        return QueryError::new(ErrorKind::NotAMeasure, message)
            .about(text.as_str())
            .suggest([format!("sum({text})"), format!("count({text})")]);
    }
    let (front, last) = match names.split_known(parts) {
        Some((node, rest)) => (Some(node), rest.first().copied().unwrap_or_default()),
        None => (None, parts.last().copied().unwrap_or_default()),
    };
    let mut known: Vec<(String, String)> = Vec::new();
    let mut add = |prefix: &str, source: &Source| {
        let all = source.measures.iter();
        known.extend(all.map(|one| (one.name.clone(), format!("{prefix}.{}", one.name))));
    };
    match front.map(|node| (names.node_name(node), names.source(node))) {
        Some((prefix, Ok(source))) => add(prefix, source),
        // A source with a problem suggests nothing.
        Some((_, Err(_))) => {}
        None => {
            for source in &names.catalog.sources {
                add(&source.name, source);
            }
        }
    }
    let near = crate::catalog::near::nearest(last, known.iter().map(|(name, _)| name.as_str()));
    let whole = near
        .into_iter()
        .filter_map(|name| known.iter().find(|(one, _)| one == name));
    let mut suggestions: Vec<String> = whole.map(|(_, whole)| whole.clone()).collect();
    if suggestions.is_empty() {
        let elsewhere = names.catalog.members().measures(last).iter();
        let sources = elsewhere.filter_map(|place| names.catalog.sources.get(*place));
        suggestions.extend(
            sources
                .take(8)
                .map(|source| format!("{}.{last}", source.name)),
        );
    }
    let mut message = format!("unknown measure `{text}`");
    if suggestions.is_empty()
        && let Some(node) = front
        && names.source(node).is_ok()
    {
        let prefix = names.node_name(node);
        let known: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        message.push_str(&having(prefix, "measures", &known));
        if known.is_empty() {
            suggestions.push(format!("count({prefix}.*)"));
        }
    }
    QueryError::new(ErrorKind::UnknownMeasure, message)
        .about(text.as_str())
        .suggest(suggestions)
}
