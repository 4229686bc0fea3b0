//! `sl_query` and `ktx sl query`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A measure as asked for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum MeasureInput {
    /// A measure of a source (`orders.revenue`) or an aggregate over columns (`sum(orders.amount)`).
    Text(String),
    /// An expression with the name of its result column.
    Named {
        /// A measure, an aggregate, or arithmetic over both.
        expr: String,
        /// The name of the result column.
        name: Option<String>,
        /// The sources through which others are looked up for it, in order, where several paths lead there.
        via: Option<Vec<String>>,
    },
}

/// A dimension as asked for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum DimensionInput {
    /// `source.column`, with `:month` to cut a time to its month. A path says which join is meant: `orders.billing_address.city`.
    Text(String),
    /// A column, and the unit for a time.
    Field {
        /// `source.column`, or a column that one source has.
        field: String,
        /// The unit to which a time is cut: `year`, `quarter`, `month`, `week`, `day`, `hour`, `minute`.
        granularity: Option<String>,
        /// The sources through which it is looked up, in order: `["staff"]` for the city of the member of staff.
        via: Option<Vec<String>>,
    },
}

/// Which way to sort.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DirectionInput {
    /// Smallest first.
    #[default]
    Asc,
    /// Largest first.
    Desc,
}

/// One sort key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum OrderInput {
    /// A field, or `field:desc`.
    Text(String),
    /// A field and its direction.
    Field {
        /// A measure, dimension or result column of the query.
        field: String,
        /// `asc` when left out.
        direction: Option<DirectionInput>,
    },
}

/// What the answer may hold besides rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IncludePart {
    /// How the query was planned.
    Plan,
    /// The SQL that was run.
    Sql,
}

/// What happens to a row that belongs to several groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AcrossInput {
    /// It counts once in each group; the groups can add up to more than the total.
    CountEach,
    /// It is divided among its groups by the weights of the table of pairs, or by `weight`.
    Allocate,
}

/// A semantic query.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlQueryInput {
    /// The warehouse; may be left out when only one matches the request.
    #[serde(rename = "connectionId")]
    pub connection_id: Option<String>,
    /// What to compute.
    #[schemars(length(min = 1))]
    #[schemars(extend("x-aliases" = ["metric", "select"]))]
    pub measures: Vec<MeasureInput>,
    /// What to group by.
    #[schemars(extend("x-aliases" = ["group_by", "by", "breakdown"]))]
    pub dimensions: Option<Vec<DimensionInput>>,
    /// Conditions such as `orders.status = 'shipped'`; those on measures apply after aggregation.
    #[schemars(extend("x-aliases" = ["where", "condition"]))]
    pub filters: Option<Vec<String>>,
    /// Predefined conditions, `source.segment`.
    pub segments: Option<Vec<String>>,
    /// Sort keys (default: the dimensions).
    #[schemars(extend("x-aliases" = ["sort", "sort_by", "order"]))]
    pub order_by: Option<Vec<OrderInput>>,
    /// Most rows (default: 1000).
    #[schemars(range(min = 0))]
    #[schemars(extend("x-aliases" = ["max_rows", "row", "top"]))]
    pub limit: Option<u64>,
    /// Dimensions whose combinations of values get `limit` rows each.
    pub limit_per: Option<Vec<String>>,
    /// Give members without facts a row (default: yes, except in the first rows by a measure).
    pub include_empty: Option<bool>,
    /// Give periods without rows a row.
    pub fill: Option<bool>,
    /// Add totals over the last dimension, the last two, …; `total_over` names what a row is over.
    pub totals: Option<bool>,
    /// Add one row for the groups beyond `limit`, `others` in `total_over`.
    pub others: Option<bool>,
    /// A row that is in several groups, such as a film in two categories, counts in each or is divided among them.
    pub across: Option<AcrossInput>,
    /// For `allocate`: a column such as `film_category.share`.
    pub weight: Option<String>,
    /// What to add to the rows.
    pub include: Option<Vec<IncludePart>>,
}

/// The answer to a semantic query.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlQueryOutput {
    /// The warehouse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_id: Option<String>,
    /// The SQL dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// The names of the columns.
    pub headers: Vec<String>,
    /// The rows; decimals, dates and times are text.
    pub rows: Vec<Vec<Value>>,
    /// How many rows are given.
    pub total_rows: usize,
    /// Whether there are more rows than are given, also when the query's own `limit` left them out.
    pub truncated: bool,
    /// What to know about the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The SQL, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// The plan, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Value>,
}
