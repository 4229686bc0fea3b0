//! Shortest look-up paths over joins that cannot multiply rows.

use std::collections::{BTreeMap, VecDeque};

use super::{Edge, Graph, NodeId};

/// How a node can be reached from a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// By exactly one shortest path; the home itself has the empty one.
    Path(Vec<Edge>),
    /// By several equally short paths: two of them.
    Ambiguous(Vec<Edge>, Vec<Edge>),
    /// Perhaps: a path that is shorter, as short, or the only one may lead through this source, whose
    /// file cannot be read.
    Doubtful(String),
    /// Only over joins that multiply rows: the shortest such path.
    Unsafe(Vec<Edge>),
    /// Not at all.
    Unreachable,
}

/// What is known of one node during the search.
#[derive(Debug, Clone)]
struct Reached<'a> {
    distance: usize,
    /// The edge by which the first shortest path arrives; the home has none.
    first: Option<&'a Edge>,
    /// Another one: two are enough to know that the first is not alone.
    second: Option<&'a Edge>,
    /// Whether it or a node on the way has a second arrival.
    is_ambiguous: bool,
}

type Found<'a> = BTreeMap<NodeId, Reached<'a>>;

/// All look-ups from one home.
#[derive(Debug, Clone)]
pub(crate) struct Routes<'a> {
    graph: &'a Graph,
    home: NodeId,
    reached: Found<'a>,
}

impl<'a> Routes<'a> {
    /// Searches from `home` over safe joins.
    pub(crate) fn new(graph: &'a Graph, home: NodeId) -> Self {
        let mut search = Search::new(home);
        while let Some((node, distance)) = search.next() {
            for edge in graph.safe_edges_from(node) {
                search.arrive(edge, distance + 1);
            }
        }
        Self {
            graph,
            home,
            reached: search.found,
        }
    }

    /// Whether `node` can be looked up at all, by one path or by several.
    pub(crate) fn reaches(&self, node: NodeId) -> bool {
        self.reached.contains_key(&node)
    }

    /// Whether several equally short paths lead to `node`.
    pub(crate) fn is_ambiguous(&self, node: NodeId) -> bool {
        self.reached
            .get(&node)
            .is_some_and(|found| found.is_ambiguous)
    }

    /// The nodes that can be looked up, in their order.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.reached.keys().copied()
    }

    /// The nodes that can be looked up with the last step to each, nearer ones first.
    pub(super) fn nearest_first(&self) -> Vec<(NodeId, Option<&'a Edge>)> {
        let mut all: Vec<(usize, NodeId, Option<&'a Edge>)> = self
            .reached
            .iter()
            .map(|(node, found)| (found.distance, *node, found.first))
            .collect();
        all.sort_by_key(|(distance, node, _)| (*distance, *node));
        all.into_iter()
            .map(|(_, node, first)| (node, first))
            .collect()
    }

    /// How `node` is looked up.
    pub(crate) fn lookup(&self, node: NodeId) -> Lookup {
        if !self.reaches(node) {
            let missing = &self.graph.missing;
            if let Some(name) = missing.between(self.graph, self.home, node, usize::MAX) {
                return Lookup::Doubtful(name.to_owned());
            }
            return match unsafe_path(self.graph, self.home, node) {
                Some(path) => Lookup::Unsafe(path),
                None => Lookup::Unreachable,
            };
        }
        let path = path(&self.reached, node);
        let fork = path.iter().enumerate().find_map(|(at, edge)| {
            let second = self.reached.get(&edge.to)?.second?;
            Some((at, second))
        });
        let Some((at, second)) = fork else {
            let missing = &self.graph.missing;
            if let Some(name) = missing.between(self.graph, self.home, node, path.len()) {
                return Lookup::Doubtful(name.to_owned());
            }
            return Lookup::Path(path.into_iter().cloned().collect());
        };
        let mut other = self::path(&self.reached, second.from);
        other.push(second);
        other.extend(path.iter().skip(at + 1));
        let owned = |path: Vec<&Edge>| path.into_iter().cloned().collect();
        Lookup::Ambiguous(owned(path), owned(other))
    }
}

/// Breadth-first search; of every node the first two shortest arrivals are kept.
struct Search<'a> {
    found: Found<'a>,
    queue: VecDeque<(NodeId, usize)>,
}

impl<'a> Search<'a> {
    fn new(home: NodeId) -> Self {
        let start = Reached {
            distance: 0,
            first: None,
            second: None,
            is_ambiguous: false,
        };
        Self {
            found: BTreeMap::from([(home, start)]),
            queue: VecDeque::from([(home, 0)]),
        }
    }

    /// The next node with its distance. All nearer nodes are done: its arrivals are known.
    fn next(&mut self) -> Option<(NodeId, usize)> {
        let (node, distance) = self.queue.pop_front()?;
        let before = self.found.get(&node).and_then(|found| found.first);
        let inherited = before
            .and_then(|edge| self.found.get(&edge.from))
            .is_some_and(|found| found.is_ambiguous);
        if let Some(found) = self.found.get_mut(&node) {
            found.is_ambiguous = inherited || found.second.is_some();
        }
        Some((node, distance))
    }

    fn arrive(&mut self, edge: &'a Edge, distance: usize) {
        match self.found.get_mut(&edge.to) {
            None => {
                let found = Reached {
                    distance,
                    first: Some(edge),
                    second: None,
                    is_ambiguous: false,
                };
                self.found.insert(edge.to, found);
                self.queue.push_back((edge.to, distance));
            }
            Some(known) if known.distance == distance && known.second.is_none() => {
                known.second = Some(edge);
            }
            Some(_) => {}
        }
    }
}

/// The shortest path over joins of any kind.
fn unsafe_path(graph: &Graph, home: NodeId, node: NodeId) -> Option<Vec<Edge>> {
    if !graph.are_connected(home, node) {
        return None;
    }
    let mut search = Search::new(home);
    while let Some((from, distance)) = search.next() {
        for edge in graph.edges_from(from) {
            search.arrive(edge, distance + 1);
            if edge.to == node {
                let path = path(&search.found, node);
                return Some(path.into_iter().cloned().collect());
            }
        }
    }
    None
}

/// The first shortest path to `node`.
fn path<'a>(found: &Found<'a>, node: NodeId) -> Vec<&'a Edge> {
    let mut path = Vec::new();
    let mut at = node;
    while let Some(edge) = found.get(&at).and_then(|found| found.first) {
        path.push(edge);
        at = edge.from;
    }
    path.reverse();
    path
}
