//! What differs between two scans.

use ktx_vocabulary::TableRef;
use serde::{Deserialize, Serialize};

/// The number of changed tables and columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DiffSummary {
    pub tables_added: usize,
    /// Changed tables.
    pub tables_modified: usize,
    /// Removed tables.
    pub tables_deleted: usize,
    pub tables_unchanged: usize,
    /// New columns, including those of new tables.
    pub columns_added: usize,
    /// Changed columns.
    pub columns_modified: usize,
    /// Removed columns, including those of removed tables.
    pub columns_deleted: usize,
}

impl DiffSummary {
    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.tables_added == 0 && self.tables_modified == 0 && self.tables_deleted == 0
    }
}

/// The change of a table or column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuralChange {
    /// New.
    Added,
    /// Changed.
    Modified,
    /// Removed.
    Deleted,
}

impl StructuralChange {
    /// Returns the spelling in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}

/// A table that differs from the last scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDifference {
    pub table: TableRef,
    /// The kind of change.
    pub change: StructuralChange,
    /// The changed columns of a changed table, sorted by name.
    pub columns: Vec<(String, StructuralChange)>,
}
