//! Unreadable sources and the joins that may lead through them.
//!
//! Without such a source, a longer path may look like the shortest or the only one. Every name
//! after `to:` in its file counts as a join.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Graph, NodeId};
use crate::model::authored::Relationship;

#[derive(Debug, Clone, Default)]
pub(crate) struct Missing {
    names: Vec<String>,
    /// Per node, the missing sources that it may look up.
    into: BTreeMap<NodeId, BTreeSet<usize>>,
    out: BTreeMap<usize, BTreeSet<NodeId>>,
    among: BTreeMap<usize, BTreeSet<usize>>,
}

impl Missing {
    pub(crate) fn new(names: impl Iterator<Item = String>) -> Self {
        Self {
            names: names.collect(),
            ..Self::default()
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub(crate) fn joined(&mut self, node: NodeId, missing: &str, relationship: Relationship) {
        let Some(at) = self.place(missing) else {
            return;
        };
        if relationship.is_safe() {
            self.into.entry(node).or_default().insert(at);
        }
        if relationship.inverted().is_safe() {
            self.out.entry(at).or_default().insert(node);
        }
    }

    pub(crate) fn joins_to(&mut self, missing: &str, target: &str, node: Option<NodeId>) {
        let Some(at) = self.place(missing) else {
            return;
        };
        if let Some(node) = node {
            self.into.entry(node).or_default().insert(at);
            self.out.entry(at).or_default().insert(node);
        } else if let Some(other) = self.place(target) {
            self.among.entry(at).or_default().insert(other);
            self.among.entry(other).or_default().insert(at);
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    pub(super) fn between(
        &self,
        graph: &Graph,
        home: NodeId,
        node: NodeId,
        length: usize,
    ) -> Option<&str> {
        if self.into.is_empty() || length < 2 {
            return None;
        }
        let mut seen: BTreeSet<(Place, bool)> = BTreeSet::new();
        let mut open = VecDeque::from([(Place::There(home), None, 0)]);
        while let Some((place, met, steps)) = open.pop_front() {
            match (place, met) {
                (Place::There(at), Some(met)) if at == node => {
                    return self.names.get(met).map(String::as_str);
                }
                _ if steps == length || !seen.insert((place, met.is_some())) => continue,
                _ => {}
            }
            let mut go = |place, met| open.push_back((place, met, steps + 1));
            match place {
                Place::There(at) => {
                    for edge in graph.safe_edges_from(at) {
                        go(Place::There(edge.to), met);
                    }
                    for next in self.into.get(&at).into_iter().flatten() {
                        go(Place::Missing(*next), Some(*next));
                    }
                }
                Place::Missing(at) => {
                    for next in self.out.get(&at).into_iter().flatten() {
                        go(Place::There(*next), met);
                    }
                    for next in self.among.get(&at).into_iter().flatten() {
                        go(Place::Missing(*next), Some(*next));
                    }
                }
            }
        }
        None
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    There(NodeId),
    Missing(usize),
}

/// Returns the names after `to:`; the text need not be YAML.
pub(crate) fn targets(text: &str) -> BTreeSet<&str> {
    values(text, "to:")
}

pub(crate) fn aliases(text: &str) -> BTreeSet<&str> {
    values(text, "alias:")
}

fn values<'t>(text: &'t str, key: &str) -> BTreeSet<&'t str> {
    let after = text.match_indices(key).filter(|(at, _)| {
        let before = text.get(..*at).and_then(|front| front.chars().next_back());
        before.is_none_or(|letter| {
            letter.is_whitespace() || matches!(letter, '{' | ',' | '-' | '"' | '\'')
        })
    });
    let name = |(at, word): (usize, &str)| {
        let rest = text.get(at + word.len()..)?.lines().next()?;
        let rest = rest.split([',', '}', '#']).next()?;
        let rest = rest.trim().trim_matches(['"', '\'']);
        (!rest.is_empty()).then_some(rest)
    };
    after.filter_map(name).collect()
}
