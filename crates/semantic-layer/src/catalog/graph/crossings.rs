//! Joins that find many rows of a source, such as from films to categories.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::{Edge, Graph, NodeId};
use crate::model::resolved::Trust;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Crossing {
    /// Fewest joins that multiply rows, then most trusted, then shortest.
    Path(Vec<Edge>),
    Ambiguous(Vec<Edge>, Vec<Edge>),
    Unreachable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Cost {
    multiplying: usize,
    trust: Trust,
    length: usize,
}

impl Cost {
    fn extended(self, edge: &Edge) -> Self {
        Self {
            multiplying: self.multiplying + usize::from(!edge.relationship.is_safe()),
            trust: self.trust.max(edge.origin.trust()),
            length: self.length + 1,
        }
    }
}

#[derive(Default)]
struct Arrival<'g> {
    cost: Cost,
    first: Option<&'g Edge>,
    second: Option<&'g Edge>,
}

impl Graph {
    pub(crate) fn crossing(&self, home: NodeId, node: NodeId) -> Crossing {
        let mut best: BTreeMap<NodeId, Arrival<'_>> = BTreeMap::from([(home, Arrival::default())]);
        let mut settled: BTreeSet<NodeId> = BTreeSet::new();
        let mut open = BinaryHeap::from([Reverse((Cost::default(), home))]);
        while let Some(Reverse((cost, at))) = open.pop() {
            if !settled.insert(at) || at == node {
                continue;
            }
            for edge in self.edges_from(at) {
                if edge.to == home
                    || settled.contains(&edge.to)
                    || !self.is_on_the_way(edge.to, node)
                {
                    continue;
                }
                let next = cost.extended(edge);
                let arrival = best.entry(edge.to).or_insert(Arrival {
                    cost: next,
                    first: None,
                    second: None,
                });
                let is_first = arrival.first.is_none();
                let role = arrival
                    .first
                    .filter(|first| first.from == at && first.is_other_role(edge));
                if let Some(first) = role {
                    // Trust does not choose between two roles.
                    arrival.second = Some(edge);
                    if next < arrival.cost {
                        (arrival.first, arrival.second) = (Some(edge), Some(first));
                        arrival.cost = next;
                        open.push(Reverse((next, edge.to)));
                    }
                } else if is_first || next < arrival.cost {
                    *arrival = Arrival {
                        cost: next,
                        first: Some(edge),
                        second: None,
                    };
                    open.push(Reverse((next, edge.to)));
                } else if next == arrival.cost {
                    arrival.second = Some(edge);
                }
            }
        }
        found(&best, node)
    }

    fn is_on_the_way(&self, node: NodeId, target: NodeId) -> bool {
        if !self.is_alias(node) || node == target || self.ways.contains(&(node, target)) {
            return true;
        }
        let rest = self.name(target).strip_prefix(self.name(node));
        rest.is_some_and(|rest| rest.starts_with('.'))
    }
}

fn found(best: &BTreeMap<NodeId, Arrival<'_>>, node: NodeId) -> Crossing {
    let path = |last: Option<&Edge>| {
        let mut path: Vec<Edge> = Vec::new();
        let mut step = last;
        while let Some(edge) = step {
            path.push(edge.clone());
            step = best.get(&edge.from).and_then(|arrival| arrival.first);
        }
        path.reverse();
        path
    };
    let Some(arrival) = best.get(&node) else {
        return Crossing::Unreachable;
    };
    let taken = path(arrival.first);
    let fork = taken.iter().enumerate().find_map(|(at, edge)| {
        let second = best.get(&edge.to)?.second?;
        Some((at, second))
    });
    match fork {
        None => Crossing::Path(taken),
        Some((at, second)) => {
            let mut other = path(Some(second));
            other.extend(taken.iter().skip(at + 1).cloned());
            Crossing::Ambiguous(taken, other)
        }
    }
}
