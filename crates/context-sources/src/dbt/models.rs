//! Model settings from outside their YAML descriptions, and model versions.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use super::checks::SETTINGS;
use super::project::DbtProject;
use super::project_of;
use super::sql::{ConfigValue, config};
use crate::folder::has_ending;
use crate::snapshot::Snapshot;
use crate::yaml::{maps, plain, text, texts};

pub(super) struct Models<'a> {
    project: DbtProject,
    sql: BTreeMap<&'a str, (&'a str, &'a str)>,
}

pub(super) struct Version {
    pub(super) name: String,
    pub(super) map: Mapping,
}

impl<'a> Models<'a> {
    pub(super) fn of(snapshot: &'a Snapshot) -> Self {
        let project = project_of(&snapshot.files).map(|(_, project)| project);
        let files = snapshot.files.iter();
        let sql = files.filter(|(path, _)| has_ending(path, &["sql"]));
        Self {
            project: project.unwrap_or_default(),
            sql: sql
                .map(|(path, body)| (stem(path), (path.as_str(), body.as_str())))
                .collect(),
        }
    }

    pub(super) fn vars(&self) -> BTreeMap<String, String> {
        self.project.vars.clone()
    }

    pub(super) fn in_sql(&self, name: &str, key: &str) -> Option<ConfigValue> {
        self.sql.get(name).and_then(|(_, body)| config(body, key))
    }

    /// Seeds have no SQL, so the path of their YAML counts.
    pub(super) fn set(&self, kind: &str, name: &str, path: &str, key: &str) -> Option<String> {
        let path = self.sql.get(name).map_or(path, |(path, _)| path);
        self.project
            .set(kind, path, key)
            .last()
            .and_then(|value| plain(value))
    }

    pub(super) fn tags(&self, kind: &str, name: &str, path: &str) -> Vec<String> {
        let path = self.sql.get(name).map_or(path, |(path, _)| path);
        let levels = self.project.set(kind, path, "tags");
        let tags = levels.into_iter().flat_map(|value| match value {
            Value::Sequence(list) => list.iter().filter_map(plain).collect(),
            value => plain(value).into_iter().collect::<Vec<_>>(),
        });
        tags.collect()
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &'a str> {
        let files = self.sql.values().map(|(path, _)| *path);
        files.filter(|path| self.project.is_model(path))
    }

    pub(super) fn is_off(&self, kind: &str, name: &str, path: &str) -> bool {
        let set = self.set(kind, name, path, "enabled");
        set.is_some_and(|text| is_false(&text))
    }

    pub(super) fn checks(&self, path: &str) -> Mapping {
        let mut defaults = Mapping::new();
        for kind in ["tests", "data_tests"] {
            for key in SETTINGS {
                if let Some(value) = self.project.set(kind, path, key).last() {
                    defaults.insert(key.into(), (*value).clone());
                }
            }
        }
        defaults
    }
}

pub(super) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

pub(super) fn is_false(text: &str) -> bool {
    text.eq_ignore_ascii_case("false")
}

/// Returns `latest_version`, else the highest version.
pub(super) fn latest(model: &Mapping, name: &str) -> Option<String> {
    let named = text(model, "latest_version").or_else(|| {
        let listed = maps(model, "versions").into_iter();
        let mut all: Vec<String> = listed.filter_map(|version| text(version, "v")).collect();
        all.sort_by_key(|version| (version.parse::<u64>().ok(), version.clone()));
        all.pop()
    });
    named.map(|version| format!("{name}_v{version}"))
}

/// A model without versions is its only version.
pub(super) fn versions(model: &Mapping, name: &str) -> Vec<Version> {
    let listed = maps(model, "versions");
    if listed.is_empty() {
        return vec![Version {
            name: name.to_owned(),
            map: model.clone(),
        }];
    }
    let versions = listed.into_iter().filter_map(|version| {
        let name = format!("{name}_v{}", text(version, "v")?);
        let mut map = model.clone();
        map.shift_remove("alias");
        let aliased = map.get_mut("config").and_then(Value::as_mapping_mut);
        aliased.and_then(|config| config.shift_remove("alias"));
        for (key, value) in version {
            if key != "columns" {
                map.insert(key.clone(), value.clone());
            }
        }
        map.insert("columns".into(), Value::Sequence(columns(model, version)));
        Some(Version { name, map })
    });
    versions.collect()
}

fn columns(model: &Mapping, version: &Mapping) -> Vec<Value> {
    let own = maps(version, "columns");
    let rule = own.iter().find(|column| column.contains_key("include"));
    let included = rule.and_then(|rule| texts(rule, "include"));
    let excluded = rule
        .and_then(|rule| texts(rule, "exclude"))
        .unwrap_or_default();
    let mut columns: Vec<&Mapping> = maps(model, "columns");
    columns.retain(|column| {
        let name = text(column, "name").unwrap_or_default();
        let is_own = own
            .iter()
            .any(|other| text(other, "name").as_ref() == Some(&name));
        let is_in = included.as_ref().is_none_or(|included| {
            let is_all = |word: &String| *word == "*" || *word == "all";
            included.iter().any(|word| is_all(word) || *word == name)
        });
        is_in && !is_own && !excluded.contains(&name)
    });
    columns.extend(own.into_iter().filter(|column| column.contains_key("name")));
    columns.into_iter().cloned().map(Value::Mapping).collect()
}
