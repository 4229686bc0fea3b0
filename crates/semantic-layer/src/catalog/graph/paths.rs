//! Look-up paths over joins that cannot multiply rows.
//!
//! Two paths that carry the same key find the same row; the one that covers more rows wins. Between
//! others, the more trusted path wins, and a path is as trusted as its least trusted join. Trust
//! does not choose between two roles (joins from unrelated columns to the same columns): there a
//! direct join beats a detour, then coverage decides, then length, then whether the warehouse
//! declares the joins. Equal paths are ambiguous.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use super::{Edge, Graph, NodeId};
use crate::model::resolved::{JoinOrigin, Trust};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// Empty for the home itself.
    Path(Vec<Edge>),
    Ambiguous(Vec<Edge>, Vec<Edge>),
    /// A better path may lead through this unreadable source.
    Doubtful(String),
    /// The shortest path over joins that multiply rows.
    Unsafe(Vec<Edge>),
    Unreachable,
}

/// All rows, in the unit of lost rows.
const WHOLE: u64 = 1_000_000_000_000;
/// Joins through which a column is traced back.
const FOLLOWED: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Measure {
    trust: Trust,
    /// The share of rows without a match, if measured.
    lost: u64,
    distance: usize,
    /// The origin of the least trusted join.
    origin: JoinOrigin,
}

impl Measure {
    fn extended(self, edge: &Edge) -> Self {
        let kept = WHOLE.saturating_sub(self.lost) / 100 * u64::from(edge.counted.percent());
        Self {
            trust: self.trust.max(edge.origin.trust()),
            lost: WHOLE.saturating_sub(kept),
            distance: self.distance + 1,
            origin: self.origin.max(edge.origin),
        }
    }
}

/// Identifies a path by its last step; earlier steps are those of its start.
#[derive(Debug, Clone, Copy)]
struct Arrival<'a> {
    edge: &'a Edge,
    measure: Measure,
}

#[derive(Debug, Clone, Default)]
struct Reached<'a> {
    measure: Measure,
    is_settled: bool,
    first: Option<&'a Edge>,
    second: Option<&'a Edge>,
    is_ambiguous: bool,
    arrivals: Vec<Arrival<'a>>,
}

type Found<'a> = BTreeMap<NodeId, Reached<'a>>;

#[derive(Debug, Clone)]
pub struct Routes<'a> {
    graph: &'a Graph,
    home: NodeId,
    reached: Found<'a>,
    stop: Option<Box<Stop<'a>>>,
}

#[derive(Debug, Clone)]
struct Stop<'a> {
    path: Vec<Edge>,
    routes: Routes<'a>,
}

impl<'a> Routes<'a> {
    pub fn new(graph: &'a Graph, home: NodeId) -> Self {
        Self {
            graph,
            home,
            reached: search(graph, home),
            stop: None,
        }
    }

    /// Finds paths that go through some sources where they can.
    pub(crate) fn through(
        graph: &'a Graph,
        home: NodeId,
        stops: &[NodeId],
    ) -> Result<Self, (NodeId, Lookup)> {
        let mut routes = Self::new(graph, home);
        if let Some((first, rest)) = stops.split_first() {
            match routes.lookup(*first) {
                Lookup::Path(path) => {
                    let behind = Self::through(graph, *first, rest)?;
                    routes.stop = Some(Box::new(Stop {
                        path,
                        routes: behind,
                    }));
                }
                other => return Err((*first, other)),
            }
        }
        Ok(routes)
    }

    pub fn reaches(&self, node: NodeId) -> bool {
        self.reached.contains_key(&node)
    }

    /// `None` if the look-up comes back from the named source.
    fn through_stop(&self, node: NodeId) -> Option<Lookup> {
        let stop = self.stop.as_ref()?;
        let whole = |rest: Vec<Edge>| {
            let is_known = |edge: &Edge| {
                edge.to == self.home || stop.path.iter().any(|before| before.to == edge.to)
            };
            let comes_back = rest.iter().any(is_known);
            (!comes_back).then(|| stop.path.iter().cloned().chain(rest).collect())
        };
        match stop.routes.lookup(node) {
            Lookup::Path(rest) => Some(Lookup::Path(whole(rest)?)),
            Lookup::Ambiguous(one, other) => Some(Lookup::Ambiguous(whole(one)?, whole(other)?)),
            Lookup::Doubtful(_) | Lookup::Unsafe(_) | Lookup::Unreachable => None,
        }
    }

