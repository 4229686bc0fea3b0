//! References to tables and columns.

use serde::{Deserialize, Serialize};

/// The key of everything about a table: schemas can contain tables of the same name.
///
/// Ordered by catalog, schema, name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableRef {
    /// Database or project.
    pub catalog: Option<String>,
    /// Schema or dataset.
    pub db: Option<String>,
    pub name: String,
}

impl TableRef {
    pub fn new(catalog: Option<&str>, db: Option<&str>, name: &str) -> Self {
        Self {
            catalog: catalog.map(str::to_owned),
            db: db.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    pub fn bare(name: &str) -> Self {
        Self::new(None, None, name)
    }

    /// Outermost first.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        [
            self.catalog.as_deref(),
            self.db.as_deref(),
            Some(self.name.as_str()),
        ]
        .into_iter()
        .flatten()
    }

    /// A unique key: parts joined by U+001F, absent ones empty.
    pub fn key(&self) -> String {
        let catalog = self.catalog.as_deref().unwrap_or_default();
        let db = self.db.as_deref().unwrap_or_default();
        format!("{catalog}\u{1f}{db}\u{1f}{}", self.name)
    }
}

/// Joined by dots: for display, not for SQL.
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

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ColumnRef {
    pub table: TableRef,
    pub column: String,
}

impl std::fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.table, self.column)
    }
}
