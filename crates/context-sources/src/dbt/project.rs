//! Reads `dbt_project.yml`: the folders, the variables and the settings of folders.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use crate::snapshot::ReadError;
use crate::yaml::{mapping, plain, text, texts};

/// Keys of source folders: key, older spelling, default.
const FOLDERS: [(&str, &str, &str); 4] = [
    ("model-paths", "source-paths", "models"),
    ("seed-paths", "data-paths", "seeds"),
    ("snapshot-paths", "", "snapshots"),
    ("analysis-paths", "", "analyses"),
];

/// Keys of folders that dbt writes to: key, older spelling, default.
const WRITTEN: [(&str, &str, &str); 3] = [
    ("target-path", "", "target"),
    ("packages-install-path", "modules-path", "dbt_packages"),
    ("log-path", "", "logs"),
];

#[derive(Debug, Default)]
pub(super) struct DbtProject {
    folders: Vec<String>,
    models: Vec<String>,
    pub(super) docs: Vec<String>,
    pub(super) written: Vec<String>,
    pub(super) outside: Vec<String>,
    pub(super) vars: BTreeMap<String, String>,
    name: String,
    map: Mapping,
}

impl DbtProject {
    pub(super) fn parse(path: &str, body: &str) -> Result<Self, ReadError> {
        let map = mapping(path, body).map_err(|wrong| ReadError::Project {
            path: wrong.place,
            reason: wrong.what,
        })?;
        let name = text(&map, "name").unwrap_or_default();
        let mut outside = Vec::new();
        let folders = folders(&map, &FOLDERS, &mut outside);
        let docs = texts(&map, "docs-paths").unwrap_or_default();
        let docs = inside(&docs, &mut outside);
        Ok(Self {
            folders,
            models: self::folders(&map, FOLDERS.get(..1).unwrap_or_default(), &mut Vec::new()),
            docs,
            written: self::folders(&map, &WRITTEN, &mut Vec::new()),
            outside,
            vars: variables(&map, &name),
            name,
            map,
        })
    }

    /// Relative to the root, which is the empty string. None contains another.
    pub(super) fn folders(&self) -> Vec<String> {
        let mut folders = self.folders.clone();
        folders.sort();
        folders.dedup();
        if folders.iter().any(String::is_empty) {
            return vec![String::new()];
        }
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

    pub(super) fn is_model(&self, path: &str) -> bool {
        self.models.iter().any(|folder| {
            let rest = path.strip_prefix(folder.as_str());
            rest.is_some_and(|rest| folder.is_empty() || rest.starts_with('/'))
        })
    }

    pub(super) fn target(&self, name: &str) -> String {
        let folder = self.written.first().map_or("target", String::as_str);
        format!("{folder}/{name}")
    }

    /// Returns the values of a setting for a file, from the whole project down to its own folder.
    /// Later values override earlier ones.
    pub(super) fn set<'p>(&'p self, kind: &str, path: &str, key: &str) -> Vec<&'p Value> {
        let mut level = self.map.get(kind).and_then(Value::as_mapping);
        let mut found = Vec::new();
        let folder = self.folders.iter().find_map(|folder| {
            let rest = path.strip_prefix(folder.as_str())?;
            rest.strip_prefix('/')
        });
        let parts = folder.unwrap_or(path).split('/');
        let stem = |part: &'_ str| {
            part.rsplit_once('.')
                .map_or(part, |(stem, _)| stem)
                .to_owned()
        };
        let mut parts = std::iter::once(self.name.clone()).chain(parts.map(stem));
        while let Some(map) = level {
            let plus = format!("+{key}");
            let value = map.get(plus.as_str()).or_else(|| map.get(key));
            found.extend(value.filter(|value| !value.is_mapping()));
            let Some(part) = parts.next() else { break };
            level = map.get(part.as_str()).and_then(Value::as_mapping);
        }
        found
    }
}

fn folders(map: &Mapping, keys: &[(&str, &str, &str)], outside: &mut Vec<String>) -> Vec<String> {
    let named = keys.iter().flat_map(|(key, older, default)| {
        let named = texts(map, key).or_else(|| texts(map, older));
        named.unwrap_or_else(|| vec![(*default).to_owned()])
    });
    inside(&named.collect::<Vec<_>>(), outside)
}

fn inside(named: &[String], outside: &mut Vec<String>) -> Vec<String> {
    let mut found = Vec::new();
    for folder in named {
        match inside_root(folder) {
            Some(folder) => found.push(folder),
            None => outside.push(folder.clone()),
        }
    }
    found
}

/// Returns `None` for a folder outside the root.
fn inside_root(folder: &str) -> Option<String> {
    if folder.starts_with('/') || folder.contains('\\') {
        return None;
    }
    let parts: Vec<&str> = folder
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    (!parts.contains(&"..")).then(|| parts.join("/"))
}

/// Skips variables of other packages.
fn variables(map: &Mapping, project: &str) -> BTreeMap<String, String> {
    let all = map.get("vars").and_then(Value::as_mapping);
    let own = all
        .and_then(|all| all.get(project))
        .and_then(Value::as_mapping);
    let levels = all.into_iter().chain(own).flatten();
    levels
        .filter_map(|(key, value)| Some((plain(key)?, plain(value)?)))
        .collect()
}
