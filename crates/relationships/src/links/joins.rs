//! Joins of past queries and stated references.

use std::collections::{BTreeMap, BTreeSet};

use crate::types::ColumnId;

/// Column pairs that a query compares together; the first of each pair belongs to the first table.
pub type Group = Vec<(ColumnId, ColumnId)>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Joins {
    runs: BTreeMap<Group, u64>,
    stated: BTreeSet<(ColumnId, ColumnId)>,
}

impl Joins {
    pub fn add(&mut self, group: Group, runs: u64) {
        let known = self.runs.entry(group).or_insert(0);
        *known = known.saturating_add(runs);
    }

    /// Returns the runs that compare the two columns alone, in either order.
    pub fn runs(&self, left: ColumnId, right: ColumnId) -> u64 {
        let pair = (left.min(right), left.max(right));
        self.runs.get(&vec![pair]).copied().unwrap_or(0)
    }

    pub fn state(&mut self, child: ColumnId, parent: ColumnId) {
        self.stated.insert((child, parent));
    }

    pub fn is_stated(&self, child: ColumnId, parent: ColumnId) -> bool {
        self.stated.contains(&(child, parent))
    }

    pub fn stated(&self) -> impl Iterator<Item = (ColumnId, ColumnId)> {
        self.stated.iter().copied()
    }

    /// Returns the pairs that a query compares alone.
    pub fn pairs(&self) -> impl Iterator<Item = (ColumnId, ColumnId)> {
        self.runs.keys().filter_map(|group| match group.as_slice() {
            [pair] => Some(*pair),
            _ => None,
        })
    }

    pub fn all(&self) -> impl Iterator<Item = (&Group, u64)> {
        self.runs.iter().map(|(group, runs)| (group, *runs))
    }

    /// Returns the groups of two or more pairs.
    pub fn groups(&self) -> impl Iterator<Item = (&Group, u64)> {
        self.all().filter(|(group, _)| group.len() > 1)
    }
}
