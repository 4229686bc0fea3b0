//! What past queries say about links: the columns that people have set equal in them.
//!
//! Of a query nothing is kept but tables and columns, by position, and how often it ran.

mod catalog;
mod equalities;
mod read;
mod scope;
pub(crate) mod usage;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use catalog::Catalog;
pub(crate) use read::read;

use crate::relationships::At;

#[cfg(test)]
mod tests;

/// Columns of two tables that a query sets equal together, ordered; the first of each pair belongs to
/// the table that comes first.
pub(crate) type Group = Vec<(At, At)>;

/// How often which columns were set equal, and which ones context sources say refer to which.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Joins {
    runs: BTreeMap<Group, u64>,
    stated: BTreeSet<(At, At)>,
}

impl Joins {
    /// Adds a group of pairs that a query sets equal.
    pub(crate) fn add(&mut self, group: Group, runs: u64) {
        let known = self.runs.entry(group).or_insert(0);
        *known = known.saturating_add(runs);
    }

    /// How often these two columns alone were set equal, in either order.
    pub(crate) fn runs(&self, left: At, right: At) -> u64 {
        let pair = (left.min(right), left.max(right));
        self.runs.get(&vec![pair]).copied().unwrap_or(0)
    }

    /// Adds what a context source says: the values of the first column are those of the second.
    pub(crate) fn state(&mut self, child: At, parent: At) {
        self.stated.insert((child, parent));
    }

    /// Whether a context source says that the child refers to the parent.
    pub(crate) fn is_stated(&self, child: At, parent: At) -> bool {
        self.stated.contains(&(child, parent))
    }

    /// Every child with its parent that a context source tells.
    pub(crate) fn stated(&self) -> impl Iterator<Item = (At, At)> {
        self.stated.iter().copied()
    }

    /// All pairs of columns that were set equal alone.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (At, At)> {
        self.runs.keys().filter_map(|group| match group.as_slice() {
            [pair] => Some(*pair),
            _ => None,
        })
    }

    /// All groups of two or more pairs, with how often they were set equal.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&Group, u64)> {
        self.runs
            .iter()
            .filter(|(group, _)| group.len() > 1)
            .map(|(group, runs)| (group, *runs))
    }
}
