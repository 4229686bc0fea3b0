//! Builds the parts of an answer: one SELECT per home.

use super::atoms::{Atom, Evaluator};
use super::bridges::{self, Bridge, Permission};
use super::refusals::{ambiguous_path, doubtful_path, missing_join};
use super::{Dimension, Frame, Part, PartKind, RowFilter, TimeAxis};
use super::{notes, weights};
use crate::catalog::graph::{Edge, Lookup, NodeId, Routes};
use crate::model::error::{ErrorKind, QueryError};
use crate::names::aggregates::Call;
use crate::names::query::{Across, EmptyMembers};
use crate::names::{Names, bound};
use crate::sql::sql_text::{PercentileForm, percentile_form};

pub(super) struct Asked<'a> {
    pub(super) dimensions: &'a [Dimension],
    pub(super) row_filters: &'a [RowFilter],
    pub(super) empty_members: EmptyMembers,
    pub(super) across: Across,
    pub(super) weight: Option<&'a str>,
    pub(super) ranked_by: Option<&'a str>,
    pub(super) time: Option<&'a TimeAxis>,
}

pub(super) fn build(
    evaluator: &mut Evaluator<'_>,
    asked: &Asked<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<Part>, QueryError> {
    let names = evaluator.names;
    let mut homes: Vec<NodeId> = Vec::new();
    for atom in &evaluator.atoms {
        if !homes.contains(&atom.home) {
            homes.push(atom.home);
        }
    }
    if homes.is_empty() {
        return Ok(vec![members_only(evaluator, asked)?]);
    }
    check_dimensions(evaluator, asked, &homes)?;
    let mut parts = Vec::new();
    for home in &homes {
        for filter in asked.row_filters {
            for node in &filter.nodes {
                check_filter(evaluator, asked, *home, *node, filter)?;
            }
        }
        parts.extend(parts_of(evaluator, asked, *home)?);
    }
    let nodes: Vec<NodeId> = asked
        .dimensions
        .iter()
        .map(|dimension| dimension.node)
        .collect();
    if let Some((own, rest)) = nodes.split_first()
        && asked.empty_members != EmptyMembers::Exclude
        && !homes.contains(own)
    {
        if let Some(measure) = asked.ranked_by
            && asked.empty_members == EmptyMembers::UnlessRanked
        {
            notes.push(format!(
                "members of `{}` without facts are left out of the first rows by `{measure}`; \
                 `include_empty` adds them",
                names.node_name(*own)
            ));
        } else if rest.iter().any(|node| node != own) {
            notes.push(
                "members without facts are left out: the dimensions hang on several sources"
                    .to_owned(),
            );
        } else {
            match members(evaluator, asked, *own) {
                Ok(part) => parts.push(part),
                Err(error) => notes.push(format!(
                    "members of `{}` without facts are left out: {}",
                    names.node_name(*own),
                    error.message
                )),
            }
        }
    }
    notes::note_bridges(names, asked, &parts, notes);
    notes::note_lookups(names, asked, &parts, notes);
    super::roads::note_rivals(evaluator, &parts, notes);
    notes::note_unproven(names, &parts, notes);
    notes::note_filled(asked, notes);
    parts.sort_by_key(|part| !part.frame.is_plain());
    Ok(parts)
}

/// One of many rows may decide, if permitted.
fn check_filter(
    evaluator: &mut Evaluator<'_>,
    asked: &Asked<'_>,
    home: NodeId,
    node: NodeId,
    filter: &RowFilter,
) -> Result<(), QueryError> {
    let what = format!("filter `{}`", filter.text);
    let Err(mut error) = evaluator.reachable_filter(home, node, &what) else {
        return Ok(());
    };
    error.offending = Some(filter.text.clone());
    if error.kind == ErrorKind::FilterFanout {
        match bridges::permission(evaluator, asked, home, node)? {
            Permission::Given(_) if asked.across != Across::Counts => return Ok(()),
            Permission::Given(_) | Permission::Wanted => error.remedy.is_crossable = true,
            Permission::Impossible => {}
        }
    }
    Err(error)
}

fn check_dimensions(
    evaluator: &mut Evaluator<'_>,
    asked: &Asked<'_>,
    homes: &[NodeId],
) -> Result<(), QueryError> {
    let names = evaluator.names;
    for dimension in asked.dimensions {
        let mut reached: Vec<NodeId> = Vec::new();
        let mut missed: Option<(NodeId, Lookup)> = None;
        let mut is_crossable = false;
        for home in homes {
            match evaluator.routes(*home).lookup(dimension.node) {
                Lookup::Path(_) => reached.push(*home),
                Lookup::Ambiguous(one, other) => {
                    return Err(ambiguous_path(names, *home, dimension.node, &one, &other));
                }
                Lookup::Doubtful(missing) => {
                    return Err(doubtful_path(names, *home, dimension.node, &missing));
                }
                lookup => match bridges::permission(evaluator, asked, *home, dimension.node)? {
                    Permission::Given(_) => reached.push(*home),
                    permission => {
                        is_crossable |= permission == Permission::Wanted;
                        missed = missed.or(Some((*home, lookup)));
                    }
                },
            }
        }
        let Some((home, lookup)) = missed else {
            continue;
        };
        let (field, fact) = (&dimension.reference, names.node_name(home));
        let node = names.node_name(dimension.node);
        let (kind, message) = match (lookup, reached.first()) {
            (Lookup::Unreachable, None) => (
                ErrorKind::NoJoinPath,
                format!("no join leads from `{fact}` to `{node}`"),
            ),
            (_, Some(other)) => (
                ErrorKind::AsymmetricDimensions,
                format!(
                    "`{field}` divides the rows of `{}` but not those of `{fact}`",
                    names.node_name(*other)
                ),
            ),
            (_, None) => (
                ErrorKind::Fanout,
                format!(
                    "`{node}` has many rows per row of `{fact}`: grouping by `{field}` would count them more than once"
                ),
            ),
        };
        let mut suggestions = roles(evaluator, homes, dimension);
        if suggestions.is_empty() {
            suggestions = usable(evaluator, homes);
        }
        let join = missing_join(names, home, dimension.node);
        let join = join
            .filter(|_| kind == ErrorKind::NoJoinPath)
            .unwrap_or_default();
        let mut error = QueryError::new(kind, format!("{message}{join}")).about(field.as_str());
        error.remedy.is_crossable = is_crossable;
        error.remedy.without = Some(dimension.request);
        return Err(error.suggest(suggestions));
    }
    Ok(())
}

fn roles(evaluator: &mut Evaluator<'_>, homes: &[NodeId], dimension: &Dimension) -> Vec<String> {
    let graph = evaluator.names.graph;
    let source = graph.node(dimension.node).map(|place| place.source);
    let roles = source.map_or(&[] as &[NodeId], |source| graph.roles_of(source));
    let is_usable = |role: &&NodeId| {
        homes
            .iter()
            .all(|home| evaluator.routes(*home).reaches(**role))
    };
    roles
        .iter()
        .filter(is_usable)
        .map(|role| format!("{}.{}", graph.name(*role), dimension.column))
        .collect()
}

fn usable(evaluator: &mut Evaluator<'_>, homes: &[NodeId]) -> Vec<String> {
    let names = evaluator.names;
    let Some((first, others)) = homes.split_first() else {
        return Vec::new();
    };
    let routes = evaluator.routes(*first);
    let mut reached: Vec<NodeId> = routes.nodes().collect();
    reached.sort_by_cached_key(|node| match routes.lookup(*node) {
        Lookup::Path(path) => path.len(),
        _ => usize::MAX,
    });
    reached
        .into_iter()
        .filter(|node| {
            !homes.contains(node)
                && others
                    .iter()
                    .all(|home| evaluator.routes(*home).reaches(*node))
        })
        .take(8)
        .map(|node| names.node_name(node).to_owned())
        .collect()
}

/// One part per frame, and one per aggregate that needs ordered rows.
fn parts_of(
    evaluator: &mut Evaluator<'_>,
    asked: &Asked<'_>,
    home: NodeId,
) -> Result<Vec<Part>, QueryError> {
    let names = evaluator.names;
    let form = |atom: &Atom| match &atom.call {
        _ if atom.snapshot.is_some() => PartKind::Snapshot,
        Call::Percentile { .. } if percentile_form(names.dialect) == PercentileForm::Ranked => {
            PartKind::Ranked
        }
        _ => PartKind::Groups,
    };
    let mut parts: Vec<(Frame, PartKind, Vec<usize>)> = Vec::new();
    for (at, atom) in evaluator.atoms.iter().enumerate() {
        if atom.home != home {
            continue;
        }
        let (frame, kind) = (atom.frame, form(atom));
        let shared = parts.iter_mut().find(|(known, form, _)| {
            *known == frame && kind == PartKind::Groups && *form == PartKind::Groups
        });
        match shared {
            Some((_, _, atoms)) => atoms.push(at),
            None => parts.push((frame, kind, vec![at])),
        }
    }
    parts.sort_by_key(|(frame, kind, _)| (*frame, *kind));
    let has_plain = parts.iter().any(|(frame, ..)| frame.is_plain());
    if !has_plain {
        parts.insert(0, (Frame::default(), PartKind::Present, Vec::new()));
    }
    parts
        .into_iter()
        .map(|(frame, kind, atoms)| {
            let bridge = bridge(evaluator, asked, home, kind)?;
            let mut needed = nodes_of(asked, bridge.as_ref());
            for atom in atoms.iter().filter_map(|at| evaluator.atoms.get(*at)) {
                for tree in atom.trees() {
                    needed.extend(bound::nodes(&tree));
                }
            }
            let joins = joins(names, evaluator.routes(home), home, &needed)?;
            Ok(Part {
                kind,
                home,
                frame,
                atoms,
                joins,
                bridge,
            })
        })
        .collect()
}

fn bridge(
    evaluator: &mut Evaluator<'_>,
    asked: &Asked<'_>,
    home: NodeId,
    kind: PartKind,
) -> Result<Option<Bridge>, QueryError> {
    let names = evaluator.names;
    let mut bridge = Bridge::default();
    for (at, dimension) in asked.dimensions.iter().enumerate() {
        if evaluator.routes(home).reaches(dimension.node) {
            continue;
        }
        if let Permission::Given(path) =
            bridges::permission(evaluator, asked, home, dimension.node)?
        {
            bridge.dimensions.push(at);
            bridges::extend(names, &mut bridge, path)?;
        }
    }
    for (at, filter) in asked.row_filters.iter().enumerate() {
        let is_looked_up = |node: &NodeId| evaluator.routes(home).reaches(*node);
        if filter.nodes.iter().all(is_looked_up) {
            continue;
        }
        bridge.filters.push(at);
        for node in &filter.nodes {
            let path = match evaluator.routes(home).lookup(*node) {
                Lookup::Path(path) => Some(path),
                _ => match bridges::permission(evaluator, asked, home, *node)? {
                    Permission::Given(path) => Some(path),
                    Permission::Wanted | Permission::Impossible => None,
                },
            };
            bridges::extend(names, &mut bridge, path.unwrap_or_default())?;
        }
    }
    if !bridge.is_needed() {
        return Ok(None);
    }
    if kind != PartKind::Groups {
        let message = format!(
            "a percentile of `{}` cannot be computed across joins that multiply rows",
            names.node_name(home)
        );
        return Err(QueryError::new(ErrorKind::Fanout, message));
    }
    bridge.key = bridges::key(names, home)?;
    if asked.across == Across::Allocate {
        bridge.weight = Some(weights::weight(evaluator, asked, home, &bridge)?);
    }
    Ok(Some(bridge))
}

fn nodes_of(asked: &Asked<'_>, bridge: Option<&Bridge>) -> Vec<NodeId> {
    let is_own = |at: &usize| bridge.is_none_or(|bridge| !bridge.dimensions.contains(at));
    let own = asked
        .dimensions
        .iter()
        .enumerate()
        .filter(|(at, _)| is_own(at));
    let dimensions = own
        .clone()
        .flat_map(|(_, dimension)| bound::nodes(&dimension.tree));
    let own = own.map(|(_, dimension)| dimension.node);
    let is_outer = |at: &usize| bridge.is_none_or(|bridge| !bridge.filters.contains(at));
    let filters = asked.row_filters.iter().enumerate();
    let filters = filters.filter(|(at, _)| is_outer(at));
    let filters = filters.flat_map(|(_, filter)| filter.nodes.iter().copied());
    dimensions.chain(own).chain(filters).collect()
}

fn joins(
    names: Names<'_>,
    routes: &Routes<'_>,
    home: NodeId,
    needed: &[NodeId],
) -> Result<Vec<Edge>, QueryError> {
    let mut joins: Vec<Edge> = Vec::new();
    for node in needed {
        let path = match routes.lookup(*node) {
            Lookup::Path(path) => path,
            Lookup::Ambiguous(one, other) => {
                return Err(ambiguous_path(names, home, *node, &one, &other));
            }
            Lookup::Doubtful(missing) => {
                return Err(doubtful_path(names, home, *node, &missing));
            }
            Lookup::Unsafe(_) | Lookup::Unreachable => {
                let message = format!(
                    "`{}` cannot be looked up from `{}`",
                    names.node_name(*node),
                    names.node_name(home)
                );
                return Err(QueryError::new(ErrorKind::NoJoinPath, message));
            }
        };
        for edge in path {
            // A source with a problem must not be joined through.
            names.source(edge.to)?;
            if !joins.iter().any(|known| known.to == edge.to) {
                joins.push(edge);
            }
        }
    }
    Ok(joins)
}

fn members(
    evaluator: &mut Evaluator<'_>,
    asked: &Asked<'_>,
    node: NodeId,
) -> Result<Part, QueryError> {
    for filter in asked.row_filters {
        for other in &filter.nodes {
            evaluator.reachable_filter(node, *other, &format!("filter `{}`", filter.text))?;
        }
    }
    let joins = joins(
        evaluator.names,
        evaluator.routes(node),
        node,
        &nodes_of(asked, None),
    )?;
    Ok(Part {
        kind: PartKind::Members,
        home: node,
        frame: Frame::default(),
        atoms: Vec::new(),
        joins,
        bridge: None,
    })
}

/// Its home is the dimension node that can look up the others.
fn members_only(evaluator: &mut Evaluator<'_>, asked: &Asked<'_>) -> Result<Part, QueryError> {
    let nodes: Vec<NodeId> = asked
        .dimensions
        .iter()
        .map(|dimension| dimension.node)
        .collect();
    let mut candidates = Vec::new();
    for node in &nodes {
        let routes = evaluator.routes(*node);
        if nodes.iter().all(|other| routes.reaches(*other)) {
            candidates.push(*node);
        }
    }
    if let Some(node) = candidates.first() {
        return members(evaluator, asked, *node);
    }
    let fields: Vec<&str> = asked
        .dimensions
        .iter()
        .map(|one| one.reference.as_str())
        .collect();
    let connected = nodes.first().is_some_and(|first| {
        let routes = evaluator.routes(*first);
        nodes
            .iter()
            .all(|node| routes.lookup(*node) != Lookup::Unreachable)
    });
    let kind = if connected {
        ErrorKind::Fanout
    } else {
        ErrorKind::NoJoinPath
    };
    let message = format!(
        "no source of `{}` can look up the others; add a measure of the fact that joins them",
        fields.join("`, `")
    );
    Err(QueryError::new(kind, message).about(fields.join(", ")))
}
