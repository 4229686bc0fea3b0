//! The parts of dbt's artifacts that ktx reads.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_yaml::{Mapping, Value};

use super::node::Node;

#[derive(Deserialize)]
pub(super) struct ManifestFile {
    pub(super) metadata: Metadata,
    #[serde(default)]
    pub(super) nodes: BTreeMap<String, Lenient<Box<Node>>>,
    #[serde(default)]
    pub(super) sources: BTreeMap<String, Lenient<Box<Node>>>,
    #[serde(default)]
    pub(super) disabled: BTreeMap<String, Vec<Lenient<Box<Node>>>>,
    #[serde(default)]
    pub(super) semantic_models: BTreeMap<String, Mapping>,
    #[serde(default)]
    pub(super) metrics: BTreeMap<String, Mapping>,
    #[serde(default)]
    pub(super) saved_queries: BTreeMap<String, Mapping>,
    #[serde(default)]
    pub(super) exposures: BTreeMap<String, Mapping>,
}

#[derive(Deserialize)]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) dbt_schema_version: String,
    pub(super) project_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Lenient<T> {
    Known(T),
    Strange(IgnoredAny),
}

#[derive(Deserialize)]
pub(super) struct CatalogFile {
    pub(super) metadata: Metadata,
    #[serde(default)]
    pub(super) nodes: BTreeMap<String, Lenient<CatalogTable>>,
    #[serde(default)]
    pub(super) sources: BTreeMap<String, Lenient<CatalogTable>>,
}

#[derive(Deserialize)]
pub(super) struct CatalogTable {
    pub(super) metadata: CatalogMetadata,
}

#[derive(Deserialize)]
pub(super) struct CatalogMetadata {
    pub(super) name: String,
    pub(super) schema: Option<String>,
    pub(super) database: Option<String>,
}

/// Rewrites an item as in YAML: filters as texts, no keys without a value.
pub(super) fn as_written(map: &mut Mapping) {
    map.retain(|_, value| !value.is_null());
    for (_, value) in map.iter_mut() {
        spelled(value);
    }
}

fn spelled(value: &mut Value) {
    match value {
        Value::Sequence(list) => list.iter_mut().for_each(spelled),
        Value::Mapping(map) => {
            if let Some(filters) = map.get("where_filters").and_then(Value::as_sequence) {
                let texts = filters.iter().filter_map(|filter| {
                    let filter = filter.as_mapping()?;
                    filter.get("where_sql_template").cloned()
                });
                *value = Value::Sequence(texts.collect());
            } else {
                as_written(map);
            }
        }
        _ => {}
    }
}
