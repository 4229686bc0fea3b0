//! Reads facts about tables and columns from semantic models.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use crate::definitions::Definitions;
use crate::facts::{ColumnFacts, Facts, TableFacts, Writer, is_secret};
use crate::names;
use crate::snapshot::Snapshot;
use crate::yaml::{mapping, maps, text};

/// Keys of column descriptions; earlier ones win. A measure's description is about its aggregate.
const PARTS: [&str; 2] = ["dimensions", "entities"];

pub fn facts(snapshot: &Snapshot) -> Facts {
    let mut facts = Facts {
        writer: Writer::MetricFlow,
        is_complete: snapshot.left_out.is_empty(),
        ..Facts::default()
    };
    let mut read = Vec::new();
    for (path, body) in &snapshot.files {
        match mapping(path, body) {
            Ok(map) => read.push((path, map)),
            Err(wrong) => facts.warn(&wrong.place, &wrong.what),
        }
    }
    let sources = sources(read.iter().map(|(_, map)| map));
    for (path, map) in &read {
        for model in maps(map, "semantic_models") {
            semantic_model(&mut facts, path, model, &sources);
        }
    }
    facts.sort();
    facts
}

pub fn definitions(snapshot: &Snapshot) -> Definitions {
    let files = snapshot.files.iter();
    let read: Vec<Mapping> = files
        .filter_map(|(path, body)| mapping(path, body).ok())
        .collect();
    let sources = sources(read.iter());
    super::definitions::definitions(snapshot, &BTreeMap::new(), |model| {
        table(model, &sources).map(|table| table.place())
    })
}

type Sources = BTreeMap<(String, String), TableFacts>;

fn sources<'m>(maps_of_files: impl Iterator<Item = &'m Mapping>) -> Sources {
    let mut found = Sources::new();
    let plain = |map: &Mapping, key: &str| text(map, key).filter(|text| !is_template(text));
    for map in maps_of_files {
        for source in maps(map, "sources") {
            let Some(name) = text(source, "name") else {
                continue;
            };
            // Without a schema, the source name is the schema.
            let schema = match source.get("schema") {
                None | Some(Value::Null) => Some(name.clone()),
                Some(_) => plain(source, "schema"),
            };
            for table in maps(source, "tables") {
                let Some(own) = text(table, "name") else {
                    continue;
                };
                let place = TableFacts {
                    name: plain(table, "identifier").unwrap_or_else(|| own.clone()),
                    schema: schema.clone(),
                    database: plain(source, "database"),
                    ..TableFacts::default()
                };
                found.entry((name.clone(), own)).or_insert(place);
            }
        }
    }
    found
}

fn semantic_model(facts: &mut Facts, path: &str, model: &Mapping, sources: &Sources) {
    let Some(name) = text(model, "name") else {
        return;
    };
    let Some(mut table) = table(model, sources) else {
        let what = format!("`{name}` was left out: its `model` names no table that is known");
        facts.warn(path, &what);
        return;
    };
    table.description = description(facts, path, model, &name);
    for key in PARTS {
        for part in maps(model, key) {
            let Some(own) = text(part, "name") else {
                continue;
            };
            let expression = text(part, "expr").unwrap_or_else(|| own.clone());
            let Some(column) = names::column(&expression) else {
                continue;
            };
            let is_known = |known: &ColumnFacts| known.name.eq_ignore_ascii_case(&column);
            if table.columns.iter().any(is_known) {
                continue;
            }
            let description = description(facts, path, part, &format!("{name}.{own}"));
            if description.is_some() {
                table.columns.push(ColumnFacts {
                    name: column,
                    description,
                    ..ColumnFacts::default()
                });
            }
        }
    }
    if !table.is_empty() {
        facts.add(table, path);
    }
}

fn table(model: &Mapping, sources: &Sources) -> Option<TableFacts> {
    if let Some(relation) = model.get("node_relation").and_then(Value::as_mapping) {
        let plain = |key: &str| text(relation, key).filter(|text| !is_template(text));
        return Some(TableFacts {
            name: plain("alias")?,
            schema: plain("schema_name"),
            database: plain("database"),
            ..TableFacts::default()
        });
    }
    let named = text(model, "model")?;
    let inner = named.trim();
    let inner = inner.strip_prefix("{{").unwrap_or(inner);
    let inner = inner.strip_suffix("}}").unwrap_or(inner).trim();
    match call(inner) {
        Some(("ref", arguments)) => {
            let plain: Vec<&str> = arguments.iter().filter_map(|text| quoted(text)).collect();
            let version = arguments.iter().find_map(|argument| {
                let (key, value) = argument.split_once('=')?;
                let value = value.trim();
                ["v", "version"]
                    .contains(&key.trim())
                    .then(|| quoted(value).unwrap_or(value))
            });
            let name = plain.last()?;
            let name = version.map_or_else(|| (*name).to_owned(), |v| format!("{name}_v{v}"));
            Some(TableFacts {
                name,
                ..TableFacts::default()
            })
        }
        Some(("source", arguments)) => {
            let [source, table] = arguments.as_slice() else {
                return None;
            };
            let key = (quoted(source)?.to_owned(), quoted(table)?.to_owned());
            let known = sources.get(&key).cloned();
            Some(known.unwrap_or_else(|| TableFacts {
                name: key.1,
                ..TableFacts::default()
            }))
        }
        Some(_) => None,
        None => names::table(inner),
    }
}

fn call(text: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = text.split_once('(')?;
    let arguments = rest.trim_end().strip_suffix(')')?;
    Some((name.trim(), arguments.split(',').map(str::trim).collect()))
}

fn quoted(text: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    })
}

/// Skips a description that is empty, uses Jinja or contains a secret.
fn description(facts: &mut Facts, path: &str, map: &Mapping, name: &str) -> Option<String> {
    let found = text(map, "description")?;
    let found = found.trim();
    if is_template(found) {
        let what = format!("the `description` of `{name}` was left out: only dbt can write it out");
        facts.warn(path, &what);
        return None;
    }
    if is_secret(found) {
        facts.warnings.push(format!(
            "{path}: the `description` of `{name}` looks like a password or key and was left out"
        ));
        return None;
    }
    (!found.is_empty()).then(|| found.to_owned())
}

fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}
