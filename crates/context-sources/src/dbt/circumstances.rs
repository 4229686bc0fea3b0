//! Reads tags, owners, freshness and exposures of tables.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use super::PROJECT_FILES;
use super::references::{DbtNode, node_of};
use crate::facts::{Age, Exposure, Freshness, TableFacts, is_secret, unite};
use crate::folder::is_yaml;
use crate::snapshot::Snapshot;
use crate::yaml::{mapping, maps, text, texts};

const MERGED: [&str; 4] = ["freshness", "loaded_at_field", "meta", "tags"];

#[derive(Default)]
pub(super) struct GroupOwners(BTreeMap<String, String>);

impl GroupOwners {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let files = snapshot.files.iter();
        let files = files.filter(|(path, body)| {
            is_yaml(path) && !PROJECT_FILES.contains(&path.as_str()) && body.contains("groups")
        });
        let maps_of = files.filter_map(|(path, body)| mapping(path, body).ok());
        let mut owners = BTreeMap::new();
        for map in maps_of {
            for group in maps(&map, "groups") {
                if let (Some(name), Some(owner)) = (text(group, "name"), owner(group)) {
                    owners.entry(name).or_insert(owner);
                }
            }
        }
        Self(owners)
    }
}

pub(super) struct ExposedNodes {
    pub(super) exposure: Exposure,
    pub(super) nodes: Vec<DbtNode>,
}

impl ExposedNodes {
    pub(super) fn all(map: &Mapping) -> Vec<Self> {
        let exposures = maps(map, "exposures")
            .into_iter()
            .filter(|map| !is_off(map));
        let read = exposures.filter_map(|map| {
            let calls = texts(map, "depends_on").unwrap_or_default();
            Some(Self {
                exposure: Exposure {
                    name: plain(text(map, "label")).or_else(|| text(map, "name"))?,
                    kind: plain(text(map, "type")),
                    url: plain(text(map, "url")),
                    owner: owner(map),
                },
                nodes: calls.iter().filter_map(|call| node_of(call)).collect(),
            })
        });
        read.collect()
    }
}

fn is_off(map: &Mapping) -> bool {
    let config = map.get("config").and_then(Value::as_mapping);
    let enabled = config.and_then(|config| text(config, "enabled"));
    enabled
        .or_else(|| text(map, "enabled"))
        .is_some_and(|word| word == "false")
}

/// Merges as dbt does: the table overrides its source, and `config` overrides the properties beside
/// it.
pub(super) fn inherited(source: &Mapping, table: &Mapping) -> Mapping {
    let config = |level| Mapping::get(level, "config").and_then(Value::as_mapping);
    let levels = [Some(source), config(source), Some(table), config(table)];
    let levels = || levels.into_iter().flatten();
    let mut whole = table.clone();
    let mut settings = config(source).cloned().unwrap_or_default();
    settings.extend(config(table).cloned().unwrap_or_default());
    for key in MERGED {
        settings.shift_remove(key);
        whole.shift_remove(key);
    }
    let metas = levels().filter_map(|level| level.get("meta")?.as_mapping());
    let meta: Mapping = metas
        .flat_map(|meta| meta.iter().map(|(key, value)| (key.clone(), value.clone())))
        .collect();
    if !meta.is_empty() {
        whole.insert("meta".into(), Value::Mapping(meta));
    }
    let limits = levels().filter_map(|level| level.get("freshness"));
    let limits = limits.cloned().reduce(|before, now| merged(&before, now));
    if let Some(limits) = limits {
        whole.insert("freshness".into(), limits);
    }
    let mut loaded_at = levels().filter_map(|level| level.get("loaded_at_field"));
    if let Some(column) = loaded_at.next_back() {
        whole.insert("loaded_at_field".into(), column.clone());
    }
    let tags = levels().flat_map(|level| texts(level, "tags").unwrap_or_default());
    let tags: Vec<Value> = tags.map(Value::from).collect();
    if !tags.is_empty() {
        whole.insert("tags".into(), Value::Sequence(tags));
    }
    whole.insert("config".into(), Value::Mapping(settings));
    whole
}

fn merged(before: &Value, mut now: Value) -> Value {
    if let (Value::Mapping(before), Value::Mapping(now)) = (before, &mut now) {
        for (key, value) in before {
            let both = match now.get(key) {
                Some(own) => merged(value, own.clone()),
                None => value.clone(),
            };
            now.insert(key.clone(), both);
        }
    }
    now
}

pub(super) fn add(table: &mut TableFacts, map: &Mapping, groups: &GroupOwners) {
    let config = map.get("config").and_then(Value::as_mapping);
    let levels = || config.into_iter().chain([map]);
    for level in levels() {
        let tags = texts(level, "tags").unwrap_or_default();
        table
            .tags
            .extend(tags.into_iter().filter_map(|tag| plain(Some(tag))));
    }
    for key in ["owner", "owners"] {
        let mut metas = levels().filter_map(|level| level.get("meta")?.as_mapping());
        let owners = metas.find_map(|meta| texts(meta, key)).unwrap_or_default();
        let owners = owners.into_iter().filter_map(|owner| plain(Some(owner)));
        table.owners.extend(owners);
    }
    let group = levels().find_map(|level| text(level, "group"));
    let owner = group.and_then(|group| groups.0.get(&group).cloned());
    table.owners.extend(owner);
    unite(&mut table.tags);
    unite(&mut table.owners);
    table.freshness = freshness(config, map);
}

fn freshness(config: Option<&Mapping>, map: &Mapping) -> Option<Freshness> {
    let find = |key: &str| {
        let mut levels = config.into_iter().chain([map]);
        levels.find_map(|level| level.get(key))
    };
    let raw = find("freshness").and_then(Value::as_mapping);
    let age = |key: &str| {
        let age = raw?.get(key)?.as_mapping()?;
        Some(Age {
            count: text(age, "count")?.parse().ok()?,
            period: text(age, "period")
                .filter(|unit| ["minute", "hour", "day"].contains(&unit.as_str()))?,
        })
    };
    let loaded_at = find("loaded_at_field").and_then(Value::as_str);
    let freshness = Freshness {
        warn_after: age("warn_after"),
        error_after: age("error_after"),
        loaded_at: plain(loaded_at.map(str::to_owned)),
    };
    let says = freshness.warn_after.is_some() || freshness.error_after.is_some();
    says.then_some(freshness)
}

fn owner(map: &Mapping) -> Option<String> {
    let owner = map.get("owner")?;
    let Some(map) = owner.as_mapping() else {
        return plain(owner.as_str().map(str::to_owned));
    };
    let name = plain(text(map, "name"));
    match (name, plain(text(map, "email"))) {
        (Some(name), Some(email)) => Some(format!("{name} <{email}>")),
        (name, email) => name.or(email),
    }
}

fn plain(found: Option<String>) -> Option<String> {
    let found = found?;
    let line = found.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_told = !line.is_empty() && !line.contains("{{") && !line.contains("{%");
    (is_told && !is_secret(&line)).then_some(line)
}
