//! The sources that a query names on the way to a column: `via`.

use super::atoms::Evaluator;
use super::refusals::{ambiguous_path, doubtful_path};
use super::{Part, PlannedMeasure};
use crate::catalog::Catalog;
use crate::catalog::graph::{
    Crossing, Edge, Graph, Lookup, NodeId, Routes, Via, via_name, with_role_paths, with_via_roles,
};
use crate::model::error::{ErrorKind, QueryError};
use crate::names::query::{DimensionRequest, MeasureRequest, Query};
use crate::names::references::Reference;
use crate::names::{Names, bound};
use crate::sql::sql_text::table_parts;
use ktx_sql::Dialect;

pub(crate) fn spelled_graph(
    catalog: &Catalog,
    query: &Query,
    dialect: Dialect,
) -> Result<Option<Graph>, QueryError> {
    let graph = with_role_paths(catalog, query.references().iter().map(Reference::names))?;
    if query.dimensions.iter().all(|one| one.via.is_empty()) {
        return Ok(graph);
    }
    let names = Names {
        catalog,
        graph: graph.as_ref().unwrap_or(&catalog.graph),
        dialect,
        constants: &[],
    };
    let mut ways = Vec::new();
    for request in query.dimensions.iter().filter(|one| !one.via.is_empty()) {
        // Unresolved names are refused with the dimension.
        if let Some(target) = target(names, request) {
            let through = sources(names, &request.via)?;
            ways.push(Via { target, through });
        }
    }
    with_via_roles(catalog, graph, &ways)
}

fn target(names: Names<'_>, request: &DimensionRequest) -> Option<NodeId> {
    let parts = table_parts(request.field.trim());
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [name] => names.only_holder(name).ok(),
        parts => names.split_known(parts).map(|(node, _)| node),
    }
}

fn sources(names: Names<'_>, via: &[String]) -> Result<Vec<NodeId>, QueryError> {
    let node = |name: &String| {
        let plain = table_parts(name).join(".");
        names
            .graph
            .node_id(&plain)
            .ok_or_else(|| names.catalog.unknown_source(&plain))
    };
    via.iter().map(node).collect()
}

pub(super) fn role(
    names: Names<'_>,
    node: NodeId,
    request: &DimensionRequest,
) -> Result<NodeId, QueryError> {
    if request.via.is_empty() {
        return Ok(node);
    }
    let through: Vec<String> = sources(names, &request.via)?
        .into_iter()
        .map(|node| names.node_name(node).to_owned())
        .collect();
    let role = names
        .graph
        .node_id(&via_name(names.node_name(node), &through));
    Ok(role.unwrap_or(node))
}

impl Evaluator<'_> {
    pub(super) fn go_through(
        &mut self,
        request: &MeasureRequest,
        measure: &PlannedMeasure,
    ) -> Result<(), QueryError> {
        if request.via.is_empty() {
            return Ok(());
        }
        let names = self.names;
        let through = sources(names, &request.via)?;
        for at in bound::atoms(&measure.tree) {
            let Some(home) = self.atoms.get(at).map(|atom| atom.home) else {
                continue;
            };
            let stops: Vec<NodeId> = through.iter().copied().filter(|to| *to != home).collect();
            match Routes::through(names.graph, home, &stops) {
                Ok(routes) => self.set_routes(home, routes),
                // Only joins that multiply rows go this way.
                Err((_, Lookup::Unsafe(_))) => {}
                Err((stop, found)) => return Err(no_way(names, home, stop, &found)),
            }
            self.through.insert(home, stops);
        }
        Ok(())
    }

    /// Refuses measures over one source's rows with different ways.
    pub(super) fn check_ways(
        &self,
        requests: &[MeasureRequest],
        measures: &[PlannedMeasure],
    ) -> Result<(), QueryError> {
        for measure in measures {
            let request = requests.iter().find(|one| one.text() == measure.reference);
            let via = request.map_or(&[] as &[String], |one| &one.via);
            let own = sources(self.names, via)?;
            for at in bound::atoms(&measure.tree) {
                let home = self.atoms.get(at).map(|atom| atom.home);
                let Some((home, stops)) =
                    home.and_then(|home| Some((home, self.through.get(&home)?)))
                else {
                    continue;
                };
                let own: Vec<NodeId> = own.iter().copied().filter(|to| *to != home).collect();
                if own != *stops {
                    let through: Vec<&str> = stops
                        .iter()
                        .map(|stop| self.names.node_name(*stop))
                        .collect();
                    let message = format!(
                        "measures over the rows of `{}` go one way in a query: add `via {}` to `{}`, or ask for it in \
                         a query of its own",
                        self.names.node_name(home),
                        through.join(", "),
                        measure.reference
                    );
                    return Err(QueryError::new(ErrorKind::InvalidQuery, message)
                        .about(measure.reference.as_str()));
                }
            }
        }
        Ok(())
    }

    /// Refuses a way that no look-up uses.
    pub(super) fn check_used(&self, parts: &[Part]) -> Result<(), QueryError> {
        for (home, stops) in &self.through {
            let own: Vec<&Part> = parts.iter().filter(|part| part.home == *home).collect();
            let goes_through = |stop: &NodeId| {
                own.iter().any(|part| {
                    let bridged = part.bridge.iter().flat_map(|bridge| &bridge.joins);
                    part.joins
                        .iter()
                        .chain(bridged)
                        .any(|edge| edge.from == *stop)
                        || part.joins.iter().any(|edge| edge.to == *stop)
                })
            };
            if let Some(stop) = stops.iter().find(|stop| !goes_through(stop)) {
                let (stop, home) = (self.names.node_name(*stop), self.names.node_name(*home));
                let message = format!(
                    "`via {stop}`: nothing in the query is looked up from `{home}` through `{stop}`"
                );
                return Err(QueryError::new(ErrorKind::NoJoinPath, message).about(stop));
            }
        }
        Ok(())
    }

    /// Includes joins that multiply rows.
    pub(super) fn crossing(&self, home: NodeId, node: NodeId) -> Crossing {
        let graph = self.names.graph;
        let Some(stops) = self.through.get(&home) else {
            return graph.crossing(home, node);
        };
        let mut whole: Vec<Edge> = Vec::new();
        let mut from = home;
        for to in stops.iter().chain([&node]) {
            match graph.crossing(from, *to) {
                Crossing::Path(path) => whole.extend(path),
                Crossing::Ambiguous(one, other) => {
                    let before = |path: Vec<Edge>| whole.iter().cloned().chain(path).collect();
                    return Crossing::Ambiguous(before(one), before(other));
                }
                Crossing::Unreachable => return Crossing::Unreachable,
            }
            from = *to;
        }
        let mut seen: Vec<NodeId> = vec![home];
        for edge in &whole {
            if seen.contains(&edge.to) {
                return graph.crossing(home, node);
            }
            seen.push(edge.to);
        }
        Crossing::Path(whole)
    }
}

fn no_way(names: Names<'_>, home: NodeId, stop: NodeId, found: &Lookup) -> QueryError {
    match found {
        Lookup::Ambiguous(one, other) => ambiguous_path(names, home, stop, one, other),
        Lookup::Doubtful(missing) => doubtful_path(names, home, stop, missing),
        Lookup::Path(_) | Lookup::Unsafe(_) | Lookup::Unreachable => {
            let (home, stop) = (names.node_name(home), names.node_name(stop));
            let message = format!("`via {stop}`: no join leads from `{home}` to `{stop}`");
            QueryError::new(ErrorKind::NoJoinPath, message).about(stop)
        }
    }
}
