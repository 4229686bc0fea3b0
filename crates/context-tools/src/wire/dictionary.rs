//! `dictionary_search`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which values to look for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DictionaryInput {
    /// Values, or parts of them; case does not matter.
    #[schemars(length(min = 1, max = 20), inner(length(min = 1)))]
    #[schemars(extend("x-aliases" = ["query", "text", "term"]))]
    pub values: Vec<String>,
    /// Only this warehouse; all warehouses when left out.
    pub connection_id: Option<String>,
}

/// Where the values occur.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DictionaryOutput {
    /// The warehouses that were searched, and how much is known of each.
    pub searched: Vec<SearchedConnection>,
    /// One result for each value, in the order of asking.
    pub results: Vec<DictionaryResult>,
    /// Parts of a scan that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// One warehouse that was searched.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchedConnection {
    /// The warehouse.
    pub connection_id: String,
    /// How much is known; null when no column was profiled.
    pub coverage: Option<Coverage>,
    /// Whether its values could be searched.
    pub status: CoverageStatus,
}

/// How much is known of a warehouse's values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// The most rows that were read of one table.
    pub sampled_rows: u64,
    /// The most values that are kept of one column.
    pub values_per_column: usize,
    /// Columns of which values are kept.
    pub profiled_columns: usize,
    /// The scan that told.
    pub sync_id: String,
    /// When it was made.
    pub profiled_at: Option<String>,
}

/// Whether a warehouse's values could be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoverageStatus {
    /// They could.
    Ready,
    /// There is no profile: scan the connection.
    NoProfileArtifact,
    /// There is a profile that cannot be read: scan the connection again.
    ProfileUnreadable,
    /// The profile has no column with values that may be shown.
    NoCandidateColumns,
}

/// Where one value occurs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DictionaryResult {
    /// The value asked for.
    pub value: String,
    /// Columns that hold it, equal values first; at most 10.
    pub matches: Vec<DictionaryMatch>,
    /// Warehouses in which it was not found. That a sample does not hold a value does not mean that
    /// the column does not.
    pub misses: Vec<DictionaryMiss>,
}

/// One column that holds a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DictionaryMatch {
    /// The warehouse.
    pub connection_id: String,
    /// The semantic source of the table, or the dotted table where it has none.
    pub source_name: String,
    /// The column.
    pub column_name: String,
    /// The value as stored there.
    pub matched_value: String,
    /// Distinct values of the column, as far as known.
    pub cardinality: Option<u64>,
}

/// One warehouse without the value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DictionaryMiss {
    /// The warehouse.
    pub connection_id: String,
    /// `value_not_in_sample`, or the status why it could not be searched.
    pub reason: String,
}
