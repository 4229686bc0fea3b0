//! The scanned tables, by name and path suffix.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::authored::{Manifest, ManifestEntry};
use crate::sql::sql_text::table_parts;

#[derive(Debug, Clone)]
pub struct ScannedTable {
    /// The key in the shard, or the table path if keys collide.
    pub name: String,
    pub shard: String,
    pub key: String,
    pub entry: ManifestEntry,
    path: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ScannedTables {
    tables: Vec<ScannedTable>,
    by_name: BTreeMap<String, Vec<usize>>,
    by_last: BTreeMap<String, Vec<usize>>,
}

impl ScannedTables {
    /// Names are the key, or the table path if two schemas share it.
    pub(super) fn new(shards: Vec<(String, Manifest)>) -> Self {
        let shared = shared_keys(&shards);
        let name_of = |key: &str, table: &str| {
            if shared.contains(key) {
                table_parts(table).join(".")
            } else {
                key.to_owned()
            }
        };
        // The target is in the same schema, possibly in another shard.
        let mut in_schema: BTreeMap<(Vec<String>, String), String> = BTreeMap::new();
        for (key, entry) in shards.iter().flat_map(|(_, shard)| &shard.tables.0) {
            let name = name_of(key, &entry.table);
            in_schema.insert((schema_of(&entry.table), key.clone()), name);
        }
        let mut all = Self::default();
        for (shard, Manifest { tables }) in shards {
            let names: BTreeMap<String, String> = tables
                .0
                .iter()
                .map(|(key, entry)| (key.clone(), name_of(key, &entry.table)))
                .collect();
            for (key, mut entry) in tables.0 {
                let schema = schema_of(&entry.table);
                for join in &mut entry.joins {
                    let near = || in_schema.get(&(schema.clone(), join.to.clone()));
                    if let Some(name) = names.get(&join.to).or_else(near) {
                        join.to.clone_from(name);
                    }
                }
                let name = names.get(&key).cloned().unwrap_or_else(|| key.clone());
                all.add(name, shard.clone(), key, entry);
            }
        }
        all
    }

    fn add(&mut self, name: String, shard: String, key: String, entry: ManifestEntry) {
        let at = self.tables.len();
        let path = lowered_parts(&entry.table);
        self.by_name.entry(name.clone()).or_default().push(at);
        if let Some(last) = path.last() {
            self.by_last.entry(last.clone()).or_default().push(at);
        }
        self.tables.push(ScannedTable {
            name,
            shard,
            key,
            entry,
            path,
        });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ScannedTable> {
        self.tables.iter()
    }

    /// A reference is a name, a full table path, or a dotted suffix of one.
    pub(super) fn meant_by(&self, reference: &str) -> Vec<&ScannedTable> {
        let wanted = lowered_parts(reference);
        let named = self.by_name.get(reference).into_iter().flatten();
        let mut places: BTreeSet<usize> = named.copied().collect();
        places.extend(self.ending_like(&wanted).filter(|at| {
            let table = self.tables.get(*at);
            table.is_some_and(|table| table.path.ends_with(&wanted))
        }));
        places
            .into_iter()
            .filter_map(|at| self.tables.get(at))
            .collect()
    }

    pub(crate) fn called(&self, name: &str) -> Option<&ScannedTable> {
        let places = self.by_name.get(name)?;
        places.first().and_then(|at| self.tables.get(*at))
    }

    pub(crate) fn only_match(&self, name: &str) -> Option<&ScannedTable> {
        match self.matches(name).as_slice() {
            [table] => Some(table),
            _ => None,
        }
    }

    /// Returns the tables whose path and the dotted name end alike.
    pub(super) fn matches(&self, name: &str) -> Vec<&ScannedTable> {
        let own = lowered_parts(name);
        self.ending_like(&own)
            .filter_map(|at| self.tables.get(at))
            .filter(|table| table.path.ends_with(&own) || own.ends_with(&table.path))
            .collect()
    }

    pub(super) fn has_qualified(&self) -> bool {
        self.tables.iter().any(|table| table.name != table.key)
    }

    fn ending_like(&self, path: &[String]) -> impl Iterator<Item = usize> {
        let places = path.last().and_then(|last| self.by_last.get(last));
        places.into_iter().flatten().copied()
    }
}

fn shared_keys(shards: &[(String, Manifest)]) -> BTreeSet<String> {
    let mut paths: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut shared = BTreeSet::new();
    let mut bare = BTreeSet::new();
    for (key, entry) in shards.iter().flat_map(|(_, manifest)| &manifest.tables.0) {
        let path = table_parts(&entry.table);
        if path.len() < 2 {
            bare.insert(key.clone());
        }
        match paths.get(key.as_str()) {
            None => {
                paths.insert(key, path);
            }
            Some(known) if known.join(".") == path.join(".") => {}
            Some(_) => {
                shared.insert(key.clone());
            }
        }
    }
    &shared - &bare
}

fn schema_of(table: &str) -> Vec<String> {
    let mut parts = table_parts(table);
    parts.pop();
    parts
}

pub(crate) fn lowered_parts(text: &str) -> Vec<String> {
    table_parts(text)
        .iter()
        .map(|part| part.to_lowercase())
        .collect()
}