    pub fn is_ambiguous(&self, node: NodeId) -> bool {
        self.reached
            .get(&node)
            .is_some_and(|found| found.is_ambiguous)
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.reached.keys().copied()
    }

    /// Nearest first, with the last step to each.
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

    pub fn lookup(&self, node: NodeId) -> Lookup {
        if let Some(found) = self.through_stop(node) {
            return found;
        }
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

    /// The best competitor may find another row.
    pub(crate) fn rival(&self, node: NodeId) -> Option<(Vec<Edge>, Vec<Edge>)> {
        if self.through_stop(node).is_some() {
            return None;
        }
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
                    Verdict::Measured(Ordering::Less) | Verdict::Trusted(Ordering::Less)
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

/// `None` if the node's best path is not final, or already settled.
fn settled<'a>(found: &Found<'a>, node: NodeId, now: Measure) -> Option<Reached<'a>> {
    let reached = found.get(&node).filter(|reached| !reached.is_settled)?;
    let mut reached = reached.clone();
    reached.is_settled = true;
    let Some(mut best) = reached.arrivals.first().copied() else {
        return Some(reached);
    };
    for other in reached.arrivals.iter().skip(1) {
        let is_better = match compare(found, &best, other).order() {
            Some(order) => order == Ordering::Greater,
            None => other.measure.trust < best.measure.trust,
        };
        if is_better {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Both find the same row, one for more rows or in fewer steps.
    SameRows(Ordering),
    Trusted(Ordering),
    /// One leads straight to the node.
    Straighter(Ordering),
    Measured(Ordering),
    Tie,
}

impl Verdict {
    fn order(self) -> Option<Ordering> {
        match self {
            Self::SameRows(order)
            | Self::Trusted(order)
            | Self::Straighter(order)
            | Self::Measured(order) => Some(order),
            Self::Tie => None,
        }
    }
}

fn compare(found: &Found<'_>, one: &Arrival<'_>, other: &Arrival<'_>) -> Verdict {
    let (left, right) = (road(found, one.edge), road(found, other.edge));
    let (left, right) = apart(&left, &right);
    if find_same_rows(left, right) {
        let width = |arrival: &Arrival<'_>| (arrival.measure, arrival.edge.pairs.len());
        return Verdict::SameRows(width(one).cmp(&width(other)));
    }
    match one.measure.trust.cmp(&other.measure.trust) {
        Ordering::Equal => {}
        _ if matches!((left, right), ([one], [other]) if one.is_other_role(other)) => {}
        order => return Verdict::Trusted(order),
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

/// Returns true if the steps find the same rows through `node`; one step from there is straighter.
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

/// Returns true if two paths carry the same start columns to the same end columns.
fn find_same_rows(left: &[&Edge], right: &[&Edge]) -> bool {
    match (carried(left), carried(right)) {
        (Some(left), Some(right)) => left.is_subset(&right) || right.is_subset(&left),
        _ => false,
    }
}

/// Pairs of start and end columns; `None` if one comes from between.
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

fn apart<'p, 'e>(left: &'p [&'e Edge], right: &'p [&'e Edge]) -> (&'p [&'e Edge], &'p [&'e Edge]) {
    let steps = left.iter().zip(right);
    let shared = steps
        .take_while(|(one, other)| std::ptr::eq(**one, **other))
        .count();
    let behind = |path: &'p [&'e Edge]| path.get(shared..).unwrap_or_default();
    (behind(left), behind(right))
}

fn road<'a>(found: &Found<'a>, last: &'a Edge) -> Vec<&'a Edge> {
    let mut path = path(found, last.from);
    path.push(last);
    path
}

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
