//! Reads facts about columns from views.

use std::collections::BTreeMap;

use super::inheritance::{Chain, View, ViewTable, Views};
use super::project::{LookmlProject, blocks, text};
use super::syntax::{LookmlEntry, Value};
use crate::facts::{ColumnFacts, Facts, TableFacts, Writer, is_secret};
use crate::names;
use crate::snapshot::Snapshot;

const CHANGED: [&str; 5] = ["tier", "bin", "location", "distance", "duration"];

/// Returns the facts about columns. Skips models of a Looker connection other than `expected`, and
/// views that only they include. Unusable values become warnings.
pub fn facts(snapshot: &Snapshot, expected: Option<&str>) -> Facts {
    let project = LookmlProject::of(snapshot, expected);
    let mut facts = Facts {
        writer: Writer::LookMl,
        is_complete: snapshot.left_out.is_empty(),
        ..Facts::default()
    };
    for model in &project.models {
        if let Some(connection) = &model.mismatch {
            facts.warnings.push(format!(
                "{}: the model is about the Looker connection `{connection}`, not `{}`: ktx imports none of it, \
                 and its units write pages only",
                model.path,
                expected.unwrap_or_default()
            ));
        }
    }
    for (path, through) in project.circles() {
        facts.warnings.push(format!(
            "{path}: it includes itself through `{through}`; each file counts once"
        ));
    }
    for file in project.files.values() {
        if let Some(wrong) = &file.wrong {
            let place = project.place(file.path, wrong.at);
            facts.warn(&place, &wrong.what);
        }
    }
    let elsewhere = super::inheritance::elsewhere(&project);
    let views = Views::of(&project, &elsewhere);
    let mut reader = ViewReader {
        project: &project,
        views: &views,
        facts,
    };
    for chain in views.chains() {
        reader.view(&chain);
    }
    let mut facts = reader.facts;
    facts.sort();
    facts
}

struct ViewReader<'p> {
    project: &'p LookmlProject<'p>,
    views: &'p Views<'p>,
    facts: Facts,
}

type Field<'p> = (&'p str, &'p LookmlEntry, &'p [LookmlEntry]);

impl<'p> ViewReader<'p> {
    fn view(&mut self, chain: &Chain<'p>) {
        let (name, path) = (chain.name, chain.path);
        let table = match chain.table(self.project) {
            ViewTable::At(place) => TableFacts {
                name: place.name,
                schema: place.schema,
                database: place.database,
                ..TableFacts::default()
            },
            ViewTable::Derived => return,
            ViewTable::Unclear { place } => {
                let what =
                    format!("`{name}` was left out: its `sql_table_name` is not a plain name");
                self.facts.warn(&place, &what);
                return;
            }
        };
        let mut fields: BTreeMap<(&str, &str), Vec<Field<'p>>> = BTreeMap::new();
        for View { path, entries, .. } in chain.views(self.views) {
            for entry in *entries {
                if let Value::Block(Some(field), inner) = &entry.value
                    && ["dimension", "dimension_group"].contains(&&*entry.key)
                {
                    let key = (entry.key.as_str(), field.as_str());
                    fields.entry(key).or_default().push((path, entry, inner));
                }
            }
        }
        let mut columns: Vec<(bool, ColumnFacts)> = Vec::new();
        for ((_, field), parts) in fields {
            let Some(column) = column(field, &parts) else {
                continue;
            };
            let description = self.description(name, field, &parts);
            if description.is_some() {
                let is_other = !column.eq_ignore_ascii_case(field);
                let facts = ColumnFacts {
                    name: column,
                    description,
                    ..ColumnFacts::default()
                };
                columns.push((is_other, facts));
            }
        }
        let table = TableFacts {
            columns: chosen(columns),
            ..table
        };
        if !table.is_empty() {
            self.facts.add(table, path);
        }
    }

    fn description(&mut self, view: &str, field: &str, parts: &[Field<'p>]) -> Option<String> {
        let (path, entry, raw) = parts.iter().rev().find_map(|(path, entry, inner)| {
            Some((*path, *entry, text(inner, "description")?.trim()))
        })?;
        let place = || self.project.place(path, entry.at);
        let Some(shown) = self.project.written_out(raw) else {
            let place = place();
            let what = format!(
                "the `description` of `{view}.{field}` was left out: only Looker can write it out"
            );
            self.facts.warn(&place, &what);
            return None;
        };
        if is_secret(&shown) {
            let told = format!(
                "{}: the `description` of `{view}.{field}` looks like a password or key and was left out",
                place()
            );
            self.facts.warnings.push(told);
            return None;
        }
        (!shown.is_empty()).then_some(shown)
    }
}

/// Keeps one dimension per column, preferring the one with the column's name.
pub(crate) fn chosen(mut columns: Vec<(bool, ColumnFacts)>) -> Vec<ColumnFacts> {
    columns.sort_by_key(|(is_other, _)| *is_other);
    let mut chosen: Vec<ColumnFacts> = Vec::new();
    for (_, column) in columns {
        let is_known = |known: &ColumnFacts| known.name.eq_ignore_ascii_case(&column.name);
        if !chosen.iter().any(is_known) {
            chosen.push(column);
        }
    }
    chosen
}

pub(crate) fn is_changed(kind: &str) -> bool {
    CHANGED.contains(&kind)
}

pub(crate) fn shown(sql: &str) -> Option<String> {
    names::column(sql.trim().strip_prefix("${TABLE}.")?)
}

fn column(field: &str, parts: &[Field<'_>]) -> Option<String> {
    let last = |key: &str| {
        parts
            .iter()
            .rev()
            .find_map(|(_, _, inner)| text(inner, key))
    };
    let is_changed = last("type").is_some_and(is_changed);
    let is_computed = parts.iter().any(|(_, _, inner)| {
        let cases = blocks(inner, "case").chain(blocks(inner, "sql_case"));
        cases.count() > 0 || inner.iter().any(|entry| entry.key == "expression")
    });
    if is_changed || is_computed {
        return None;
    }
    match last("sql") {
        Some(sql) => shown(sql),
        None => Some(field.to_owned()),
    }
}
