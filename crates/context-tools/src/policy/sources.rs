//! Semantic sources as a client sees them.

use std::collections::{BTreeMap, BTreeSet};

use ktx_read_only_sql::Restriction;
use ktx_semantic_layer::{Catalog, Relation, SourceFile};
use ktx_sql::Dialect;
use serde_yaml::{Mapping, Value};

use super::TableRules;
use crate::scans::ScanSnapshot;

/// Each round of removals can hide more names.
const ROUNDS: usize = 50;

const PARTS: [&str; 5] = [
    "columns",
    "column_overrides",
    "measures",
    "segments",
    "joins",
];

const VALUES: [&str; 3] = ["enum_values", "tests", "constraints"];

const HABITS: [&str; 1] = ["usage"];

struct Hidden {
    sources: BTreeSet<String>,
    /// Lower case, by source.
    names: BTreeMap<String, BTreeSet<String>>,
    values: BTreeMap<String, BTreeSet<String>>,
    /// Lower case, by source. Masked values must not become numbers or joins.
    masked: BTreeMap<String, BTreeSet<String>>,
    /// Sources whose key has a hidden column.
    keyless: BTreeSet<String>,
}

pub(crate) fn shown_files(
    rules: &TableRules,
    files: Vec<(String, Vec<u8>)>,
    whole: &Catalog,
    scan: Option<&ScanSnapshot>,
    restriction: &Restriction,
) -> Vec<SourceFile> {
    let mut hidden = Hidden::of(rules, whole, scan, restriction);
    let mut read: Vec<(String, Value)> = files
        .into_iter()
        .filter_map(|(path, bytes)| Some((path, serde_yaml::from_slice(&bytes).ok()?)))
        .collect();
    for _ in 0..ROUNDS {
        let before = hidden.count();
        for (path, value) in &mut read {
            hidden.strip_file(path, value);
        }
        if hidden.count() == before {
            break;
        }
    }
    let shown = read.into_iter().filter(|(_, value)| !value.is_null());
    shown
        .filter_map(|(path, value)| {
            let text = serde_yaml::to_string(&value).ok()?;
            Some(SourceFile::new(path, text.into_bytes()))
        })
        .collect()
}

impl Hidden {
    fn of(
        rules: &TableRules,
        whole: &Catalog,
        scan: Option<&ScanSnapshot>,
        restriction: &Restriction,
    ) -> Self {
        let mut hidden = Self {
            sources: BTreeSet::new(),
            names: BTreeMap::new(),
            values: BTreeMap::new(),
            masked: BTreeMap::new(),
            keyless: BTreeSet::new(),
        };
        let places = scan.map(ScanSnapshot::places);
        for source in whole.sources() {
            let table = places.as_ref().and_then(|places| places.read_by(source));
            let is_seen = match (&source.relation, table) {
                (Relation::Table(_), Some(scanned)) => !rules.hides_table(&scanned.table),
                (Relation::Table(_), None) => false,
                (Relation::Sql(sql), _) => is_open(sql, whole.dialect(), restriction),
            };
            if !is_seen {
                hidden.sources.insert(source.name.clone());
                continue;
            }
            let Some(scanned) = table else {
                continue;
            };
            let of = |keep: &dyn Fn(&str) -> bool| {
                let all = scanned.columns.iter().map(|column| column.name.as_str());
                let own = source.columns.iter().map(|column| column.name.as_str());
                all.chain(own)
                    .filter(|name| keep(name))
                    .map(str::to_lowercase)
                    .collect::<BTreeSet<String>>()
            };
            let names = of(&|name| rules.hides_column(&scanned.table, name));
            let values = of(&|name| !rules.shows_values(&scanned.table, name));
            let masked = of(&|name| rules.mask(&scanned.table, name).is_some());
            let mut key = source.grain.iter().chain(&source.scanned_key);
            let is_lost = |name: &String| {
                let name = name.to_lowercase();
                names.contains(&name) || masked.contains(&name)
            };
            if key.any(is_lost) {
                hidden.keyless.insert(source.name.clone());
            }
            hidden.masked.insert(source.name.clone(), masked);
            hidden.names.insert(source.name.clone(), names);
            hidden.values.insert(source.name.clone(), values);
        }
        let broken = whole.list().into_iter().filter(|one| one.origin.is_none());
        hidden.sources.extend(broken.map(|one| one.name));
        hidden
    }

    fn count(&self) -> usize {
        self.sources.len() + self.names.values().map(BTreeSet::len).sum::<usize>()
    }

    /// A shard is keyed by tables.
    fn strip_file(&mut self, path: &str, value: &mut Value) {
        let Value::Mapping(file) = value else {
            *value = Value::Null;
            return;
        };
        if let Some(Value::Mapping(tables)) = file.get_mut("tables") {
            let names: Vec<Value> = tables.keys().cloned().collect();
            for key in names {
                let name = key.as_str().unwrap_or_default().to_owned();
                let is_gone = match tables.get_mut(&key) {
                    Some(Value::Mapping(entry)) if !self.sources.contains(&name) => {
                        self.strip(&name, entry);
                        false
                    }
                    _ => true,
                };
                if is_gone {
                    tables.remove(&key);
                }
            }
            return;
        }
        let stem = path.rsplit('/').next().unwrap_or(path);
        let stem = stem.split('.').next().unwrap_or(stem).to_owned();
        let named = file.get("name").and_then(Value::as_str).map(str::to_owned);
        let name = named.unwrap_or(stem);
        if self.sources.contains(&name) {
            *value = Value::Null;
            return;
        }
        self.strip(&name, file);
    }

