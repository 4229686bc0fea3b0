//! Groups the files of a dbt project into units.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::{Mapping, Value};

use super::PROJECT_FILES;
use super::docs::blocks;
use super::models::stem;
use crate::folder::{has_ending, is_yaml};
use crate::grouping::{self, SMALL, characters, free, shorten};
use crate::snapshot::{Snapshot, Unit};
use crate::yaml::{mapping, maps, text};

/// Maximum YAML files of a project that is read as one unit.
const FEW: usize = 25;

const PEERS: usize = 200;

const SUBJECTS: [&str; 8] = [
    "models",
    "sources",
    "seeds",
    "snapshots",
    "semantic_models",
    "metrics",
    "exposures",
    "saved_queries",
];

/// Returns the units. A small project is one unit. Otherwise each YAML file is a unit with the SQL
/// that it describes, and the remaining SQL is grouped by folder.
pub fn units(snapshot: &Snapshot) -> Vec<Unit> {
    let files = &snapshot.files;
    let project: Vec<String> = PROJECT_FILES
        .iter()
        .filter(|name| files.contains_key(**name))
        .map(|name| (*name).to_owned())
        .collect();
    let told: Vec<(&String, BTreeSet<String>)> = files
        .iter()
        .filter(|(path, _)| is_yaml(path) && !project.contains(path))
        .filter_map(|(path, text)| Some((path, subjects(path, text)?)))
        .collect();
    let rest: Vec<&String> = files
        .keys()
        .filter(|path| !project.contains(path))
        .collect();
    if rest.is_empty() {
        return Vec::new();
    }
    let length: usize = rest.iter().map(|path| characters(snapshot, path)).sum();
    if told.len() <= FEW && length <= SMALL {
        return vec![Unit {
            key: "dbt-all".to_owned(),
            label: None,
            note: None,
            writes_sources: true,
            files: rest.into_iter().cloned().collect(),
            dependencies: project,
            peers: Vec::new(),
        }];
    }
    let mut keys = BTreeSet::new();
    let mut used = BTreeSet::new();
    let mut units = Vec::new();
    for (path, names) in &told {
        let belonging = belonging(snapshot, path, names);
        used.extend(belonging.iter().cloned());
        let others = told
            .iter()
            .map(|(other, _)| *other)
            .filter(|other| other != path);
        let mut unit = Unit {
            key: free(&mut keys, &slug("dbt", path)),
            label: None,
            note: None,
            writes_sources: true,
            files: vec![(*path).clone()],
            dependencies: project.iter().cloned().chain(belonging).collect(),
            peers: others.take(PEERS).cloned().collect(),
        };
        shorten(&mut unit, snapshot);
        units.push(unit);
    }
    units.extend(group_unclaimed_sql(snapshot, &used, &project, &mut keys));
    units
}

/// Returns the names that a file describes; `None` if there are none. Unparsable files are read
/// anyway.
fn subjects(path: &str, body: &str) -> Option<BTreeSet<String>> {
    let Ok(map) = mapping(path, body) else {
        return Some(BTreeSet::new());
    };
    let is_there = |key: &str| map.get(key).is_some_and(|value| *value != Value::Null);
    if !SUBJECTS.into_iter().any(is_there) {
        return None;
    }
    let described = SUBJECTS.iter().flat_map(|key| maps(&map, key));
    Some(described.flat_map(names).collect())
}

fn names(item: &Mapping) -> Vec<String> {
    let Some(name) = text(item, "name") else {
        return Vec::new();
    };
    let versions = maps(item, "versions");
    let versions = versions.into_iter().filter_map(|version| {
        let file = text(version, "defined_in").map(|file| stem(&file).to_owned());
        file.or_else(|| Some(format!("{name}_v{}", text(version, "v")?)))
    });
    let mut names: Vec<String> = versions.collect();
    names.push(name);
    names
}

fn belonging(snapshot: &Snapshot, path: &str, names: &BTreeSet<String>) -> Vec<String> {
    let text = snapshot.files.get(path).map_or("", String::as_str);
    let belongs = |(other, body): &(&String, &String)| {
        if has_ending(other, &["sql"]) {
            names.contains(stem(other))
        } else {
            has_ending(other, &["md"])
                && blocks(body)
                    .iter()
                    .any(|(name, _)| text.contains(name.as_str()))
        }
    };
    let found = snapshot.files.iter().filter(belongs);
    found.map(|(path, _)| path.clone()).collect()
}

fn group_unclaimed_sql(
    snapshot: &Snapshot,
    used: &BTreeSet<String>,
    project: &[String],
    keys: &mut BTreeSet<String>,
) -> Vec<Unit> {
    let mut folders: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for path in snapshot.files.keys() {
        if has_ending(path, &["sql"]) && !used.contains(path) {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            folders.entry(folder).or_default().push(path);
        }
    }
    let mut units = Vec::new();
    for (folder, paths) in folders {
        let groups = grouping::runs(snapshot, paths.into_iter().cloned());
        for files in groups {
            units.push(Unit {
                key: free(keys, &slug("dbt-sql", folder)),
                label: None,
                note: None,
                writes_sources: true,
                files,
                dependencies: project.to_vec(),
                peers: Vec::new(),
            });
        }
    }
    units
}

fn slug(prefix: &str, path: &str) -> String {
    let stem = if is_yaml(path) {
        path.rsplit_once('.').map_or(path, |(stem, _)| stem)
    } else {
        path
    };
    grouping::slug(prefix, stem)
}
