//! Checks joins and the shape of the graph.

use std::collections::BTreeSet;

use super::{Finding, Findings};
use crate::catalog::Catalog;
use crate::catalog::graph::{Edge, Lookup, NodeId, Routes};
use crate::model::authored::Relationship;
use crate::model::error::ErrorKind;
use crate::model::part::Part;
use crate::model::resolved::{Join, Source};

const DISPLAY: [&str; 5] = ["name", "email", "label", "title", "description"];

const MOST_COMPARED: usize = 1_000_000;

pub(super) fn check(catalog: &Catalog, source: &Source, found: &mut Findings<'_>) {
    for (at, join) in source.joins.iter().enumerate() {
        let part = Part::Join(at);
        let Some(target) = catalog.source(&join.to) else {
            continue;
        };
        for (local, remote) in &join.pairs {
            if source.column(local).is_none() {
                let message = format!(
                    "join `{}`: `{}` has no column `{local}`",
                    join.on, source.name
                );
                found.error((source, &part), ErrorKind::JoinLocalColumn, message);
            }
            if target.column(remote).is_none() {
                let message = format!(
                    "join `{}`: `{}` has no column `{remote}`",
                    join.on, target.name
                );
                found.error((source, &part), ErrorKind::JoinTargetColumn, message);
            }
            if is_display_join(join, local, remote, target) {
                let message = format!(
                    "join `{}`: `{local}` looks like display text, `{remote}` is a key",
                    join.on
                );
                found.error((source, &part), ErrorKind::DisplayValueJoin, message);
            }
        }
        if let Some(message) = contradictory(source, target, join) {
            found.error((source, &part), ErrorKind::ContradictoryJoin, message);
        }
        if let Some(message) = unproven(source, target, join) {
            found.warn((source, &part), ErrorKind::UnprovenJoin, message);
        }
    }
}

/// By its two declarations, neither side may look up the other.
fn contradictory(source: &Source, target: &Source, join: &Join) -> Option<String> {
    let turned = |back: &Join| {
        let mut one: Vec<(&String, &String)> =
            back.pairs.iter().map(|(near, far)| (far, near)).collect();
        let mut other: Vec<(&String, &String)> =
            join.pairs.iter().map(|(near, far)| (near, far)).collect();
        one.sort();
        other.sort();
        back.to == source.name && back.alias == join.alias && one == other
    };
    let back = target.joins.iter().find(|back| turned(back))?;
    let is_safe = |one: &Join, other: &Join| {
        one.relationship.is_safe() && other.relationship.inverted().is_safe()
    };
    if source.name > target.name || is_safe(join, back) || is_safe(back, join) {
        return None;
    }
    Some(format!(
        "join `{}` is declared {} here and {} in `{}`: the two contradict each other, and no query can go along \
         it; declare `one_to_one`, or `many_to_one` on one side and `one_to_many` on the other",
        join.on,
        join.relationship.name(),
        back.relationship.name(),
        target.name
    ))
}

/// Reports a join that only its declaration makes safe.
fn unproven(source: &Source, target: &Source, join: &Join) -> Option<String> {
    let near: Vec<&str> = join.pairs.iter().map(|(near, _)| near.as_str()).collect();
    let far: Vec<&str> = join.pairs.iter().map(|(_, far)| far.as_str()).collect();
    let sides: &[(&Source, &[&str])] = match join.relationship {
        Relationship::ManyToOne => &[(target, &far)],
        Relationship::OneToMany => &[(source, &near)],
        Relationship::OneToOne => &[(target, &far), (source, &near)],
    };
    if join.origin.is_scanned() {
        return None;
    }
    let (found, columns) = sides.iter().find(|(found, columns)| {
        let are_there = columns.iter().all(|name| found.column(name).is_some());
        are_there && !found.is_told_apart_by(columns)
    })?;
    Some(format!(
        "join `{}` is declared {}, and {}: where several rows match, numbers come out too high; \
         look with `ktx sl validate --live` or `ktx sl test`, or declare the key",
        join.on,
        join.relationship.name(),
        found.doubt_about(columns)
    ))
}

fn is_display_join(join: &Join, local: &str, remote: &str, target: &Source) -> bool {
    let is_lookup = matches!(
        join.relationship,
        Relationship::ManyToOne | Relationship::OneToOne
    );
    let local = local.to_lowercase();
    let is_display = DISPLAY
        .iter()
        .any(|word| local == *word || local.ends_with(&format!("_{word}")));
    let lower = remote.to_lowercase();
    let is_key = lower == "id" || lower.ends_with("_id");
    let is_grain = target
        .grain
        .iter()
        .any(|entry| entry.eq_ignore_ascii_case(remote));
    is_lookup && is_display && is_key && is_grain
}

