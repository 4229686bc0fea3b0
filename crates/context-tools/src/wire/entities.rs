//! `entity_details`.

use std::collections::BTreeMap;

use ktx_vocabulary::TableRef;
use ktx_warehouse::{DimensionType, TableKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The full place of a table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct TablePlace {
    /// Database or project, where the warehouse has that level.
    #[serde(default)]
    pub catalog: Option<String>,
    /// Schema or dataset, where the warehouse has that level.
    #[serde(default)]
    pub db: Option<String>,
    /// The table's own name.
    pub name: String,
}

impl From<&TableRef> for TablePlace {
    fn from(table: &TableRef) -> Self {
        Self {
            catalog: table.catalog.clone(),
            db: table.db.clone(),
            name: table.name.clone(),
        }
    }
}

impl From<&TablePlace> for TableRef {
    fn from(place: &TablePlace) -> Self {
        Self {
            catalog: place.catalog.clone(),
            db: place.db.clone(),
            name: place.name.clone(),
        }
    }
}

/// A table as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TableName {
    /// A dotted name such as `public.orders`, or the name alone.
    Text(String),
    /// The full place.
    Place(TablePlace),
}

/// One table and the columns that are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum EntityInput {
    /// The dotted name of a table, for all its columns.
    Text(String),
    /// A table and columns of it.
    Table {
        /// The table: a dotted name, or its full place.
        table: TableName,
        /// Only these columns; all when left out.
        columns: Option<Vec<String>>,
    },
}

impl EntityInput {
    /// The table.
    pub fn table(&self) -> TableName {
        match self {
            Self::Text(name) => TableName::Text(name.clone()),
            Self::Table { table, .. } => table.clone(),
        }
    }

    /// The columns that are wanted; all where there are none.
    pub fn columns(&self) -> &[String] {
        match self {
            Self::Text(_) => &[],
            Self::Table { columns, .. } => columns.as_deref().unwrap_or_default(),
        }
    }
}

/// Which tables to describe.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EntityDetailsInput {
    /// The warehouse; may be left out when only one has the tables.
    pub connection_id: Option<String>,
    /// The tables.
    #[schemars(length(min = 1, max = 20))]
    #[schemars(extend("x-aliases" = ["table", "name"]))]
    pub entities: Vec<EntityInput>,
}

/// One answer for each table asked for, in the order of asking.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EntityDetailsOutput {
    /// The answers.
    pub results: Vec<EntityDetails>,
    /// Parts of the scan that could not be read, and tables of which no values are shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The details of a table, or why there are none.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum EntityDetails {
    /// The table was found.
    Found(Box<EntityFound>),
    /// It was not.
    Missing(Box<EntityMissing>),
}

/// A table with its columns as the last scan saw them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntityFound {
    /// Always true.
    pub ok: bool,
    /// The warehouse.
    pub connection_id: String,
    /// The full place.
    pub table_ref: TablePlace,
    /// The dotted display name.
    pub display: String,
    /// `table`, `view`, `external` or `event_stream`.
    #[schemars(with = "String")]
    pub kind: TableKind,
    /// The comment in the warehouse's catalog.
    pub comment: Option<String>,
    /// Rows as estimated.
    pub estimated_rows: Option<u64>,
    /// The columns.
    pub columns: Vec<ColumnItem>,
    /// How many more columns there are that the semantic layer hides or excludes; left out when there
    /// are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hidden_columns: usize,
    /// Declared foreign keys, one for each column.
    pub foreign_keys: Vec<ForeignKeyItem>,
    /// The scan that told.
    pub snapshot: SnapshotItem,
    /// The semantic source of the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_name: Option<String>,
    /// What the table is, by who said so: `user`, `ai`, `dbt`, `metricflow`, `lookml`, `looker`, `db`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub descriptions: BTreeMap<String, String>,
    /// Joins of the semantic source, declared and discovered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<JoinItem>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the serializer hands out references"
)]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// One column.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ColumnItem {
    /// The name.
    pub name: String,
    /// The type as the warehouse writes it.
    pub native_type: String,
    /// The type in a spelling that does not depend on the warehouse.
    pub normalized_type: String,
    /// `time`, `string`, `number` or `boolean`.
    #[schemars(with = "String")]
    pub dimension_type: DimensionType,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Whether it is part of the primary key.
    pub primary_key: bool,
    /// The comment in the warehouse's catalog.
    pub comment: Option<String>,
    /// The best description that the semantic layer has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Some values that occur, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sample_values: Vec<String>,
}

/// One column of a declared foreign key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForeignKeyItem {
    /// The column of this table.
    pub from_column: String,
    /// Where the referenced table is.
    pub to_catalog: Option<String>,
    /// Where the referenced table is.
    pub to_db: Option<String>,
    /// The referenced table.
    pub to_table: String,
    /// The referenced column.
    pub to_column: String,
    /// The name of the constraint.
    pub constraint_name: Option<String>,
}

/// One join of a semantic source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JoinItem {
    /// The source joined to.
    pub to: String,
    /// The condition.
    pub on: String,
    /// `many_to_one`, `one_to_many` or `one_to_one`.
    pub relationship: String,
    /// The role's name, when the join has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// How `sl_query` names what this join finds, when the table has several joins to one table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Which scan told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotItem {
    /// The scan's folder.
    pub sync_id: String,
    /// When the structure was read.
    pub extracted_at: Option<String>,
    /// The run that made it.
    pub scan_run_id: Option<String>,
}

/// Why there are no details.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntityMissing {
    /// Always false.
    pub ok: bool,
    /// The warehouse.
    pub connection_id: String,
    /// The table as it was asked for.
    pub table: TableName,
    /// The scan that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotItem>,
    /// What is wrong.
    pub error: EntityError,
}

/// What is wrong with one request.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EntityError {
    /// The kind of problem.
    pub code: EntityErrorCode,
    /// What is wrong and what to try.
    pub message: String,
    /// Near names, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntityErrorCode {
    /// The connection was never scanned.
    ScanMissing,
    /// No table has this name.
    TableNotFound,
    /// Several tables have this name.
    AmbiguousTable,
    /// The table has no such column.
    ColumnNotFound,
    /// The semantic layer hides or excludes the column.
    ColumnHidden,
    /// No table that could be read has this name, and some of the scan's tables could not be read.
    TableUnreadable,
}
