//! The YAML shapes of source files: strict about keys, with positions in errors.

mod measure;
mod strict;
mod text;

pub use measure::{
    At, Compare, ComparedAs, Cumulative, FARTHEST, Measure, Ratio, SemiAdditive, UNBOUNDED, Window,
    WindowRecord,
};
use serde::{Deserialize, Serialize};
pub use strict::StrictMap;
pub use text::{Problem, read};

/// Copied without interpretation.
pub type Meta = serde_yaml::Value;
/// By author: `user`, `ai`, `dbt`, `metricflow`, `lookml`, `looker`, `db`, …
pub type Descriptions = StrictMap<String>;

#[derive(Debug, Clone)]
pub enum Authored {
    Standalone(Box<Standalone>),
    Overlay(Box<Overlay>),
    /// Defined by a context source over a scanned table.
    Import(Box<Overlay>),
    Manifest(Manifest),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standalone {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptions: Option<Descriptions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherits_columns_from: Option<String>,
    #[serde(default)]
    pub grain: Vec<String>,
    #[serde(default)]
    pub columns: Vec<Column>,
    #[serde(default, deserialize_with = "strict::list")]
    pub joins: Vec<Join>,
    #[serde(default, deserialize_with = "strict::list")]
    pub measures: Vec<Measure>,
    #[serde(
        default,
        deserialize_with = "strict::list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub segments: Vec<Segment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_time_dimension: Option<Meta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Meta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<Meta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness: Option<Meta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposures: Option<Meta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Meta>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub name: String,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<ColumnType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptions: Option<Descriptions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expr: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub natural_granularity: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraints: Option<Meta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enum_values: Option<Meta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Meta>,
}

/// Returns true if queries can name a column. A name of spaces works in quotes.
pub fn is_column_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(char::is_control)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    String,
    Number,
    Time,
    Boolean,
}