pub(super) fn check_graph(catalog: &Catalog, touched: &BTreeSet<&str>, found: &mut Findings<'_>) {
    for (alias, declaring) in &catalog.graph.clashes {
        if let Some(source) = catalog.source(declaring) {
            let message = format!("alias `{alias}` is the name of something else already");
            let part = join_where(source, |join| join.alias.as_deref() == Some(alias));
            found.error((source, &part), ErrorKind::DuplicateAlias, message);
        }
    }
    for (alias, first, other) in &catalog.graph.shared_roles {
        if let Some(source) = catalog.source(other) {
            let message = format!(
                "alias `{alias}` is declared in `{first}` as well: the two are one role, and measures of \
                 both sources meet there; give them two names where that is not meant"
            );
            let part = join_where(source, |join| join.alias.as_deref() == Some(alias));
            found.warn((source, &part), ErrorKind::DuplicateAlias, message);
        }
    }
    for name in &catalog.graph.self_joins {
        if let Some(source) = catalog.source(name) {
            let message = format!("source `{name}` joins itself; give the join an `alias`");
            let is_meant =
                |join: &Join| join.alias.is_none() && join.to == *name && !join.origin.is_scanned();
            if !source.joins.iter().any(is_meant) {
                continue;
            }
            let part = join_where(source, is_meant);
            found.warn((source, &part), ErrorKind::AmbiguousJoin, message);
        }
    }
    components(catalog, touched, found);
    ambiguous_paths(catalog, found);
}

fn join_where(source: &Source, is_meant: impl Fn(&Join) -> bool) -> Part {
    Part::Join(source.joins.iter().position(is_meant).unwrap_or_default())
}

fn ambiguous_paths(catalog: &Catalog, found: &mut Findings<'_>) {
    let graph = &catalog.graph;
    let mut compared = 0;
    for (home, place) in graph.nodes().filter(|(_, place)| !place.is_alias) {
        let Some(source) = catalog.sources.get(place.source) else {
            continue;
        };
        let routes = Routes::new(graph, home);
        for node in routes.nodes() {
            compared += 1;
            if routes.is_ambiguous(node) && is_authored(catalog, &routes.lookup(node)) {
                let message = format!(
                    "two equally short joins lead from `{}` to `{}`; an `alias` would tell them apart",
                    place.name,
                    graph.name(node)
                );
                let leads_there = |join: &Join| join.to == graph.name(node);
                let part = join_where(source, leads_there);
                found.warn((source, &part), ErrorKind::AmbiguousJoin, message);
            }
        }
        if compared > MOST_COMPARED {
            return;
        }
    }
}

/// A query over ambiguous scanned joins is refused with both paths.
fn is_authored(catalog: &Catalog, lookup: &Lookup) -> bool {
    let Lookup::Ambiguous(one, other) = lookup else {
        return true;
    };
    let own = one.iter().filter(|edge| !other.contains(edge));
    let others = other.iter().filter(|edge| !one.contains(edge));
    own.chain(others).any(|edge| !is_scanned(catalog, edge))
}

fn is_scanned(catalog: &Catalog, edge: &Edge) -> bool {
    let graph = &catalog.graph;
    let behind = |node: NodeId| catalog.sources.get(graph.node(node)?.source);
    let (Some(from), Some(to)) = (behind(edge.from), behind(edge.to)) else {
        return false;
    };
    if graph.is_alias(edge.from) || graph.is_alias(edge.to) {
        return false;
    }
    let turned: Vec<(String, String)> = edge
        .pairs
        .iter()
        .map(|(near, far)| (far.clone(), near.clone()))
        .collect();
    let declared = |source: &Source, target: &Source, pairs: &[(String, String)]| {
        let is_it = |join: &&Join| join.to == target.name && join.pairs == pairs;
        let mut joins = source.joins.iter().filter(is_it);
        joins.all(|join| join.origin.is_scanned())
    };
    declared(from, to, &edge.pairs) && declared(to, from, &turned)
}

fn components(catalog: &Catalog, touched: &BTreeSet<&str>, found: &mut Findings<'_>) {
    let graph = &catalog.graph;
    let mut seen: BTreeSet<NodeId> = BTreeSet::new();
    let mut components: Vec<Vec<&str>> = Vec::new();
    for (start, _) in graph.nodes() {
        if !seen.insert(start) {
            continue;
        }
        let mut members = Vec::new();
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            if let Some(place) = graph.node(node).filter(|place| !place.is_alias) {
                members.push(place.name.as_str());
            }
            let kin: &[NodeId] = match graph.node(node) {
                Some(place) if place.is_alias => std::slice::from_ref(&place.source),
                Some(place) => graph.roles_of(place.source),
                None => &[],
            };
            let edges = graph.edges_from(node).iter().map(|edge| edge.to);
            let next = edges.chain(kin.iter().copied());
            open.extend(next.filter(|to| seen.insert(*to)).collect::<Vec<_>>());
        }
        members.sort_unstable();
        components.push(members);
    }
    components.retain(|members| !members.is_empty());
    if components.len() < 2 {
        return;
    }
    let heads: Vec<&str> = components
        .iter()
        .filter_map(|members| members.first().copied())
        .take(8)
        .collect();
    found.report.warnings.push(Finding {
        path: None,
        source: None,
        kind: ErrorKind::DisconnectedComponents,
        message: format!(
            "the sources form {} groups without a join between them, such as those of `{}`",
            components.len(),
            heads.join("`, `")
        ),
    });
    for members in &components {
        let [only] = members.as_slice() else { continue };
        if touched.contains(only)
            && let Some(source) = catalog.source(only)
        {
            let message = format!("source `{only}` is joined to nothing");
            found.warn(
                (source, &Part::Relation),
                ErrorKind::SingletonComponent,
                message,
            );
        }
    }
}
