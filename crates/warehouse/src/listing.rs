//! The schemas of a warehouse, and what a scan reads of each.

use serde::{Deserialize, Serialize};

/// A schema that is not the server's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSchema {
    pub name: String,
    /// Tables and views that a scan reads, or would read if it read the schema.
    pub tables: usize,
    /// Others that the login may not read.
    pub not_granted: usize,
    /// Others that the scope's table list excludes.
    pub not_listed: usize,
    pub reading: SchemaReading,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaReading {
    Read,
    /// The scope names only other schemas.
    NotNamed,
    /// The login may not use it, or cannot read anything in it.
    NotGranted {
        /// Statements that grant the right.
        fix: Vec<String>,
    },
}

impl ListedSchema {
    pub fn is_read(&self) -> bool {
        self.reading == SchemaReading::Read
    }
}
