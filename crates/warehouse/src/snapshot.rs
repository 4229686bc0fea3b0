//! The structure of a warehouse at one moment.

use ktx_vocabulary::TableRef;
use serde::{Deserialize, Serialize};

use crate::ListedSchema;

/// The kind of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableKind {
    /// A stored table, partitioned parents included.
    Table,
    /// A view, materialized ones included.
    View,
    /// A foreign or external table.
    External,
    EventStream,
}

/// The role of a column in analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DimensionType {
    /// Dates, times, timestamps.
    Time,
    /// Text and everything without a better kind.
    String,
    Number,
    Boolean,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Column {
    /// The name, verbatim.
    pub name: String,
    /// The type as the warehouse writes it.
    pub native_type: String,
    /// The type in the warehouse-neutral spelling.
    pub normalized_type: String,
    pub dimension_type: DimensionType,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Whether the column is part of the declared primary key.
    pub primary_key: bool,
    /// The comment in the catalog.
    pub comment: Option<String>,
}

/// One declared foreign key; composite keys are complete and in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForeignKey {
    /// The constraint's name, if it has one.
    pub constraint_name: Option<String>,
    /// The columns of this table.
    pub from_columns: Vec<String>,
    /// The referenced table with its full location.
    pub to_table: TableRef,
    /// The referenced columns, one for each of `from_columns`.
    pub to_columns: Vec<String>,
}

/// One relation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    /// Its full location.
    pub table: TableRef,
    pub kind: TableKind,
    /// The comment in the catalog.
    pub comment: Option<String>,
    /// The catalog's row estimate; `None` if it has none.
    pub estimated_rows: Option<u64>,
    /// The columns in their order.
    pub columns: Vec<Column>,
    /// The columns of the declared primary key in key order; empty without one.
    pub primary_key: Vec<String>,
    pub foreign_keys: Vec<ForeignKey>,
}

/// Something that could not be read or done; the rest of the scan is valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScanWarning {
    /// A stable code, such as `constraint_discovery_unauthorized`.
    pub code: String,
    /// What could not be done and what would help.
    pub message: String,
    /// The table concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The column concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Whether the scan continued.
    pub recoverable: bool,
}

/// The structure of a warehouse.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaSnapshot {
    /// The schemas that were read.
    pub schemas: Vec<String>,
    /// All schemas, including those not read; empty if the driver does not list them.
    pub listing: Vec<ListedSchema>,
    /// The tables, sorted by location.
    pub tables: Vec<Table>,
    /// What could not be read.
    pub warnings: Vec<ScanWarning>,
}
