//! Which schemas a warehouse has, and what a scan reads of each.

use serde::{Deserialize, Serialize};

/// One schema that is not the server's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSchema {
    /// Its name.
    pub name: String,
    /// How many tables and views there are: those that a scan reads, or would if it read the schema.
    pub tables: usize,
    /// How many others the login may not read.
    pub not_granted: usize,
    /// How many others the list of tables in the scope leaves out.
    pub not_listed: usize,
    /// Whether a scan reads it.
    pub reading: SchemaReading,
}

/// Whether a scan reads a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaReading {
    /// It does.
    Read,
    /// The scope names others.
    NotNamed,
    /// The login may not use it, or may read nothing in it.
    NotGranted {
        /// What gives the right.
        fix: Vec<String>,
    },
}

impl ListedSchema {
    /// Whether a scan reads the schema.
    pub fn is_read(&self) -> bool {
        self.reading == SchemaReading::Read
    }
}
