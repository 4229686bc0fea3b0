//! Errors that several steps of the planner share, with alternatives.

use crate::catalog::graph::{Edge, NodeId, spellings};
use crate::model::error::{ErrorKind, QueryError, Renaming};
use crate::model::resolved::Source;
use crate::names::refusals::having;
use crate::names::{Names, Scope};

/// The error for several paths of equal rank, with a name for each.
pub(crate) fn ambiguous_path(
    names: Names<'_>,
    home: NodeId,
    node: NodeId,
    one: &[Edge],
    other: &[Edge],
) -> QueryError {
    let graph = names.graph;
    let roles = graph.node(node).map(|node| graph.roles_of(node.source));
    let authored = roles
        .into_iter()
        .flatten()
        .filter(|role| !graph.is_behind_role(**role));
    let mut clear: Vec<String> = authored.map(|role| graph.name(*role).to_owned()).collect();
    let paths = spellings(names.catalog, graph, home, node, one.len().max(other.len()));
    clear.extend(
        paths
            .into_iter()
            .filter(|path| {
                let own = path.strip_prefix(names.node_name(home));
                let role = own.and_then(|path| path.strip_prefix('.')).unwrap_or(path);
                !clear.iter().any(|known| known == role)
            })
            .collect::<Vec<_>>(),
    );
    let message = format!(
        "two equally short joins lead from `{}` to `{}`: {} and {}; {}",
        names.node_name(home),
        names.node_name(node),
        spelled(names, home, one),
        spelled(names, home, other),
        if clear.is_empty() {
            "give a join an `alias` and use it"
        } else {
            "name the one that is meant"
        }
    );
    let renaming = |to: &String| Renaming {
        from: graph.name(node).to_owned(),
        to: to.clone(),
    };
    let mut error =
        QueryError::new(ErrorKind::AmbiguousJoinPath, message).about(names.node_name(node));
    error.remedy.renamings = clear.iter().map(renaming).collect();
    error.suggest(clear)
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
