//! What metadata says about tables.

/// What the metadata of a source says, without a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The tables, by name and schema. One of a known schema is there even when nothing is said about it: what
    /// is said about another table of its name is not about it.
    pub tables: Vec<TableFacts>,
    /// What could not be understood, as `file:line:column: what` where the place is known.
    pub warnings: Vec<String>,
    /// Whether every file could be read: what is missing is no longer said then.
    pub is_complete: bool,
}

/// What is said about one table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableFacts {
    /// The name in the warehouse.
    pub name: String,
    /// The database, where the metadata knows it.
    pub database: Option<String>,
    /// The schema, where the metadata knows it.
    pub schema: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its columns, in their order.
    pub columns: Vec<ColumnFacts>,
}

/// What is said about one column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnFacts {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Whether the team tests that it has no nulls.
    pub is_not_null: bool,
    /// Whether the team tests that no value occurs twice.
    pub is_unique: bool,
    /// The values that the team tests for.
    pub accepted: Option<Vec<String>>,
}

impl TableFacts {
    /// Whether anything is said.
    pub(crate) fn is_empty(&self) -> bool {
        self.description.is_none() && self.columns.is_empty()
    }
}

impl ColumnFacts {
    /// Whether anything is said.
    pub(crate) fn is_empty(&self) -> bool {
        self.description.is_none()
            && !self.is_not_null
            && !self.is_unique
            && self.accepted.is_none()
    }
}
