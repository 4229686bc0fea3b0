//! The structure of a warehouse at one moment.

use ktx_vocabulary::TableRef;
use serde::{Deserialize, Serialize};

use crate::ListedSchema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableKind {
    /// A stored table, including partitioned parents.
    Table,
    /// A view, including materialized ones.
    View,
    /// A foreign or external table.
    External,
    EventStream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DimensionType {
    Time,
    /// Text, and everything without a better kind.
    String,
    Number,
    Boolean,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Column {
    pub name: String,
    /// The type as the warehouse writes it.
    pub native_type: String,
    /// The type in the warehouse-neutral spelling.
    pub normalized_type: String,
    pub dimension_type: DimensionType,
    pub nullable: bool,
    pub primary_key: bool,
    /// The comment in the catalog.
    pub comment: Option<String>,
}

/// Composite keys are complete and in order.
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
    /// The comment in the catalog.
    pub comment: Option<String>,
    /// The catalog's estimate; `None` if it has none.
    pub estimated_rows: Option<u64>,
    pub columns: Vec<Column>,
    /// The columns of the declared primary key in key order; empty without one.
    pub primary_key: Vec<String>,
    pub foreign_keys: Vec<ForeignKey>,
}

/// Something that could not be read or done; the rest of the scan is valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScanWarning {
    /// Stable, such as `constraint_discovery_unauthorized`.
    pub code: String,
    /// What could not be done and what would help.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    pub recoverable: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaSnapshot {
    /// Those that were read.
    pub schemas: Vec<String>,
    /// All schemas, including those not read; empty if the driver does not list them.
    pub listing: Vec<ListedSchema>,
    /// The tables, sorted by location.
    pub tables: Vec<Table>,
    pub warnings: Vec<ScanWarning>,
}
