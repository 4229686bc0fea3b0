//! `dbt_project.yml`: where the files are, and the variables.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use super::yaml::{mapping, plain, texts};
use crate::snapshot::ReadError;

/// The keys of folders, with their older spelling and their default.
const FOLDERS: [(&str, &str, &str); 4] = [
    ("model-paths", "source-paths", "models"),
    ("seed-paths", "data-paths", "seeds"),
    ("snapshot-paths", "", "snapshots"),
    ("analysis-paths", "", "analyses"),
];

/// What a project file says.
#[derive(Debug, Default)]
pub(super) struct Project {
    folders: Vec<String>,
    /// Variables by name; those of a package also as `package.name`.
    pub(super) vars: BTreeMap<String, String>,
}

impl Project {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, ReadError> {
        let map = mapping(path, text).map_err(|wrong| ReadError::Project {
            path: wrong.place,
            reason: wrong.what,
        })?;
        let mut vars = BTreeMap::new();
        if let Some(found) = map.get("vars").and_then(Value::as_mapping) {
            flatten("", found, &mut vars);
        }
        Ok(Self {
            folders: folders(&map),
            vars,
        })
    }

    /// The folders that are read, relative to the root and ordered; none lies inside of another.
    pub(super) fn folders(&self) -> Vec<String> {
        let mut folders = self.folders.clone();
        folders.sort();
        folders.dedup();
        let inside = |folder: &String| {
            let within = |other: &String| folder.starts_with(&format!("{other}/"));
            self.folders.iter().any(within)
        };
        folders
            .iter()
            .filter(|folder| !inside(folder))
            .cloned()
            .collect()
    }
}

fn folders(map: &Mapping) -> Vec<String> {
    let mut folders = Vec::new();
    for (key, older, default) in FOLDERS {
        let named = texts(map, key).or_else(|| texts(map, older));
        let named = named.unwrap_or_else(|| vec![default.to_owned()]);
        folders.extend(named.iter().filter_map(|folder| inside_root(folder)));
    }
    folders
}

/// The plain spelling of a folder below the root; none for one outside of it.
fn inside_root(folder: &str) -> Option<String> {
    if folder.starts_with('/') || folder.contains('\\') {
        return None;
    }
    let parts: Vec<&str> = folder
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    (!parts.is_empty() && !parts.contains(&"..")).then(|| parts.join("/"))
}

fn flatten(prefix: &str, map: &Mapping, into: &mut BTreeMap<String, String>) {
    for (key, value) in map {
        let Some(key) = plain(key) else { continue };
        if let Some(inner) = value.as_mapping() {
            flatten(&format!("{prefix}{key}."), inner, into);
        } else if let Some(text) = plain(value) {
            // A variable of a package is asked for by its own name.
            into.entry(key.clone()).or_insert_with(|| text.clone());
            into.insert(format!("{prefix}{key}"), text);
        }
    }
}
