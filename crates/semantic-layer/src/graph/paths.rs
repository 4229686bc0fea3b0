//! Look-up paths over joins that cannot multiply rows: the best one to each source, and what competes
//! with it.
//!
//! Two paths that carry the same key to a source find the same row there, so the one that covers more
//! rows is taken. Of other paths a source's own join goes before a way around; then measured coverage
//! decides, then length. What neither decides is ambiguous.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use super::{Edge, Graph, NodeId};

/// How a node can be reached from a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// By one path that is better than all others; the home itself has the empty one.
    Path(Vec<Edge>),
    /// By several equally good paths: two of them.
    Ambiguous(Vec<Edge>, Vec<Edge>),
    /// Perhaps: a path that is shorter, as short, or the only one may lead through this source, whose
    /// file cannot be read.
    Doubtful(String),
    /// Only over joins that multiply rows: the shortest such path.
    Unsafe(Vec<Edge>),
    /// Not at all.
    Unreachable,
}

/// All rows, in the unit in which lost ones are counted.
const WHOLE: u64 = 1_000_000_000_000;
/// Joins through which a column is followed back at most.
const FOLLOWED: usize = 64;

/// How good a path is; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Measure {
    /// The share of rows that find nothing, as far as it was measured.
    lost: u64,
    distance: usize,
}

impl Measure {
    fn extended(self, edge: &Edge) -> Self {
        let kept = WHOLE.saturating_sub(self.lost) / 100 * u64::from(edge.coverage);
        Self {
            lost: WHOLE.saturating_sub(kept),
            distance: self.distance + 1,
        }
    }
}

/// A path to a node by its last step; the steps before it are those of the node that it leaves.
#[derive(Debug, Clone, Copy)]
struct Arrival<'a> {
    edge: &'a Edge,
    measure: Measure,
}

/// What is known of one node during the search.
#[derive(Debug, Clone, Default)]
struct Reached<'a> {
    measure: Measure,
    is_settled: bool,
    /// The edge by which the best path arrives; the home has none.
    first: Option<&'a Edge>,
    /// One that is as good: two are enough to know that the first is not alone.
    second: Option<&'a Edge>,
    /// Whether it or a node on the way has a second arrival.
    is_ambiguous: bool,
    /// All arrivals.
    arrivals: Vec<Arrival<'a>>,
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
        Self {
            graph,
            home,
            reached: search(graph, home),
        }
    }

    /// Whether `node` can be looked up at all, by one path or by several.
    pub(crate) fn reaches(&self, node: NodeId) -> bool {
        self.reached.contains_key(&node)
    }

    /// Whether several equally good paths lead to `node`.
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
            .map(|(node, found)| (found.measure.distance, *node, found.first))
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
            return Lookup::Path(owned(&path));
        };
        let mut other = self::path(&self.reached, second.from);
        other.push(second);
        other.extend(path.iter().skip(at + 1));
        Lookup::Ambiguous(owned(&path), owned(&other))
    }

    /// The path to `node` and the best other one that may lead to another row, where both go around
    /// over other sources.
    pub(crate) fn rival(&self, node: NodeId) -> Option<(Vec<Edge>, Vec<Edge>)> {
        let found = self.reached.get(&node)?;
        let taken = found.arrivals.iter().find(|arrival| {
            let first = found.first;
            first.is_some_and(|first| std::ptr::eq(first, arrival.edge))
        })?;
        let competes = |other: &&Arrival<'_>| {
            let leads_back = other.edge.from == node
                || path(&self.reached, other.edge.from)
                    .iter()
                    .any(|edge| edge.to == node);
            !leads_back
                && matches!(
                    compare(&self.reached, taken, other),
                    Verdict::Measured(Ordering::Less)
                )
        };
        let rivals = found.arrivals.iter().filter(competes);
        let rival = rivals.min_by_key(|arrival| arrival.measure)?;
        let whole = |arrival: &Arrival<'_>| owned(&road(&self.reached, arrival.edge));
        Some((whole(taken), whole(rival)))
    }
}

fn owned(path: &[&Edge]) -> Vec<Edge> {
    path.iter().map(|edge| (*edge).clone()).collect()
}

/// Finds the best path to every node that can be looked up.
fn search(graph: &Graph, home: NodeId) -> Found<'_> {
    let mut found: Found<'_> = BTreeMap::from([(home, Reached::default())]);
    let mut open = BinaryHeap::from([Reverse((Measure::default(), home))]);
    while let Some(Reverse((measure, node))) = open.pop() {
        let Some(chosen) = settled(&found, node, measure) else {
            continue;
        };
        let next = chosen.measure;
        if let Some(reached) = found.get_mut(&node) {
            *reached = chosen;
        }
        for edge in graph.safe_edges_from(node) {
            let arrival = Arrival {
                edge,
                measure: next.extended(edge),
            };
            let reached = found.entry(edge.to).or_default();
            if edge.to != home {
                reached.arrivals.push(arrival);
                if !reached.is_settled {
                    open.push(Reverse((arrival.measure, edge.to)));
                }
            }
        }
    }
    found
}

