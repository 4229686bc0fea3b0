//! The schemas of a warehouse.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSchema {
    pub name: String,
    /// Tables and views that a scan reads, or would read.
    pub tables: usize,
    /// Not readable by the login.
    pub not_granted: usize,
    /// Excluded by the scope's table list.
    pub not_listed: usize,
    pub reading: SchemaReading,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaReading {
    Read,
    NotNamed,
    NotGranted { fix: Vec<String> },
}

impl ListedSchema {
    pub fn is_read(&self) -> bool {
        self.reading == SchemaReading::Read
    }
}
