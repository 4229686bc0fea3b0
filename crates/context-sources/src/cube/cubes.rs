//! The cubes of a project as typed values, with inherited members.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use crate::definitions::{SourcePosition, spot_of};
use crate::facts::TableLocation;
use crate::folder::is_yaml;
use crate::names;
use crate::snapshot::Snapshot;
use crate::yaml::{mapping, maps, text};

const DEEPEST: usize = 20;

const LISTS: [&str; 4] = ["dimensions", "measures", "segments", "joins"];

pub(super) struct Cube {
    pub(super) name: String,
    path: String,
    body: String,
    map: Mapping,
}

pub(super) enum CubeTable {
    At(TableLocation),
    Query,
    /// Only Cube knows the table: a template, or a cube that extends itself.
    Unclear(&'static str),
}

impl Cube {
    pub(super) fn spot(&self, name: &str) -> SourcePosition {
        spot_of(&self.path, &self.body, "cubes", name)
    }

    pub(super) fn items(&self, list: &str) -> Vec<(String, &Mapping)> {
        let items = maps(&self.map, list).into_iter();
        items
            .filter_map(|item| Some((text(item, "name")?, item)))
            .collect()
    }

    pub(super) fn item(&self, list: &str, name: &str) -> Option<&Mapping> {
        let mut items = maps(&self.map, list).into_iter();
        items.find(|item| text(item, "name").as_deref() == Some(name))
    }

    pub(super) fn table(&self) -> CubeTable {
        if self.map.contains_key("extends") {
            return CubeTable::Unclear("it extends a cube that is unknown, or itself");
        }
        let table = text(&self.map, "sql_table").or_else(|| whole_table(&text(&self.map, "sql")?));
        match table {
            Some(table) if table.contains('{') => {
                CubeTable::Unclear("only Cube can write the name of its table out")
            }
            Some(table) => match names::table(table.trim()) {
                Some(table) => CubeTable::At(table.place()),
                None => CubeTable::Unclear("its table is not a plain name"),
            },
            None => CubeTable::Query,
        }
    }
}

fn whole_table(sql: &str) -> Option<String> {
    let words: Vec<&str> = sql
        .trim()
        .trim_end_matches(';')
        .split_whitespace()
        .collect();
    match words.as_slice() {
        [select, "*", from, table]
            if select.eq_ignore_ascii_case("select") && from.eq_ignore_ascii_case("from") =>
        {
            Some((*table).to_owned())
        }
        _ => None,
    }
}

pub(super) fn cubes(snapshot: &Snapshot) -> BTreeMap<String, Cube> {
    let mut cubes: BTreeMap<String, Cube> = BTreeMap::new();
    for (path, body) in snapshot.files.iter().filter(|(path, _)| is_yaml(path)) {
        let Ok(map) = mapping(path, body) else {
            continue;
        };
        for map in maps(&map, "cubes") {
            if let Some(name) = text(map, "name") {
                cubes.entry(name.clone()).or_insert_with(|| Cube {
                    name,
                    path: path.clone(),
                    body: body.clone(),
                    map: map.clone(),
                });
            }
        }
    }
    let merged: BTreeMap<String, Mapping> = cubes
        .keys()
        .map(|name| (name.clone(), with_parents(name, &cubes, 0)))
        .collect();
    for (name, map) in merged {
        if let Some(cube) = cubes.get_mut(&name) {
            cube.map = map;
        }
    }
    cubes
}

fn with_parents(name: &str, cubes: &BTreeMap<String, Cube>, depth: usize) -> Mapping {
    let own = cubes.get(name).map(|cube| cube.map.clone());
    let own = own.unwrap_or_default();
    let Some(parent) = text(&own, "extends") else {
        return own;
    };
    let parent = parent.trim_matches(['{', '}']).trim().to_owned();
    if depth == DEEPEST || !cubes.contains_key(&parent) {
        return own;
    }
    let mut whole = with_parents(&parent, cubes, depth + 1);
    if whole.contains_key("extends") {
        return own;
    }
    for (key, value) in own {
        let is_list = key.as_str().is_some_and(|key| LISTS.contains(&key));
        if let (true, Some(Value::Sequence(known)), Value::Sequence(own)) =
            (is_list, whole.get_mut(&key), &value)
        {
            let named = |item: &Value| item.as_mapping().and_then(|item| text(item, "name"));
            known.retain(|item| own.iter().all(|other| named(other) != named(item)));
            known.extend(own.iter().cloned());
            continue;
        }
        // A child with a query of its own does not have the table of its parent.
        match key.as_str() {
            Some("extends") => continue,
            Some("sql") => drop(whole.shift_remove("sql_table")),
            Some("sql_table") => drop(whole.shift_remove("sql")),
            _ => {}
        }
        whole.insert(key, value);
    }
    whole
}
