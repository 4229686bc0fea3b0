//! Full references to tables and columns of a warehouse.

use serde::{Deserialize, Serialize};

/// A table by its full place. Everything that concerns a table is keyed by this, never by the bare
/// name: two schemas may hold tables of one name.
///
/// Ordered by catalog, schema, name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableRef {
    /// Database or project, where the warehouse has that level.
    pub catalog: Option<String>,
    /// Schema or dataset, where the warehouse has that level.
    pub db: Option<String>,
    /// The table's own name, verbatim.
    pub name: String,
}

impl TableRef {
    /// Makes a reference from its three parts.
    pub fn new(catalog: Option<&str>, db: Option<&str>, name: &str) -> Self {
        Self {
            catalog: catalog.map(str::to_owned),
            db: db.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    /// Makes a reference without catalog and schema.
    pub fn bare(name: &str) -> Self {
        Self::new(None, None, name)
    }

    /// The parts that exist, outermost first.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        [
            self.catalog.as_deref(),
            self.db.as_deref(),
            Some(self.name.as_str()),
        ]
        .into_iter()
        .flatten()
    }

    /// A key that tells any two references apart: the parts joined by U+001F, absent ones empty.
    pub fn key(&self) -> String {
        let catalog = self.catalog.as_deref().unwrap_or_default();
        let db = self.db.as_deref().unwrap_or_default();
        format!("{catalog}\u{1f}{db}\u{1f}{}", self.name)
    }
}

/// The parts that exist joined by dots: for people, not for SQL.
impl std::fmt::Display for TableRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, part) in self.parts().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            f.write_str(part)?;
        }
        Ok(())
    }
}

/// A column by its table's full place and its own name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ColumnRef {
    /// The table that holds the column.
    pub table: TableRef,
    /// The column's name, verbatim.
    pub column: String,
}

impl std::fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.table, self.column)
    }
}
