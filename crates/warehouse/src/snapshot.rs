//! The structure of a warehouse at one moment.

use ktx_vocabulary::TableRef;
use serde::{Deserialize, Serialize};

use crate::ListedSchema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableKind {
    /// Includes partitioned parents.
    Table,
    /// Includes materialized views.
    View,
    /// Foreign or external.
    External,
    EventStream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DimensionType {
    Time,
    /// Also everything without a better kind.
    String,
    Number,
    Boolean,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Column {
    pub name: String,
    pub native_type: String,
    /// In the warehouse-neutral spelling.
    pub normalized_type: String,
    pub dimension_type: DimensionType,
    pub nullable: bool,
    pub primary_key: bool,
    pub comment: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForeignKey {
    pub constraint_name: Option<String>,
    pub from_columns: Vec<String>,
    pub to_table: TableRef,
    /// One for each of `from_columns`.
    pub to_columns: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    pub table: TableRef,
    pub kind: TableKind,
    pub comment: Option<String>,
    pub estimated_rows: Option<u64>,
    pub columns: Vec<Column>,
    /// In key order; empty without a key.
    pub primary_key: Vec<String>,
    pub foreign_keys: Vec<ForeignKey>,
}

/// The rest of the scan is valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScanWarning {
    /// Stable, such as `constraint_discovery_unauthorized`.
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    pub recoverable: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaSnapshot {
    pub schemas: Vec<String>,
    /// Includes unread schemas; empty if the driver lists none.
    pub listing: Vec<ListedSchema>,
    pub tables: Vec<Table>,
    pub warnings: Vec<ScanWarning>,
}
