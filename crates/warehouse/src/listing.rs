//! The schemas of a warehouse, and what a scan reads of each.

use serde::{Deserialize, Serialize};

/// One schema that is not the server's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSchema {
    pub name: String,
    /// The number of tables and views that a scan reads, or would read if it read the schema.
    pub tables: usize,
    /// The number of others that the login may not read.
    pub not_granted: usize,
    /// The number of others that the scope's table list excludes.
    pub not_listed: usize,
    pub reading: SchemaReading,
}

/// Whether a scan reads a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaReading {
    Read,
    /// The scope names other schemas only.
    NotNamed,
    /// The login may not use it, or cannot read anything in it.
    NotGranted {
        /// Statements that grant the right.
        fix: Vec<String>,
    },
}

impl ListedSchema {
    /// Whether a scan reads the schema.
    pub fn is_read(&self) -> bool {
        self.reading == SchemaReading::Read
    }
}
