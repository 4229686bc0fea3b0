//! The extension `KTX`, which only ktx understands.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use ktx_semantic_layer::authored::{
    Column, ColumnType, Descriptions, Measure, Meta, Relationship, Role, Segment, Visibility,
};

pub(super) const VERSION: u32 = 1;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Extension {
    pub(super) version: u32,
    pub(super) dialect: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) datasets: BTreeMap<String, DatasetRest>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) relationships: BTreeMap<String, RelationshipRest>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) metrics: BTreeMap<String, MetricRest>,
    /// Without an equivalent metric, by source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) measures: BTreeMap<String, Vec<Measure>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DatasetRest {
    #[serde(skip_serializing_if = "is_false")]
    pub(super) is_query: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) descriptions: Option<Descriptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default_time_dimension: Option<Meta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tags: Option<Meta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) owners: Option<Meta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) freshness: Option<Meta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exposures: Option<Meta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Meta>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) segments: Vec<Segment>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) columns: BTreeMap<String, ColumnRest>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ColumnRest {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<ColumnType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<Role>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) visibility: Option<Visibility>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) descriptions: Option<Descriptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) natural_granularity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) constraints: Option<Meta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) enum_values: Option<Meta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tests: Option<Meta>,
}

impl ColumnRest {
    pub(super) fn of(column: &Column) -> Self {
        Self {
            kind: column.kind,
            role: column.role,
            visibility: column.visibility,
            descriptions: column.descriptions.clone(),
            natural_granularity: column.natural_granularity.clone(),
            constraints: column.constraints.clone(),
            enum_values: column.enum_values.clone(),
            tests: column.tests.clone(),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RelationshipRest {
    pub(super) declared_by: String,
    pub(super) relationship: Relationship,
    /// Whether the other source declares it too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) both_sides: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) alias: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MetricRest {
    pub(super) source: String,
    /// If the metric's expression differs, `measure` is outdated.
    pub(super) expression: String,
    pub(super) measure: Measure,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}