/// What is settled of a node now that all better paths are known; nothing where its best one is yet to
/// come, or where it was settled before.
fn settled<'a>(found: &Found<'a>, node: NodeId, now: Measure) -> Option<Reached<'a>> {
    let reached = found.get(&node).filter(|reached| !reached.is_settled)?;
    let mut reached = reached.clone();
    reached.is_settled = true;
    let Some(mut best) = reached.arrivals.first().copied() else {
        return Some(reached);
    };
    for other in reached.arrivals.iter().skip(1) {
        if compare(found, &best, other).order() == Some(Ordering::Greater) {
            best = *other;
        }
    }
    if best.measure > now {
        return None;
    }
    let ties = |other: &&Arrival<'_>| {
        !std::ptr::eq(other.edge, best.edge) && compare(found, &best, other).order().is_none()
    };
    let second = reached.arrivals.iter().find(ties);
    reached.second = second.map(|arrival| arrival.edge);
    let before = found.get(&best.edge.from);
    reached.is_ambiguous =
        reached.second.is_some() || before.is_some_and(|before| before.is_ambiguous);
    reached.measure = best.measure;
    reached.first = Some(best.edge);
    Some(reached)
}

/// Which of two paths is better, and by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// They find the same row, one for more rows or by fewer steps.
    SameRows(Ordering),
    /// Where they part, one goes straight to the node.
    Straighter(Ordering),
    /// One covers more rows, or as many by fewer steps.
    Measured(Ordering),
    /// Nothing tells.
    Tie,
}

impl Verdict {
    fn order(self) -> Option<Ordering> {
        match self {
            Self::SameRows(order) | Self::Straighter(order) | Self::Measured(order) => Some(order),
            Self::Tie => None,
        }
    }
}

/// Compares two paths to one node.
fn compare(found: &Found<'_>, one: &Arrival<'_>, other: &Arrival<'_>) -> Verdict {
    let (left, right) = (road(found, one.edge), road(found, other.edge));
    let (left, right) = apart(&left, &right);
    if find_same_rows(left, right) {
        let width = |arrival: &Arrival<'_>| (arrival.measure, arrival.edge.pairs.len());
        return Verdict::SameRows(width(one).cmp(&width(other)));
    }
    match (left, right) {
        ([_], [_]) => return Verdict::Tie,
        ([_], _) => return Verdict::Straighter(Ordering::Less),
        (_, [_]) => return Verdict::Straighter(Ordering::Greater),
        _ => {}
    }
    let around = [
        may_pass(found, right, one.edge.from),
        may_pass(found, left, other.edge.from),
    ];
    match (around, one.measure.cmp(&other.measure)) {
        ([true, false], _) => Verdict::Straighter(Ordering::Less),
        ([false, true], _) => Verdict::Straighter(Ordering::Greater),
        (_, Ordering::Equal) => Verdict::Tie,
        (_, order) => Verdict::Measured(order),
    }
}

/// Whether the steps of a path find the same rows when they lead through `node`: to go on from there
/// in one step is straighter.
fn may_pass(found: &Found<'_>, steps: &[&Edge], node: NodeId) -> bool {
    let before = steps.split_last().map_or(&[][..], |(_, before)| before);
    before.iter().any(|step| {
        let arrivals = found.get(&step.to).map(|reached| &reached.arrivals);
        arrivals.into_iter().flatten().any(|arrival| {
            let (own, other) = (road(found, step), road(found, arrival.edge));
            let (own, other) = apart(&own, &other);
            other.iter().any(|edge| edge.from == node) && find_same_rows(own, other)
        })
    })
}

/// Whether two paths carry the same columns of the source where they part to the same columns of the
/// one where they meet. Each finds one row at most, so one may use more columns than the other.
fn find_same_rows(left: &[&Edge], right: &[&Edge]) -> bool {
    match (carried(left), carried(right)) {
        (Some(left), Some(right)) => left.is_subset(&right) || right.is_subset(&left),
        _ => false,
    }
}

/// The columns at the begin of a path that its last join compares, each with the column at its end;
/// `None` where one of them comes from a source on the way.
fn carried<'e>(path: &[&'e Edge]) -> Option<BTreeSet<(&'e str, &'e str)>> {
    let (last, before) = path.split_last()?;
    if before.len() > FOLLOWED {
        return None;
    }
    let origin = |(near, far): &'e (String, String)| {
        let mut column = near.as_str();
        for edge in before.iter().rev() {
            let is_it = |(_, to): &&(String, String)| to == column;
            column = edge.pairs.iter().find(is_it)?.0.as_str();
        }
        Some((column, far.as_str()))
    };
    last.pairs.iter().map(origin).collect()
}

/// What is left of two paths behind their common begin.
fn apart<'p, 'e>(left: &'p [&'e Edge], right: &'p [&'e Edge]) -> (&'p [&'e Edge], &'p [&'e Edge]) {
    let steps = left.iter().zip(right);
    let shared = steps
        .take_while(|(one, other)| std::ptr::eq(**one, **other))
        .count();
    let behind = |path: &'p [&'e Edge]| path.get(shared..).unwrap_or_default();
    (behind(left), behind(right))
}

/// The path that ends in this step.
fn road<'a>(found: &Found<'a>, last: &'a Edge) -> Vec<&'a Edge> {
    let mut path = path(found, last.from);
    path.push(last);
    path
}

/// The shortest path over joins of any kind.
fn unsafe_path(graph: &Graph, home: NodeId, node: NodeId) -> Option<Vec<Edge>> {
    if !graph.are_connected(home, node) {
        return None;
    }
    let mut before: BTreeMap<NodeId, &Edge> = BTreeMap::new();
    let mut open = VecDeque::from([home]);
    while let Some(from) = open.pop_front() {
        for edge in graph.edges_from(from) {
            if edge.to == home || before.contains_key(&edge.to) {
                continue;
            }
            before.insert(edge.to, edge);
            open.push_back(edge.to);
            if edge.to == node {
                let mut path = Vec::new();
                let mut at = node;
                while let Some(edge) = before.get(&at) {
                    path.push((*edge).clone());
                    at = edge.from;
                }
                path.reverse();
                return Some(path);
            }
        }
    }
    None
}

/// The best path to `node`.
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
