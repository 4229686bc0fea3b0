//! Finds tables by their column names and the keys that these refer to.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::{ColumnFacts, Facts};
use crate::types::ColumnId;
use crate::weights as w;

pub(super) struct Index {
    names: BTreeMap<String, BTreeSet<usize>>,
    /// `lead_user_id` means a `user_id`.
    endings: BTreeMap<String, BTreeSet<usize>>,
    parents: BTreeMap<ColumnId, BTreeSet<usize>>,
}

impl Index {
    pub(super) fn of(facts: &Facts<'_>, single: &BTreeMap<ColumnId, ColumnId>) -> Self {
        let mut names: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        let mut endings: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for (at, column) in facts.columns() {
            names.entry(plain(column)).or_default().insert(at.table);
            let base = column.name.base();
            for from in 1..base.len() {
                let ending = base.get(from..).unwrap_or_default().join(" ");
                endings.entry(ending).or_default().insert(at.table);
            }
        }
        let mut parents: BTreeMap<ColumnId, BTreeSet<usize>> = BTreeMap::new();
        for (child, parent) in single {
            parents.entry(*parent).or_default().insert(child.table);
        }
        Self {
            names,
            endings,
            parents,
        }
    }

    /// Then a year or number in the group is not a measure.
    pub(super) fn stands_elsewhere(
        &self,
        facts: &Facts<'_>,
        table: usize,
        group: &[usize],
    ) -> bool {
        let mut sharing = group.iter().map(|column| {
            let at = ColumnId {
                table,
                column: *column,
            };
            facts
                .column(at)
                .and_then(|column| self.names.get(&plain(column)))
        });
        let Some(Some(first)) = sharing.next() else {
            return false;
        };
        let rest: Vec<Option<&BTreeSet<usize>>> = sharing.collect();
        first.iter().filter(|other| **other != table).any(|other| {
            rest.iter()
                .all(|names| names.is_some_and(|names| names.contains(other)))
        })
    }

    pub(super) fn children(
        &self,
        facts: &Facts<'_>,
        single: &BTreeMap<ColumnId, ColumnId>,
        table: usize,
        group: &[usize],
    ) -> Vec<usize> {
        let sharing = group.iter().filter_map(|column| {
            let at = ColumnId {
                table,
                column: *column,
            };
            let name = plain(facts.column(at)?);
            let mut tables = self.names.get(&name).cloned().unwrap_or_default();
            tables.extend(self.endings.get(&name).into_iter().flatten());
            if let Some(parent) = single.get(&at) {
                tables.extend(self.parents.get(parent).into_iter().flatten());
                tables.remove(&parent.table);
            }
            tables.remove(&table);
            (!tables.is_empty()).then_some(tables)
        });
        let rarest = sharing.min_by_key(BTreeSet::len).unwrap_or_default();
        rarest.into_iter().take(w::GROUP_CHILDREN.size()).collect()
    }
}

fn plain(column: &ColumnFacts<'_>) -> String {
    let base = column.name.base();
    if base.is_empty() {
        column.name.words.join(" ")
    } else {
        base.join(" ")
    }
}
