//! The join graph: one node per source and per role of a source, edges read from both sides. Built
//! once per catalog.

mod build;
mod missing;
mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

pub(crate) use missing::{Missing, aliases, targets};
pub(crate) use paths::{Lookup, Routes};

use crate::authored::Relationship;
use crate::resolved::Source;

/// The number of a node. Sources have the numbers of their places in the catalog.
pub(crate) type NodeId = usize;

/// A source, or a role of it that a join alias names.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// The source behind it, by its place in the catalog.
    pub(crate) source: usize,
    pub(crate) is_alias: bool,
}

/// A join read from one of its sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) relationship: Relationship,
    /// Column names, `from` side first.
    pub(crate) pairs: Vec<(String, String)>,
    /// Why it is taken to find at most one row, where it cannot multiply rows.
    pub(crate) grounds: Grounds,
    /// How many of a hundred rows of `from` find one of `to`, as far as it was measured.
    pub(crate) coverage: u8,
}

/// Why a join is taken to find at most one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grounds {
    /// An author's word.
    Word,
    /// The key of the rows found, or what a scan has seen.
    Known,
}

/// All nodes and edges of a catalog.
#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    by_name: BTreeMap<String, NodeId>,
    /// By names in lower case; `None` where two names differ in case only. Made when first needed.
    folded: OnceLock<BTreeMap<String, Option<NodeId>>>,
    edges: Vec<Vec<Edge>>,
    /// Of each node the places of its edges that cannot multiply rows: a table of dates has an edge
    /// to every fact, and none of these is ever looked up along.
    safe: Vec<Vec<usize>>,
    /// Of each node the first node of those that joins connect it to.
    components: Vec<NodeId>,
    /// The roles of each source that has some.
    roles: BTreeMap<usize, Vec<NodeId>>,
    /// The roles that a role takes over from its source.
    behind_roles: BTreeSet<NodeId>,
    /// Of each look-up that a role takes over from its source: the source's place, and the node there.
    behind: BTreeMap<NodeId, (usize, NodeId)>,
    /// What may be there once all files can be read.
    pub(crate) missing: Missing,
    /// Aliases that name two different things: alias, declaring source.
    pub(crate) clashes: Vec<(String, String)>,
    /// Roles that several sources declare: alias, the first declaring source, another one.
    pub(crate) shared_roles: Vec<(String, String, String)>,
    /// Sources that join themselves without an alias.
    pub(crate) self_joins: Vec<String>,
}

impl Graph {
    /// Builds the graph of `sources`.
    pub(crate) fn new(sources: &[Source], by_name: &BTreeMap<String, usize>) -> Self {
        build::graph(sources, by_name)
    }

    /// The node called `name`: exactly, else the only one that differs in case.
    pub(crate) fn node_id(&self, name: &str) -> Option<NodeId> {
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

    /// A node by its number.
    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// The name of a node.
    pub(crate) fn name(&self, id: NodeId) -> &str {
        self.nodes.get(id).map_or("", |node| node.name.as_str())
    }

    /// Whether a node is a role.
    pub(crate) fn is_alias(&self, id: NodeId) -> bool {
        self.nodes.get(id).is_some_and(|node| node.is_alias)
    }

    /// Whether a node is a role that another role takes over from its source.
    pub(crate) fn is_behind_role(&self, id: NodeId) -> bool {
        self.behind_roles.contains(&id)
    }

    /// The names of all nodes, in order.
    pub(crate) fn node_names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// All nodes with their numbers.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate()
    }

    /// The roles of a source, by its place in the catalog.
    pub(crate) fn roles_of(&self, source: usize) -> &[NodeId] {
        self.roles.get(&source).map_or(&[], Vec::as_slice)
    }

    /// The source and the look-up of it that a look-up of a role repeats.
    pub(crate) fn behind(&self, id: NodeId) -> Option<(usize, NodeId)> {
        self.behind.get(&id).copied()
    }

    /// The joins of a node, read from it.
    pub(crate) fn edges_from(&self, id: NodeId) -> &[Edge] {
        self.edges.get(id).map_or(&[], Vec::as_slice)
    }

    /// The joins of a node that cannot multiply its rows.
    pub(crate) fn safe_edges_from(&self, id: NodeId) -> impl Iterator<Item = &Edge> {
        let edges = self.edges_from(id);
        let places = self.safe.get(id).map_or(&[] as &[usize], Vec::as_slice);
        places.iter().filter_map(|place| edges.get(*place))
    }

    /// Whether any chain of joins connects two nodes.
    pub(crate) fn are_connected(&self, one: NodeId, other: NodeId) -> bool {
        self.components.get(one) == self.components.get(other)
    }
}

#[cfg(test)]
mod tests;
