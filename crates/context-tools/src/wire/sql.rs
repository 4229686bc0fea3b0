//! `sql_execution` and `ktx sql`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SqlInput {
    /// The warehouse; may be left out when only one has the tables.
    pub connection_id: Option<String>,
    /// One query in the warehouse's SQL dialect. Everything that could write is refused.
    #[schemars(length(min = 1))]
    #[schemars(extend("x-aliases" = ["query", "statement"]))]
    pub sql: String,
    /// The most rows (1000 when left out).
    #[schemars(range(min = 1, max = 10000))]
    #[schemars(extend("x-aliases" = ["limit", "row"]))]
    pub max_rows: Option<usize>,
}

/// The rows of a statement.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SqlOutput {
    /// The names of the columns.
    pub headers: Vec<String>,
    /// The warehouse's names of their types, when it tells them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_types: Option<Vec<String>>,
    /// The rows; decimals, dates and times are text.
    pub rows: Vec<Vec<Value>>,
    /// How many rows are given.
    pub row_count: usize,
    /// Whether the warehouse had more rows than are given.
    pub truncated: bool,
    /// What to know about the rows, such as that cells were cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
