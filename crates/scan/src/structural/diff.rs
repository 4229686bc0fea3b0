//! Compares two scans.

use std::collections::BTreeMap;

use ktx_vocabulary::TableRef;

use crate::difference::{DiffSummary, StructuralChange, TableDifference};
use crate::wire::{StructuralSyncStats, TableArtifact};

impl DiffSummary {
    pub(crate) fn stats(&self) -> StructuralSyncStats {
        StructuralSyncStats {
            tables_created: self.tables_added,
            tables_updated: self.tables_modified,
            tables_deleted: self.tables_deleted,
            columns_created: self.columns_added,
            columns_updated: self.columns_modified,
            columns_deleted: self.columns_deleted,
        }
    }
}

pub(crate) fn differences(
    before: &BTreeMap<TableRef, TableArtifact>,
    now: &BTreeMap<TableRef, TableArtifact>,
) -> Vec<TableDifference> {
    let mut places: Vec<&TableRef> = before.keys().chain(now.keys()).collect();
    places.sort();
    places.dedup();
    let difference = |place: &TableRef, change, columns| TableDifference {
        table: place.clone(),
        change,
        columns,
    };
    let found = places
        .into_iter()
        .filter_map(|place| match (before.get(place), now.get(place)) {
            (None, _) => Some(difference(place, StructuralChange::Added, Vec::new())),
            (_, None) => Some(difference(place, StructuralChange::Deleted, Vec::new())),
            (Some(old), Some(new)) if is_same(old, new) => None,
            (Some(old), Some(new)) => {
                let columns = changed_columns(old, new);
                Some(difference(place, StructuralChange::Modified, columns))
            }
        });
    found.collect()
}

fn changed_columns(old: &TableArtifact, new: &TableArtifact) -> Vec<(String, StructuralChange)> {
    let mut columns = Vec::new();
    for column in &new.columns {
        let change = match old.columns.iter().find(|known| known.name == column.name) {
            None => StructuralChange::Added,
            Some(known) if known != column => StructuralChange::Modified,
            Some(_) => continue,
        };
        columns.push((column.name.clone(), change));
    }
    for column in &old.columns {
        if new.columns.iter().all(|known| known.name != column.name) {
            columns.push((column.name.clone(), StructuralChange::Deleted));
        }
    }
    columns.sort_by(|left, right| left.0.cmp(&right.0));
    columns
}

/// Ignores row counts.
pub(crate) fn diff(
    before: &BTreeMap<TableRef, TableArtifact>,
    now: &BTreeMap<TableRef, TableArtifact>,
) -> DiffSummary {
    let mut summary = DiffSummary::default();
    for (place, table) in now {
        match before.get(place) {
            None => {
                summary.tables_added += 1;
                summary.columns_added += table.columns.len();
            }
            Some(old) if is_same(old, table) => summary.tables_unchanged += 1,
            Some(old) => {
                summary.tables_modified += 1;
                compare_columns(old, table, &mut summary);
            }
        }
    }
    for (place, table) in before {
        if !now.contains_key(place) {
            summary.tables_deleted += 1;
            summary.columns_deleted += table.columns.len();
        }
    }
    summary
}

/// Files of KTX 0.12 lack newer keys.
fn is_same(old: &TableArtifact, new: &TableArtifact) -> bool {
    let place = (&old.catalog, &old.db, &old.name) == (&new.catalog, &new.db, &new.name);
    let same =
        place && old.kind == new.kind && old.comment == new.comment && old.columns == new.columns;
    if old.structure_hash.is_some() {
        return same
            && old.foreign_keys == new.foreign_keys
            && old.primary_key == new.primary_key
            && old.foreign_key_groups == new.foreign_key_groups;
    }
    let sorted = |table: &TableArtifact| {
        let mut keys = table.foreign_keys.clone();
        keys.sort_by(|left, right| left.from_column.cmp(&right.from_column));
        keys
    };
    same && sorted(old) == sorted(new)
}

fn compare_columns(old: &TableArtifact, new: &TableArtifact, summary: &mut DiffSummary) {
    for (_, change) in changed_columns(old, new) {
        match change {
            StructuralChange::Added => summary.columns_added += 1,
            StructuralChange::Modified => summary.columns_modified += 1,
            StructuralChange::Deleted => summary.columns_deleted += 1,
        }
    }
}
