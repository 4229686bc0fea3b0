//! Finds links in past queries: the columns that they compare for equality.
//!
//! Only tables and columns (by position) and the number of runs are kept of a query.

mod catalog;
mod equalities;
mod read;
mod scope;
pub(crate) mod usage;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use catalog::Catalog;
pub(crate) use read::read;

use crate::types::ColumnId;

#[cfg(test)]
mod tests;

/// The ordered column pairs of two tables that a query compares together; the first of each pair
/// belongs to the first table.
pub(crate) type Group = Vec<(ColumnId, ColumnId)>;

/// How often columns were compared, and the references that context sources state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Joins {
    runs: BTreeMap<Group, u64>,
    stated: BTreeSet<(ColumnId, ColumnId)>,
}

impl Joins {
    pub(crate) fn add(&mut self, group: Group, runs: u64) {
        let known = self.runs.entry(group).or_insert(0);
        *known = known.saturating_add(runs);
    }

    /// Returns how often these two columns were compared alone, in either order.
    pub(crate) fn runs(&self, left: ColumnId, right: ColumnId) -> u64 {
        let pair = (left.min(right), left.max(right));
        self.runs.get(&vec![pair]).copied().unwrap_or(0)
    }

    pub(crate) fn state(&mut self, child: ColumnId, parent: ColumnId) {
        self.stated.insert((child, parent));
    }

    pub(crate) fn is_stated(&self, child: ColumnId, parent: ColumnId) -> bool {
        self.stated.contains(&(child, parent))
    }

    pub(crate) fn stated(&self) -> impl Iterator<Item = (ColumnId, ColumnId)> {
        self.stated.iter().copied()
    }

    /// Returns all pairs of columns that were compared alone.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (ColumnId, ColumnId)> {
        self.runs.keys().filter_map(|group| match group.as_slice() {
            [pair] => Some(*pair),
            _ => None,
        })
    }

    /// Returns all groups of two or more pairs, with their number of runs.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&Group, u64)> {
        self.runs
            .iter()
            .filter(|(group, _)| group.len() > 1)
            .map(|(group, runs)| (group, *runs))
    }
}
