//! `discover_data`.

use ktx_search::Kind;
use ktx_vocabulary::TableRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SourceItem, TablePlace};

/// The kinds of things that can be found.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DiscoverKind {
    /// A wiki page.
    Wiki,
    /// A semantic source.
    SlSource,
    /// A measure of a semantic source.
    SlMeasure,
    /// A dimension of a semantic source.
    SlDimension,
    /// A table of the scanned schema.
    Table,
    /// A column of the scanned schema.
    Column,
}

impl DiscoverKind {
    /// The kind in the index.
    pub const fn indexed(self) -> Kind {
        match self {
            Self::Wiki => Kind::Wiki,
            Self::SlSource => Kind::SemanticSource,
            Self::SlMeasure => Kind::Measure,
            Self::SlDimension => Kind::Dimension,
            Self::Table => Kind::Table,
            Self::Column => Kind::Column,
        }
    }

    /// The kind of an index entry.
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Wiki => Self::Wiki,
            Kind::SemanticSource => Self::SlSource,
            Kind::Measure => Self::SlMeasure,
            Kind::Dimension => Self::SlDimension,
            Kind::Table => Self::Table,
            Kind::Column => Self::Column,
        }
    }
}

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiscoverInput {
    /// Words to look for, in any language: a business term, a metric, a table, a value.
    #[schemars(length(min = 1))]
    #[schemars(extend("x-aliases" = ["question", "q", "text", "search", "term", "keyword"]))]
    pub query: String,
    /// Only this connection (and wiki pages, which belong to all).
    pub connection_id: Option<String>,
    /// Only these kinds; all when left out.
    pub kinds: Option<Vec<DiscoverKind>>,
    /// The most references (10 when left out).
    #[schemars(range(min = 1, max = 50))]
    #[schemars(extend("x-aliases" = ["max_results", "top"]))]
    pub limit: Option<usize>,
}

/// What was found, best first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DiscoverOutput {
    /// References to read on with the tool of their kind.
    pub refs: Vec<DiscoverRef>,
    /// Every source with its columns and measures, where that is short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub catalog: Vec<String>,
    /// What to know about the references, such as that nothing fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether a higher `limit` gives more.
    #[serde(rename = "hasMore", default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
    /// What could not be read, and therefore not be found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// One reference.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverRef {
    /// What it is.
    pub kind: DiscoverKind,
    /// What names it: a wiki key, `source`, `source.measure`, a dotted table or column; for a suggested measure its
    /// expression.
    pub id: String,
    /// True for a measure that no file defines: `sl_query` takes its expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested: Option<bool>,
    /// 1 for the best reference, less for others.
    pub score: f64,
    /// `weak` when it has only a small part of the query; left out when it fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    /// One line about it.
    pub summary: Option<String>,
    /// The part that matched, at most 200 characters.
    pub snippet: Option<String>,
    /// Where it matched: `name`, `display`, `description`, `comment`, `expr`, `sample_value`, `body`.
    pub matched_on: String,
    /// The connection that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_id: Option<String>,
    /// The table, for tables and columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_ref: Option<TablePlace>,
    /// The column, for columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column_name: Option<String>,
    /// The first and last time in the data, for measures, sources, tables and times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_range: Option<String>,
}

/// What an index entry carries, so that a hit needs no second look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Payload {
    /// The file, relative to the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// The semantic source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<SourceItem>,
    /// The table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) table: Option<TableRef>,
    /// The column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<String>,
}
