//! The YAML shapes of source files: strict about keys, with positions in errors.

mod measure;
mod strict;
mod text;

pub(crate) use measure::{At, ComparedAs, FARTHEST, Measure, SemiAdditive, UNBOUNDED, Window};
#[cfg(test)]
pub(crate) use measure::{Compare, Cumulative, Ratio, WindowRecord};
use serde::{Deserialize, Serialize};
pub(crate) use strict::StrictMap;
pub(crate) use text::{Problem, read};

/// Free-form metadata, copied without interpretation.
pub(crate) type Meta = serde_yaml::Value;
/// Texts by author: `user`, `ai`, `dbt`, `metricflow`, `lookml`, `looker`, `db`, …
pub(crate) type Descriptions = StrictMap<String>;

#[derive(Debug, Clone)]
pub(crate) enum Authored {
    Standalone(Box<Standalone>),
    Overlay(Box<Overlay>),
    Manifest(Manifest),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Standalone {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) descriptions: Option<Descriptions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) table: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sql: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) inherits_columns_from: Option<String>,
    #[serde(default)]
    pub(crate) grain: Vec<String>,
    #[serde(default)]
    pub(crate) columns: Vec<Column>,
    #[serde(default, deserialize_with = "strict::list")]
    pub(crate) joins: Vec<Join>,
    #[serde(default, deserialize_with = "strict::list")]
    pub(crate) measures: Vec<Measure>,
    #[serde(
        default,
        deserialize_with = "strict::list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(crate) segments: Vec<Segment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) default_time_dimension: Option<Meta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tags: Option<Meta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) freshness: Option<Meta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Meta>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Column {
    pub(crate) name: String,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<ColumnType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) visibility: Option<Visibility>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) descriptions: Option<Descriptions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expr: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) natural_granularity: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) constraints: Option<Meta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) enum_values: Option<Meta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tests: Option<Meta>,
}

/// Returns true if queries can name a column. A name of spaces works in quotes.
pub(crate) fn is_column_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(char::is_control)
}

/// The type of a column as far as the planner distinguishes types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Text and all other types.
    String,
    /// Numbers of any kind.
    Number,
    /// Dates, times and timestamps.
    Time,
    /// Truth values.
    Boolean,
}

impl ColumnType {
    /// The name in source files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Time => "time",
            Self::Boolean => "boolean",
        }
    }
}

/// The role of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// An ordinary column.
    #[default]
    Default,
    /// A time axis.
    Time,
}

/// The places where a column may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Everywhere; listed.
    #[default]
    Public,
    /// In queries; not listed.
    Internal,
    /// Only in the source's own measures, joins and computed columns.
    Hidden,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Join {
    pub(crate) to: String,
    pub(crate) on: String,
    pub(crate) relationship: Relationship,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alias: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<JoinSource>,
    /// Measured by a scan; hand-written files have no such key.
    #[serde(skip)]
    pub(crate) coverage: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ManifestJoin {
    pub(crate) to: String,
    pub(crate) on: String,
    pub(crate) relationship: Relationship,
    #[serde(default)]
    pub(crate) alias: Option<String>,
    #[serde(default)]
    pub(crate) source: Option<JoinSource>,
    /// The share of the entry's rows with a key that find a match; absent if all did.
    #[serde(default)]
    pub(crate) coverage: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JoinSource {
    /// The warehouse declares a foreign key.
    Formal,
    /// A scan counted matching values.
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
    /// Each row has at most one match on either side.
    OneToOne,
}

impl Relationship {
    /// Returns the same join read from the other side.
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

    /// The name in source files.
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
pub(crate) struct Segment {
    pub(crate) name: String,
    pub(crate) expr: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Overlay {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) descriptions: Option<Descriptions>,
    #[serde(default)]
    pub(crate) grain: Option<Vec<String>>,
    #[serde(default, deserialize_with = "strict::list")]
    pub(crate) columns: Vec<Column>,
    #[serde(default, deserialize_with = "strict::list")]
    pub(crate) column_overrides: Vec<ColumnOverride>,
    #[serde(default, deserialize_with = "strict::list")]
    pub(crate) joins: Vec<Join>,
    #[serde(default, deserialize_with = "strict::list")]
    pub(crate) measures: Vec<Measure>,
    #[serde(default, deserialize_with = "strict::list")]
    pub(crate) segments: Vec<Segment>,
    #[serde(default, deserialize_with = "strict::list")]
    pub(crate) exclude_columns: Vec<String>,
    #[serde(default, deserialize_with = "strict::list")]
    pub(crate) disable_joins: Vec<String>,
    #[serde(default)]
    pub(crate) default_time_dimension: Option<Meta>,
    #[serde(default)]
    pub(crate) usage: Option<Meta>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ColumnOverride {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) role: Option<Role>,
    #[serde(default)]
    pub(crate) visibility: Option<Visibility>,
    #[serde(default)]
    pub(crate) descriptions: Option<Descriptions>,
    #[serde(default)]
    pub(crate) constraints: Option<Meta>,
    #[serde(default)]
    pub(crate) enum_values: Option<Meta>,
    #[serde(default)]
    pub(crate) tests: Option<Meta>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    #[serde(default)]
    pub(crate) tables: StrictMap<ManifestEntry>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ManifestEntry {
    pub(crate) table: String,
    #[serde(default)]
    pub(crate) descriptions: Option<Descriptions>,
    #[serde(default, deserialize_with = "strict::list")]
    pub(crate) columns: Vec<ManifestColumn>,
    #[serde(default, deserialize_with = "strict::list")]
    pub(crate) joins: Vec<ManifestJoin>,
    #[serde(default)]
    pub(crate) default_time_dimension: Option<Meta>,
    #[serde(default)]
    pub(crate) tags: Option<Meta>,
    #[serde(default)]
    pub(crate) freshness: Option<Meta>,
    #[serde(default)]
    pub(crate) usage: Option<Meta>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ManifestColumn {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) pk: bool,
    #[serde(default, rename = "nullable")]
    pub(crate) _nullable: Option<bool>,
    #[serde(default)]
    pub(crate) descriptions: Option<Descriptions>,
    #[serde(default)]
    pub(crate) constraints: Option<Meta>,
    #[serde(default)]
    pub(crate) enum_values: Option<Meta>,
    #[serde(default)]
    pub(crate) tests: Option<Meta>,
}