    fn strip(&mut self, source: &str, entry: &mut Mapping) {
        for key in PARTS {
            let Some(Value::Sequence(items)) = entry.get_mut(key) else {
                continue;
            };
            let mut kept = Vec::with_capacity(items.len());
            for mut item in std::mem::take(items) {
                if self.uses_hidden(source, key, &item) {
                    let name = item.get("name").and_then(Value::as_str);
                    if let Some(name) = name.filter(|_| key != "joins") {
                        let names = self.names.entry(source.to_owned()).or_default();
                        names.insert(name.to_lowercase());
                    }
                    continue;
                }
                self.strip_values(source, &mut item);
                kept.push(item);
            }
            *items = kept;
        }
        let hidden = self.names.get(source);
        let is_hidden = |name: &Value| {
            let name = name.as_str().map(str::to_lowercase);
            name.is_some_and(|name| hidden.is_some_and(|names| names.contains(&name)))
        };
        for key in ["exclude_columns", "disable_joins"] {
            if let Some(Value::Sequence(names)) = entry.get_mut(key) {
                names.retain(|name| !is_hidden(name));
            }
        }
        let has_hidden = hidden.is_some_and(|names| !names.is_empty());
        if self.keyless.contains(source) {
            lose_key(entry);
        }
        if has_hidden {
            for key in HABITS {
                entry.remove(key);
            }
            let time = entry.get("default_time_dimension");
            if time.is_some_and(|time| words(time).any(|word| is_hidden(&Value::from(word)))) {
                entry.remove("default_time_dimension");
            }
        }
    }

    fn strip_values(&self, source: &str, item: &mut Value) {
        let Some(item) = item.as_mapping_mut() else {
            return;
        };
        let name = item
            .get("name")
            .and_then(Value::as_str)
            .map(str::to_lowercase);
        let values = self.values.get(source);
        if name.is_some_and(|name| values.is_some_and(|values| values.contains(&name))) {
            for key in VALUES {
                item.remove(key);
            }
        }
    }

    fn uses_hidden(&self, source: &str, key: &str, item: &Value) -> bool {
        let Some(item) = item.as_mapping() else {
            return true;
        };
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        let is_in = |names: Option<&BTreeSet<String>>, word: &str| {
            names.is_some_and(|names| names.contains(&word.to_lowercase()))
        };
        let is_own = |word: &str| is_in(self.names.get(source), word);
        let is_masked = |word: &str| is_in(self.masked.get(source), word);
        if key != "joins" && text("name").is_some_and(is_own) {
            return true;
        }
        if key == "joins" && text("to").is_some_and(|to| self.sources.contains(to)) {
            return true;
        }
        let told = ["name", "description", "descriptions", "type"];
        let rest = item.iter().filter(|(key, _)| {
            let key = key.as_str().unwrap_or_default();
            !told.contains(&key) && !VALUES.contains(&key)
        });
        rest.flat_map(|(_, value)| words(value))
            .any(|word| match word.rsplit_once('.') {
                Some((_, last)) => self.is_hidden_anywhere(last) || self.is_hidden_source(&word),
                None => is_own(&word) || is_masked(&word),
            })
    }

    fn is_hidden_anywhere(&self, column: &str) -> bool {
        let column = column.to_lowercase();
        let mut all = self.names.values().chain(self.masked.values());
        all.any(|names| names.contains(&column))
    }

    fn is_hidden_source(&self, path: &str) -> bool {
        let mut parts = path.split('.');
        parts.any(|part| {
            self.sources
                .iter()
                .any(|name| name.eq_ignore_ascii_case(part))
        })
    }
}

/// Part of a key would promise unique rows.
fn lose_key(entry: &mut Mapping) {
    if let Some(Value::Sequence(columns)) = entry.get_mut("columns") {
        for column in columns.iter_mut().filter_map(Value::as_mapping_mut) {
            column.remove("pk");
        }
    }
    if !entry.contains_key("grain") {
        return;
    }
    let all = entry.get("columns").and_then(Value::as_sequence);
    let plain = all.into_iter().flatten();
    let plain = plain.filter(|column| column.get("expr").is_none());
    let names: Vec<Value> = plain
        .filter_map(|column| column.get("name").cloned())
        .collect();
    let is_whole = entry.contains_key("table") || entry.contains_key("sql");
    if is_whole && !names.is_empty() {
        entry.insert("grain".into(), Value::Sequence(names));
    } else {
        entry.remove("grain");
    }
}

fn is_open(sql: &str, dialect: Dialect, restriction: &Restriction) -> bool {
    ktx_read_only_sql::check(sql, dialect)
        .and_then(|sql| sql.restricted(restriction))
        .is_ok()
}

fn words(value: &Value) -> Box<dyn Iterator<Item = String> + '_> {
    match value {
        Value::String(text) => {
            let text = text.replace(['"', '`', '[', ']'], "");
            let is_part = |letter: char| letter.is_alphanumeric() || "_$.".contains(letter);
            let words: Vec<String> = text
                .split(|letter| !is_part(letter))
                .filter(|word| !word.is_empty())
                .map(|word| word.trim_matches('.').to_owned())
                .collect();
            Box::new(words.into_iter())
        }
        Value::Sequence(items) => Box::new(items.iter().flat_map(words)),
        Value::Mapping(fields) => Box::new(fields.values().flat_map(words)),
        _ => Box::new(std::iter::empty()),
    }
}
