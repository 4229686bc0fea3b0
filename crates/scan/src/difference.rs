//! What differs between two scans.

use ktx_vocabulary::TableRef;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DiffSummary {
    pub tables_added: usize,
    pub tables_modified: usize,
    pub tables_deleted: usize,
    pub tables_unchanged: usize,
    /// Includes new tables.
    pub columns_added: usize,
    pub columns_modified: usize,
    /// Includes removed tables.
    pub columns_deleted: usize,
}

impl DiffSummary {
    pub fn is_empty(&self) -> bool {
        self.tables_added == 0 && self.tables_modified == 0 && self.tables_deleted == 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuralChange {
    Added,
    Modified,
    Deleted,
}

impl StructuralChange {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDifference {
    pub table: TableRef,
    pub change: StructuralChange,
    pub columns: Vec<(String, StructuralChange)>,
}