impl ColumnType {
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Time => "time",
            Self::Boolean => "boolean",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    #[default]
    Default,
    Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Listed and usable.
    #[default]
    Public,
    /// Usable but not listed.
    Internal,
    /// Only for the source's own measures, joins and computed columns.
    Hidden,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Join {
    pub to: String,
    pub on: String,
    pub relationship: Relationship,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<JoinSource>,
    /// The part of a row that belongs to each of several groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// From the scan; hand-written files have no such keys.
    #[serde(skip)]
    pub found: Found,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The share of rows with a key that find a match; absent if all do or nothing was counted.
    pub coverage: Option<f64>,
    /// True if no row lacks the key.
    pub is_keyed: bool,
    pub evidence: Option<JoinEvidence>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JoinEvidence {
    Decision,
    /// A context source, such as dbt, states it.
    Statement,
    Queries,
    /// Names alone: there were no values to compare.
    Names,
}

/// A join in an overlay; the scanned join completes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverlayJoin {
    pub to: String,
    #[serde(default)]
    pub on: Option<String>,
    #[serde(default)]
    pub relationship: Option<Relationship>,
    #[serde(default)]
    pub alias: Option<String>,
    #[serde(default)]
    pub source: Option<JoinSource>,
    #[serde(default)]
    pub weight: Option<String>,
    #[serde(default)]
    pub exclude: Option<bool>,
}

impl OverlayJoin {
    pub fn whole(self) -> Option<Join> {
        if self.exclude == Some(true) {
            return None;
        }
        Some(Join {
            to: self.to,
            on: self.on?,
            relationship: self.relationship?,
            alias: self.alias,
            source: self.source,
            weight: self.weight,
            found: Found::default(),
        })
    }
}

impl From<Join> for OverlayJoin {
    fn from(join: Join) -> Self {
        Self {
            to: join.to,
            on: Some(join.on),
            relationship: Some(join.relationship),
            alias: join.alias,
            source: join.source,
            weight: join.weight,
            exclude: None,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestJoin {
    pub to: String,
    pub on: String,
    pub relationship: Relationship,
    #[serde(default)]
    pub alias: Option<String>,
    #[serde(default)]
    pub source: Option<JoinSource>,
    /// The share of the entry's rows with a key that find a match; absent if all do.
    #[serde(default)]
    pub coverage: Option<f64>,
    #[serde(default)]
    pub evidence: Option<JoinEvidence>,
    /// True if no row lacks the key.
    #[serde(default)]
    pub keyed: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JoinSource {
    Formal,
    Inferred,
    Manual,
}

/// The cardinality of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relationship {
    /// Each local row has at most one match.
    ManyToOne,
    /// Each target row has at most one match.
    OneToMany,
    OneToOne,
}

impl Relationship {
    #[must_use]
    pub const fn inverted(self) -> Self {
        match self {
            Self::ManyToOne => Self::OneToMany,
            Self::OneToMany => Self::ManyToOne,
            Self::OneToOne => Self::OneToOne,
        }
    }

    /// Returns true if a look-up along the join can never multiply rows.
    pub const fn is_safe(self) -> bool {
        matches!(self, Self::ManyToOne | Self::OneToOne)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::ManyToOne => "many_to_one",
            Self::OneToMany => "one_to_many",
            Self::OneToOne => "one_to_one",
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    pub name: String,
    pub expr: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    pub name: String,
    #[serde(default)]
    pub descriptions: Option<Descriptions>,
    #[serde(default)]
    pub grain: Option<Vec<String>>,
    #[serde(default, deserialize_with = "strict::list")]
    pub columns: Vec<Column>,
    #[serde(default, deserialize_with = "strict::list")]
    pub column_overrides: Vec<ColumnOverride>,
    #[serde(default, deserialize_with = "strict::list")]
    pub joins: Vec<OverlayJoin>,
    #[serde(default, deserialize_with = "strict::list")]
    pub measures: Vec<Measure>,
    #[serde(default, deserialize_with = "strict::list")]
    pub segments: Vec<Segment>,
    #[serde(default, deserialize_with = "strict::list")]
    pub exclude_columns: Vec<String>,
    #[serde(default, deserialize_with = "strict::list")]
    pub disable_joins: Vec<String>,
    #[serde(default)]
    pub default_time_dimension: Option<Meta>,
    #[serde(default)]
    pub usage: Option<Meta>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnOverride {
    pub name: String,
    #[serde(default)]
    pub role: Option<Role>,
    #[serde(default)]
    pub visibility: Option<Visibility>,
    #[serde(default)]
    pub descriptions: Option<Descriptions>,
    #[serde(default)]
    pub constraints: Option<Meta>,
    #[serde(default)]
    pub enum_values: Option<Meta>,
    #[serde(default)]
    pub tests: Option<Meta>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    #[serde(default)]
    pub tables: StrictMap<ManifestEntry>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestEntry {
    pub table: String,
    #[serde(default)]
    pub descriptions: Option<Descriptions>,
    #[serde(default, deserialize_with = "strict::list")]
    pub columns: Vec<ManifestColumn>,
    #[serde(default, deserialize_with = "strict::list")]
    pub joins: Vec<ManifestJoin>,
    #[serde(default)]
    pub default_time_dimension: Option<Meta>,
    #[serde(default)]
    pub tags: Option<Meta>,
    #[serde(default)]
    pub owners: Option<Meta>,
    #[serde(default)]
    pub freshness: Option<Meta>,
    #[serde(default)]
    pub exposures: Option<Meta>,
    #[serde(default)]
    pub usage: Option<Meta>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestColumn {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub pk: bool,
    #[serde(default)]
    pub nullable: Option<bool>,
    #[serde(default)]
    pub descriptions: Option<Descriptions>,
    #[serde(default)]
    pub constraints: Option<Meta>,
    #[serde(default)]
    pub enum_values: Option<Meta>,
    #[serde(default)]
    pub tests: Option<Meta>,
}
