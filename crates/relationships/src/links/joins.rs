//! The joins of past queries and the references that context sources state.

use std::collections::{BTreeMap, BTreeSet};

use crate::types::ColumnId;

/// The ordered column pairs of two tables that a query compares together; the first of each pair
/// belongs to the first table.
pub type Group = Vec<(ColumnId, ColumnId)>;

/// How often columns were compared, and the references that context sources state.
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

    /// Returns how often these two columns were compared alone, in either order.
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

    /// Returns all pairs of columns that were compared alone.
    pub fn pairs(&self) -> impl Iterator<Item = (ColumnId, ColumnId)> {
        self.runs.keys().filter_map(|group| match group.as_slice() {
            [pair] => Some(*pair),
            _ => None,
        })
    }

    /// Returns all groups of pairs, also of one, with their number of runs.
    pub fn all(&self) -> impl Iterator<Item = (&Group, u64)> {
        self.runs.iter().map(|(group, runs)| (group, *runs))
    }

    /// Returns all groups of two or more pairs, with their number of runs.
    pub fn groups(&self) -> impl Iterator<Item = (&Group, u64)> {
        self.all().filter(|(group, _)| group.len() > 1)
    }
}
