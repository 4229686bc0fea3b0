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
    /// Only over joins that multiply rows: the shortest such path.
    Unsafe(Vec<Edge>),
    /// Not at all.
    Unreachable,
}

/// What is known of one node during the search.
#[derive(Debug, Clone)]
struct Reached {
    distance: usize,
    /// Edges by which a shortest path arrives: two are enough to know that it is not alone.
    arrivals: Vec<Edge>,
}

/// All look-ups from one home.
#[derive(Debug, Clone)]
pub(crate) struct Routes<'a> {
    graph: &'a Graph,
    home: NodeId,
    reached: BTreeMap<NodeId, Reached>,
}

impl<'a> Routes<'a> {
    /// Searches from `home` over safe joins.
    pub(crate) fn new(graph: &'a Graph, home: NodeId) -> Self {
        let reached = search(graph, home, |edge| edge.relationship.is_safe());
        Self {
            graph,
            home,
            reached,
        }
    }

    /// Whether `node` can be looked up at all, by one path or by several.
    pub(crate) fn reaches(&self, node: NodeId) -> bool {
        self.reached.contains_key(&node)
    }

    /// How `node` is looked up.
    pub(crate) fn lookup(&self, node: NodeId) -> Lookup {
        if !self.reaches(node) {
            let all = search(self.graph, self.home, |_| true);
            return match walk(&all, node) {
                Some((path, _)) => Lookup::Unsafe(path),
                None => Lookup::Unreachable,
            };
        }
        match walk(&self.reached, node) {
            Some((path, None)) => Lookup::Path(path),
            Some((path, Some(other))) => Lookup::Ambiguous(path, other),
            None => Lookup::Unreachable,
        }
    }
}

/// Breadth-first search; every shortest arrival is kept.
fn search(
    graph: &Graph,
    home: NodeId,
    allowed: impl Fn(&Edge) -> bool,
) -> BTreeMap<NodeId, Reached> {
    let mut reached = BTreeMap::from([(
        home,
        Reached {
            distance: 0,
            arrivals: Vec::new(),
        },
    )]);
    let mut queue = VecDeque::from([(home, 0)]);
    while let Some((node, distance)) = queue.pop_front() {
        for edge in graph.edges_from(node).iter().filter(|edge| allowed(edge)) {
            match reached.get_mut(&edge.to) {
                None => {
                    let found = Reached {
                        distance: distance + 1,
                        arrivals: vec![edge.clone()],
                    };
                    reached.insert(edge.to, found);
                    queue.push_back((edge.to, distance + 1));
                }
                Some(known) if known.distance == distance + 1 => known.arrivals.push(edge.clone()),
                Some(_) => {}
            }
        }
    }
    reached
}

/// The shortest path to `node`, and a second one where there is one.
fn walk(
    reached: &BTreeMap<NodeId, Reached>,
    node: NodeId,
) -> Option<(Vec<Edge>, Option<Vec<Edge>>)> {
    let found = reached.get(&node)?;
    let Some(first) = found.arrivals.first() else {
        return Some((Vec::new(), None));
    };
    let (mut path, before) = walk(reached, first.from)?;
    let second = match (before, found.arrivals.get(1)) {
        (Some(mut other), _) => {
            other.push(first.clone());
            Some(other)
        }
        (None, Some(edge)) => {
            let (mut other, _) = walk(reached, edge.from)?;
            other.push(edge.clone());
            Some(other)
        }
        (None, None) => None,
    };
    path.push(first.clone());
    Some((path, second))
}
