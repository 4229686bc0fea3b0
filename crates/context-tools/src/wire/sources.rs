//! `sl_read_source` and `ktx sl`.

use ktx_search::{LaneReport, LaneStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which source to read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadSourceInput {
    /// The connection; may be left out when only one has the source.
    pub connection_id: Option<String>,
    /// The name of the source, exactly.
    #[schemars(length(min = 1))]
    #[schemars(extend("x-aliases" = ["source", "name", "id"]))]
    pub source_name: String,
}

/// One source as YAML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadSourceOutput {
    /// The name.
    pub source_name: String,
    /// Columns, joins, measures and segments; composed from the scanned table and its additions.
    pub yaml: String,
}

/// One source of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceItem {
    /// The connection.
    pub connection_id: String,
    /// The name.
    pub name: String,
    /// The file relative to the project, with `#<table>` for a source that only a scan knows.
    pub path: String,
    /// The best description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Columns that can be asked for.
    pub column_count: usize,
    /// Measures.
    pub measure_count: usize,
    /// Joins.
    pub join_count: usize,
}

/// All sources, with what is wrong in their files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceList {
    /// Ordered by connection, then name.
    pub items: Vec<SourceItem>,
    /// What is wrong, each with its place.
    pub diagnostics: Vec<ktx_diagnostics::Diagnostic>,
}

/// One source that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceHit {
    /// The source.
    #[serde(flatten)]
    pub item: SourceItem,
    /// 1 for the best source, less for others.
    pub score: f64,
    /// The part that matched, with `<mark>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// How it was found: `lexical`, `dictionary`, `token`.
    pub match_reasons: Vec<String>,
    /// Columns with values that match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dictionary_matches: Vec<DictionaryHit>,
    /// What each way of searching did.
    pub lanes: Vec<LaneItem>,
}

/// One column with values that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DictionaryHit {
    /// The column.
    pub column: String,
    /// At most 5 values.
    pub values: Vec<String>,
}

/// What one way of searching did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaneItem {
    /// `lexical`, `dictionary`, `token` or `semantic`.
    pub lane: String,
    /// `available` or `skipped`.
    pub status: String,
    /// Candidates it was asked for.
    pub requested_candidate_pool_limit: usize,
    /// Candidates it could be asked for.
    pub effective_candidate_pool_limit: usize,
    /// Candidates it gave.
    pub returned_candidate_count: usize,
    /// How much it counts.
    pub weight: f64,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl From<&LaneReport> for LaneItem {
    fn from(report: &LaneReport) -> Self {
        let (status, reason) = match report.status {
            LaneStatus::Available => ("available", None),
            LaneStatus::Skipped { reason } => ("skipped", Some(reason.to_owned())),
        };
        Self {
            lane: report.lane.as_str().to_owned(),
            status: status.to_owned(),
            requested_candidate_pool_limit: report.pool,
            effective_candidate_pool_limit: report.pool,
            returned_candidate_count: report.returned,
            weight: report.lane.weight(),
            reason,
        }
    }
}
