//! What changed between two scans.

use std::collections::BTreeMap;

use ktx_vocabulary::TableRef;
use serde::{Deserialize, Serialize};

use crate::structural::wire::{StructuralSyncStats, TableArtifact};

/// How many tables and columns changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DiffSummary {
    /// Tables that are new.
    pub tables_added: usize,
    /// Tables that are different.
    pub tables_modified: usize,
    /// Tables that are gone.
    pub tables_deleted: usize,
    /// Tables that are the same.
    pub tables_unchanged: usize,
    /// Columns that are new, those of new tables included.
    pub columns_added: usize,
    /// Columns that are different.
    pub columns_modified: usize,
    /// Columns that are gone, those of deleted tables included.
    pub columns_deleted: usize,
}

impl DiffSummary {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.tables_added == 0 && self.tables_modified == 0 && self.tables_deleted == 0
    }

    /// The same counts in the words of the report.
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

/// Compares two scans. The number of rows is no change of structure.
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

/// Files of KTX 0.12 lack the keys that it did not know: they say nothing about a change.
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
    for column in &new.columns {
        match old.columns.iter().find(|known| known.name == column.name) {
            None => summary.columns_added += 1,
            Some(known) if known != column => summary.columns_modified += 1,
            Some(_) => {}
        }
    }
    let gone = |column: &&crate::structural::wire::ColumnArtifact| {
        new.columns.iter().all(|known| known.name != column.name)
    };
    summary.columns_deleted += old.columns.iter().filter(gone).count();
}
