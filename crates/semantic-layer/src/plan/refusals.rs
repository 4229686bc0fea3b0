//! Errors shared by several steps of the planner.

use crate::catalog::graph::{Edge, NodeId, Routes, role_of_key, spellings, ways_apart};
use crate::model::error::{ErrorKind, QueryError, Renaming, Way};
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
    let ways = ways_apart(graph, one, other);
    let message = format!(
        "two equally short joins lead from `{}` to `{}`: {} and {}; {}",
        names.node_name(home),
        names.node_name(node),
        spelled(names, home, one),
        spelled(names, home, other),
        match (clear.is_empty(), ways.is_empty()) {
            (false, _) => "name the one that is meant".to_owned(),
            (true, false) => format!("say which one with {}", shown_ways(&ways)),
            (true, true) => "give a join an `alias` and use it".to_owned(),
        }
    );
    let renaming = |to: &String| Renaming {
        from: graph.name(node).to_owned(),
        to: to.clone(),
    };
    let mut error =
        QueryError::new(ErrorKind::AmbiguousJoinPath, message).about(names.node_name(node));
    error.remedy.renamings = clear.iter().map(renaming).collect();
    if clear.is_empty() {
        error.remedy.ways = ways_to(names, node, ways);
    }
    error.suggest(clear)
}

/// A column of the home is named like a key of this source or of one that looks it up.
pub(super) fn missing_join(names: Names<'_>, home: NodeId, target: NodeId) -> Option<String> {
    let own = names.source(home).ok()?;
    let wanted = names.graph.node(target)?.source;
    let leads_there =
        |node: NodeId| node == wanted || Routes::new(&names.catalog.graph, node).reaches(wanted);
    let found = names
        .catalog
        .sources
        .iter()
        .enumerate()
        .find_map(|(node, source)| {
            let [key] = source.grain.as_slice() else {
                return None;
            };
            let is_candidate = source.name != own.name && source.has_declared_grain;
            let column = own.columns.iter().filter(|_| is_candidate).find(|column| {
                column.expr.is_none() && names_key(&column.name, &source.name, key)
            })?;
            leads_there(node).then(|| (column.name.clone(), source.name.clone(), key.clone()))
        });
    let (column, to, key) = found?;
    let (column, key) = (names.member(&column), names.member(&key));
    Some(format!(
        "; if `{column}` is a key of `{to}`, add `joins: [{{to: {to}, on: {column} = {to}.{key}, relationship: \
         many_to_one}}]` to the file of `{}`",
        own.name
    ))
}

/// True for `customer_id` and `customers`.
fn names_key(column: &str, source: &str, key: &str) -> bool {
    let source = source.rsplit('.').next().unwrap_or(source).to_lowercase();
    let role = role_of_key(column, key).to_lowercase();
    let singular = [
        source.strip_suffix("ies").map(|stem| format!("{stem}y")),
        source.strip_suffix("es").map(str::to_owned),
        source.strip_suffix('s').map(str::to_owned),
        Some(source.clone()),
    ];
    role.len() < column.len() && singular.into_iter().flatten().any(|name| name == role)
}

pub(super) fn ways_to(names: Names<'_>, node: NodeId, ways: Vec<Vec<String>>) -> Vec<Way> {
    let to = names.node_name(node).to_owned();
    let way = |through| Way {
        to: to.clone(),
        through,
    };
    ways.into_iter().map(way).collect()
}

pub(super) fn shown_ways(ways: &[Vec<String>]) -> String {
    let shown: Vec<String> = ways
        .iter()
        .map(|way| format!("`via {}`", way.join(", ")))
        .collect();
    shown.join(" or ")
}

/// Formats `visits -[doctor_id]-> doctors -[ward_id]-> wards`.
pub(crate) fn spelled(names: Names<'_>, home: NodeId, path: &[Edge]) -> String {
    names.graph.spelled(home, path)
}

/// The path may change once the file of `missing` is readable.
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
