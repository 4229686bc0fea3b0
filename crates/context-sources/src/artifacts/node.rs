//! A node of a manifest: a model, seed, snapshot, source or test.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_yaml::{Mapping, Value};

use crate::facts::{SchemaOrigin, TableLocation};
use crate::yaml::plain;

const RELATIONS: [&str; 3] = ["model", "seed", "snapshot"];

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Node {
    resource_type: String,
    pub(crate) package_name: String,
    pub(crate) name: String,
    version: Value,
    latest_version: Value,
    source_name: Option<String>,
    identifier: Option<String>,
    database: Option<String>,
    schema: Option<String>,
    alias: Option<String>,
    pub(crate) description: Option<String>,
    columns: BTreeMap<String, NodeColumn>,
    config: Mapping,
    meta: Value,
    tags: Value,
    group: Value,
    freshness: Value,
    loaded_at_field: Option<String>,
    pub(crate) original_file_path: String,
    column_name: Option<String>,
    #[serde(rename = "attached_node")]
    attached_to: Option<String>,
    test_metadata: Option<TestMetadata>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct NodeColumn {
    name: String,
    description: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct TestMetadata {
    name: String,
    namespace: Option<String>,
    kwargs: Mapping,
}

impl Node {
    pub(super) fn is_relation(&self) -> bool {
        RELATIONS.contains(&self.resource_type.as_str())
    }

    pub(super) const fn has_source(&self) -> bool {
        self.source_name.is_some()
    }

    pub(super) fn is_source(&self, source: &str, table: &str) -> bool {
        self.source_name.as_deref() == Some(source) && self.name == table
    }

    pub(super) fn is_built(&self) -> bool {
        let says = |key: &str, word: &str| {
            let value = self.config.get(key).and_then(plain);
            value.is_some_and(|value| value == word)
        };
        !says("enabled", "false") && !says("materialized", "ephemeral")
    }

    /// Returns the name for references, with the version if there are several.
    pub(super) fn reference(&self) -> String {
        match plain(&self.version) {
            Some(version) => format!("{}_v{version}", self.name),
            None => self.name.clone(),
        }
    }

    pub(crate) fn references(&self) -> Vec<String> {
        let mut names = vec![self.reference()];
        if !self.version.is_null() && self.version == self.latest_version {
            names.push(self.name.clone());
        }
        names
    }

    pub(crate) fn source(&self) -> Option<(&str, &str)> {
        Some((self.source_name.as_deref()?, &self.name))
    }

    pub(super) fn call(&self) -> String {
        match &self.source_name {
            Some(source) => format!("source('{source}', '{}')", self.name),
            None => format!("ref('{}')", self.reference()),
        }
    }

    pub(crate) fn place(&self) -> Option<TableLocation> {
        // dbt builds models where its target says; sources have a fixed place.
        let (name, origin) = if self.has_source() {
            let name = self.identifier.as_ref().unwrap_or(&self.name);
            (name, SchemaOrigin::Named)
        } else {
            (self.alias.as_ref()?, SchemaOrigin::Target)
        };
        Some(TableLocation {
            name: name.clone(),
            schema: self.schema.clone().filter(|schema| !schema.is_empty()),
            database: self.database.clone().filter(|name| !name.is_empty()),
            origin,
        })
    }

    pub(crate) fn column(&self, name: &str) -> Option<&str> {
        let mut columns = self.columns.values();
        let found = columns.find(|column| column.name.eq_ignore_ascii_case(name));
        found?.description.as_deref()
    }

    pub(super) fn tested(&self) -> Option<&str> {
        let about = self.attached_to.as_deref();
        about.filter(|_| self.resource_type == "test")
    }

    pub(super) fn as_yaml<'t>(&self, tests: impl Iterator<Item = &'t Self>) -> Mapping {
        let mut by_column: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for test in tests {
            if let (Some(column), Some(value)) = (&test.column_name, test.as_check()) {
                let column = column.trim_matches(['"', '`']).to_lowercase();
                by_column.entry(column).or_default().push(value);
            }
        }
        let columns = self.columns.values().map(|column| {
            let mut map = Mapping::new();
            map.insert("name".into(), column.name.as_str().into());
            described(&mut map, column.description.as_deref());
            if let Some(tests) = by_column.remove(&column.name.to_lowercase()) {
                map.insert("data_tests".into(), Value::Sequence(tests));
            }
            Value::Mapping(map)
        });
        let mut columns: Vec<Value> = columns.collect();
        columns.extend(by_column.into_iter().map(|(name, tests)| {
            let tests = Value::Sequence(tests);
            let pairs = [("name", Value::from(name)), ("data_tests", tests)];
            Value::Mapping(
                pairs
                    .map(|(key, value)| (key.into(), value))
                    .into_iter()
                    .collect(),
            )
        }));
        let mut map = Mapping::new();
        map.insert("name".into(), self.name.as_str().into());
        described(&mut map, self.description.as_deref());
        map.insert("columns".into(), Value::Sequence(columns));
        let others = [
            ("meta", &self.meta),
            ("tags", &self.tags),
            ("group", &self.group),
            ("freshness", &self.freshness),
        ];
        for (key, value) in others {
            if !value.is_null() {
                map.insert(key.into(), value.clone());
            }
        }
        if let Some(field) = &self.loaded_at_field {
            map.insert("loaded_at_field".into(), field.as_str().into());
        }
        map
    }

    fn as_check(&self) -> Option<Value> {
        let test = self.test_metadata.as_ref()?;
        if test.namespace.as_deref().is_some_and(|name| name != "dbt") {
            return None;
        }
        let usual = [
            ("severity", "ERROR"),
            ("enabled", "true"),
            ("error_if", "!= 0"),
            ("fail_calc", "count(*)"),
            ("where", ""),
        ];
        let mut config = Mapping::new();
        for (key, usual) in usual {
            let value = self.config.get(key).filter(|value| !value.is_null());
            if let Some(value) = value
                && plain(value).is_none_or(|text| !text.eq_ignore_ascii_case(usual))
            {
                config.insert(key.into(), value.clone());
            }
        }
        let mut arguments = test.kwargs.clone();
        arguments.insert("config".into(), Value::Mapping(config));
        let pair = [(Value::from(test.name.as_str()), Value::Mapping(arguments))];
        Some(Value::Mapping(pair.into_iter().collect()))
    }
}

fn described(map: &mut Mapping, text: Option<&str>) {
    let text = text.filter(|text| !text.contains("{{") && !text.contains("{%"));
    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
        map.insert("description".into(), text.into());
    }
}
