//! The join graph: one node per source and per role of a source, edges read from both sides.

mod paths;

use std::collections::BTreeMap;

pub(crate) use paths::{Lookup, Routes};

use crate::authored::Relationship;
use crate::resolved::Source;

/// The number of a node.
pub(crate) type NodeId = usize;

/// Above this product of roles and nodes, roles keep to the columns of their own source.
const MOST_EXPANDED: usize = 200_000;

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
}

/// All nodes and edges of a catalog.
#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    by_name: BTreeMap<String, NodeId>,
    edges: Vec<Vec<Edge>>,
    /// Aliases that name two different things: alias, declaring source.
    pub(crate) clashes: Vec<(String, String)>,
    /// Sources that join themselves without an alias.
    pub(crate) self_joins: Vec<String>,
}

impl Graph {
    /// Builds the graph of `sources`.
    pub(crate) fn new(sources: &[Source], by_name: &BTreeMap<String, usize>) -> Self {
        let mut graph = Self::default();
        for (at, source) in sources.iter().enumerate() {
            graph.add_node(source.name.clone(), at, false);
        }
        for (at, source) in sources.iter().enumerate() {
            let mut own_aliases: Vec<&str> = Vec::new();
            for join in &source.joins {
                let Some(target) = by_name.get(&join.to).copied() else {
                    continue;
                };
                let to = match join.alias.as_deref() {
                    None => target,
                    Some(alias) => {
                        let is_repeated = own_aliases.contains(&alias);
                        own_aliases.push(alias);
                        match graph.by_name.get(alias).copied() {
                            None => graph.add_node(alias.to_owned(), target, true),
                            Some(known) if !is_repeated && graph.is_role(known, target) => known,
                            Some(_) => {
                                graph.clashes.push((alias.to_owned(), source.name.clone()));
                                continue;
                            }
                        }
                    }
                };
                if to == at {
                    graph.self_joins.push(source.name.clone());
                } else {
                    graph.add_edge(at, to, join.relationship, &join.pairs);
                }
            }
        }
        graph.expand_roles();
        graph
    }

    /// Gives every role the look-ups of the source behind it, as roles of their own: what `depots`
    /// finds in `districts`, the role `from_depot` finds in `from_depot.districts`.
    fn expand_roles(&mut self) {
        let roles: Vec<(NodeId, usize)> = self
            .nodes()
            .filter(|(_, node)| node.is_alias)
            .map(|(id, node)| (id, node.source))
            .collect();
        if roles.len() * self.nodes.len() > MOST_EXPANDED {
            return;
        }
        let plain = self.clone();
        for (role, source) in roles {
            let routes = Routes::new(&plain, source);
            let mut paths: Vec<Vec<Edge>> = plain
                .nodes()
                .filter(|(id, node)| !node.is_alias && *id != source)
                .filter_map(
                    |(id, _)| match routes.reaches(id).then(|| routes.lookup(id)) {
                        Some(Lookup::Path(path)) => Some(path),
                        _ => None,
                    },
                )
                .filter(|path| path.iter().all(|edge| !plain.is_alias(edge.to)))
                .collect();
            paths.sort_by_key(Vec::len);
            for path in paths {
                self.extend_role(role, source, &path);
            }
        }
    }

    /// Adds the last step of a path behind a role; the steps before it are there already.
    fn extend_role(&mut self, role: NodeId, source: usize, path: &[Edge]) {
        let Some(last) = path.last() else { return };
        let name = format!("{}.{}", self.name(role), self.name(last.to));
        let before = format!("{}.{}", self.name(role), self.name(last.from));
        let parent = if last.from == source {
            Some(role)
        } else {
            self.by_name.get(&before).copied()
        };
        let target = self.nodes.get(last.to).map(|node| node.source);
        if let (Some(parent), Some(target)) = (parent, target)
            && !self.by_name.contains_key(&name)
        {
            let id = self.add_node(name, target, true);
            self.add_edge(parent, id, last.relationship, &last.pairs);
        }
    }

    fn is_alias(&self, id: NodeId) -> bool {
        self.nodes.get(id).is_some_and(|node| node.is_alias)
    }

    fn is_role(&self, node: NodeId, source: usize) -> bool {
        self.nodes
            .get(node)
            .is_some_and(|node| node.is_alias && node.source == source)
    }

    fn add_node(&mut self, name: String, source: usize, is_alias: bool) -> NodeId {
        let id = self.nodes.len();
        self.by_name.insert(name.clone(), id);
        self.nodes.push(Node {
            name,
            source,
            is_alias,
        });
        self.edges.push(Vec::new());
        id
    }

    fn add_edge(
        &mut self,
        from: NodeId,
        to: NodeId,
        relationship: Relationship,
        pairs: &[(String, String)],
    ) {
        let turned: Vec<(String, String)> = pairs
            .iter()
            .map(|(local, target)| (target.clone(), local.clone()))
            .collect();
        self.add_half(Edge {
            from,
            to,
            relationship,
            pairs: pairs.to_vec(),
        });
        self.add_half(Edge {
            from: to,
            to: from,
            relationship: relationship.inverted(),
            pairs: turned,
        });
    }

    /// Adds one reading of a join, or merges it with the same join declared on the other side: then
    /// it is only as safe as both declarations say.
    fn add_half(&mut self, edge: Edge) {
        let Some(edges) = self.edges.get_mut(edge.from) else {
            return;
        };
        let mut sorted = edge.pairs.clone();
        sorted.sort();
        let same = |other: &&mut Edge| {
            let mut pairs = other.pairs.clone();
            pairs.sort();
            other.to == edge.to && pairs == sorted
        };
        match edges.iter_mut().find(same) {
            Some(known) if known.relationship.is_safe() && !edge.relationship.is_safe() => {
                known.relationship = edge.relationship;
            }
            Some(_) => {}
            None => edges.push(edge),
        }
    }

    /// The node called `name`, exactly.
    pub(crate) fn node_id(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied().or_else(|| {
            let mut loose = self
                .by_name
                .iter()
                .filter(|(known, _)| known.eq_ignore_ascii_case(name));
            match (loose.next(), loose.next()) {
                (Some((_, id)), None) => Some(*id),
                _ => None,
            }
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

    /// The names of all nodes, in order.
    pub(crate) fn node_names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// All nodes with their numbers.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate()
    }

    /// The joins of a node, read from it.
    pub(crate) fn edges_from(&self, id: NodeId) -> &[Edge] {
        self.edges.get(id).map_or(&[], Vec::as_slice)
    }
}
