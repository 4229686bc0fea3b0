//! The join graph: one node per source and per role.

mod build;
mod crossings;
mod kept;
mod missing;
mod paths;
mod role_names;
mod role_paths;
mod via_roles;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

pub(crate) use crossings::Crossing;
pub(crate) use kept::StoredGraph;
pub(crate) use missing::{Missing, aliases, targets};
pub use paths::{Lookup, Routes};
pub(crate) use role_names::{join_name, path_name, role_of_key, spellings};
pub(crate) use role_paths::with_role_paths;
pub(crate) use via_roles::{Via, via_name, ways_apart, with_via_roles};

use crate::model::authored::Relationship;
use crate::model::resolved::{Counted, JoinOrigin, Source};

/// A source's node is its index in the catalog.
pub type NodeId = usize;

#[derive(Debug, Clone)]
pub struct Node {
    pub name: String,
    pub source: usize,
    pub is_alias: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pub from: NodeId,
    pub to: NodeId,
    pub relationship: Relationship,
    /// `from` side first.
    pub pairs: Vec<(String, String)>,
    /// Why the join is considered to find at most one row.
    pub grounds: Grounds,
    pub origin: JoinOrigin,
    pub counted: Counted,
}

impl Edge {
    /// Returns true if two joins between the same sources are two roles: they lead from unrelated
    /// columns to the same columns, and values or uses support both.
    pub(super) fn is_other_role(&self, other: &Self) -> bool {
        let is_supported =
            |edge: &Self| edge.origin.is_inferred() && edge.origin != JoinOrigin::Named;
        let sides = |edge: &Self| -> [BTreeSet<String>; 2] {
            let near = edge.pairs.iter().map(|(near, _)| near.clone()).collect();
            let far = edge.pairs.iter().map(|(_, far)| far.clone()).collect();
            if edge.relationship == Relationship::OneToMany {
                [far, near]
            } else {
                [near, far]
            }
        };
        let ([own, key], [other_own, other_key]) = (sides(self), sides(other));
        is_supported(self)
            && is_supported(other)
            && self.relationship == other.relationship
            && key == other_key
            && own.is_disjoint(&other_own)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grounds {
    Word,
    Known,
}

#[derive(Debug, Clone, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    by_name: BTreeMap<String, NodeId>,
    /// `None` if two names differ only in case. Built on first use.
    folded: OnceLock<BTreeMap<String, Option<NodeId>>>,
    edges: Vec<Vec<Edge>>,
    /// Edges that cannot multiply rows.
    safe: Vec<Vec<usize>>,
    components: Vec<NodeId>,
    roles: BTreeMap<usize, Vec<NodeId>>,
    behind_roles: BTreeSet<NodeId>,
    /// The source's index and the original node.
    behind: BTreeMap<NodeId, (usize, NodeId)>,
    /// With the last role of the way.
    ways: BTreeSet<(NodeId, NodeId)>,
    pub(crate) missing: Missing,
    /// Aliases with two meanings: alias, source.
    pub(crate) clashes: Vec<(String, String)>,
    /// Alias, first declaring source, another one.
    pub(crate) shared_roles: Vec<(String, String, String)>,
    pub(crate) self_joins: Vec<String>,
}

impl Graph {
    pub(crate) fn new(sources: &[Source], by_name: &BTreeMap<String, usize>) -> Self {
        build::graph(sources, by_name)
    }

    pub fn node_id(&self, name: &str) -> Option<NodeId> {
        self.by_name
            .get(name)
            .copied()
            .or_else(|| *self.folded().get(&name.to_ascii_lowercase())?)
    }

    fn folded(&self) -> &BTreeMap<String, Option<NodeId>> {
        self.folded.get_or_init(|| {
            let mut folded: BTreeMap<String, Option<NodeId>> = BTreeMap::new();
            for (name, id) in &self.by_name {
                folded
                    .entry(name.to_ascii_lowercase())
                    .and_modify(|known| *known = None)
                    .or_insert(Some(*id));
            }
            folded
        })
    }

    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    pub fn name(&self, id: NodeId) -> &str {
        self.nodes.get(id).map_or("", |node| node.name.as_str())
    }

    pub fn is_alias(&self, id: NodeId) -> bool {
        self.nodes.get(id).is_some_and(|node| node.is_alias)
    }

    pub(crate) fn is_behind_role(&self, id: NodeId) -> bool {
        self.behind_roles.contains(&id)
    }

    pub(crate) fn node_names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate()
    }

    pub(crate) fn roles_of(&self, source: usize) -> &[NodeId] {
        self.roles.get(&source).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn behind(&self, id: NodeId) -> Option<(usize, NodeId)> {
        self.behind.get(&id).copied()
    }

    pub fn edges_from(&self, id: NodeId) -> &[Edge] {
        self.edges.get(id).map_or(&[], Vec::as_slice)
    }

    pub fn safe_edges_from(&self, id: NodeId) -> impl Iterator<Item = &Edge> {
        let edges = self.edges_from(id);
        let places = self.safe.get(id).map_or(&[] as &[usize], Vec::as_slice);
        places.iter().filter_map(|place| edges.get(*place))
    }

    pub fn are_connected(&self, one: NodeId, other: NodeId) -> bool {
        self.components.get(one) == self.components.get(other)
    }
}

#[cfg(test)]
mod tests;
