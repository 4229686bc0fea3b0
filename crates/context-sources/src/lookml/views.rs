//! Reads facts about columns from views.

use std::collections::{BTreeMap, BTreeSet};

use super::project::{Project, blocks, text};
use super::syntax::{Entry, Value};
use crate::facts::{ColumnFacts, Facts, TableFacts, Writer, is_secret};
use crate::names;
use crate::snapshot::Snapshot;

/// Dimension types whose values differ from those of the column.
const CHANGED: [&str; 5] = ["tier", "bin", "location", "distance", "duration"];

const ANCESTORS: usize = 100;

pub(super) struct View<'p> {
    pub(super) name: &'p str,
    pub(super) path: &'p str,
    pub(super) is_refinement: bool,
    entries: &'p [Entry],
}

impl<'p> View<'p> {
    pub(super) fn ancestors(&self) -> Vec<&'p str> {
        let entries = self.entries.iter();
        let extends = entries.filter(|entry| ["extends", "extends__all"].contains(&&*entry.key));
        extends.flat_map(|entry| entry.value.texts()).collect()
    }
}

pub(super) fn by_name<'p>(views: &[View<'p>]) -> BTreeMap<&'p str, Vec<usize>> {
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, view) in views.iter().enumerate() {
        found.entry(view.name).or_default().push(index);
    }
    found
}

pub(super) fn views<'p>(project: &'p Project<'_>) -> Vec<View<'p>> {
    let mut views = Vec::new();
    for file in project.files.values() {
        for entry in &file.entries {
            if let Value::Block(Some(name), entries) = &entry.value
                && entry.key == "view"
            {
                let plain = name.trim_start_matches('+');
                views.push(View {
                    name: plain,
                    path: file.path,
                    is_refinement: plain.len() < name.len(),
                    entries,
                });
            }
        }
    }
    views
}

/// Returns the facts about columns, without a model. Models of a Looker connection other than
/// `expected` are about another warehouse: they, and views that only they include, yield no facts.
/// A value that cannot be used becomes a warning; the others still count.
pub fn facts(snapshot: &Snapshot, expected: Option<&str>) -> Facts {
    let project = Project::of(snapshot, expected);
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
    for file in project.files.values() {
        if let Some(wrong) = &file.wrong {
            let place = project.place(file.path, wrong.at);
            facts.warn(&place, &wrong.what);
        }
    }
    let elsewhere = elsewhere(&project);
    let views = views(&project);
    let mut reader = Reader {
        project: &project,
        by_name: by_name(&views),
        views,
        facts,
    };
    for index in 0..reader.views.len() {
        let view = &reader.views[index];
        if !view.is_refinement && !elsewhere.contains(view.path) {
            reader.view(index, &elsewhere);
        }
    }
    let mut facts = reader.facts;
    facts.sort();
    facts
}

/// Returns the files that only models of another warehouse include. Files that no model includes
/// may be about this warehouse.
pub(super) fn elsewhere<'a>(project: &Project<'a>) -> BTreeSet<&'a str> {
    let (others, ours): (Vec<_>, Vec<_>) = project
        .models
        .iter()
        .partition(|model| model.mismatch.is_some());
    if others.is_empty() {
        return BTreeSet::new();
    }
    let mut found: BTreeSet<&str> = project.files.keys().copied().collect();
    for model in ours {
        found.remove(model.path);
        for path in &model.includes {
            found.remove(path);
        }
    }
    found
}

struct Reader<'p> {
    project: &'p Project<'p>,
    views: Vec<View<'p>>,
    by_name: BTreeMap<&'p str, Vec<usize>>,
    facts: Facts,
}

type Field<'p> = (&'p str, &'p Entry, &'p [Entry]);

impl<'p> Reader<'p> {
    /// Adds the facts of a view, including what it extends and its refinements.
    fn view(&mut self, index: usize, elsewhere: &BTreeSet<&str>) {
        let mut chain = Vec::new();
        self.chain(index, elsewhere, &mut BTreeSet::new(), &mut chain);
        let own = &self.views[index];
        let (name, path) = (own.name, own.path);
        // A template counts only in the views that extend it.
        if text(own.entries, "extension") == Some("required") {
            return;
        }
        let Some(table) = self.table(name, &chain) else {
            return;
        };
        let mut fields: BTreeMap<(&str, &str), Vec<Field<'p>>> = BTreeMap::new();
        for at in chain {
            let View { path, entries, .. } = self.views[at];
            for entry in entries {
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

    /// Collects a view's ancestors, the view, and its refinements. Later ones override earlier
    /// ones.
    fn chain(
        &self,
        index: usize,
        elsewhere: &BTreeSet<&str>,
        seen: &mut BTreeSet<usize>,
        chain: &mut Vec<usize>,
    ) {
        // Bounds a hostile chain; real ones are short.
        if seen.len() >= ANCESTORS || !seen.insert(index) {
            return;
        }
        let namesakes = |name: &str| self.by_name.get(name).into_iter().flatten().copied();
        let mut all = vec![index];
        all.extend(namesakes(self.views[index].name).filter(|at| {
            let view = &self.views[*at];
            view.is_refinement && !elsewhere.contains(view.path)
        }));
        for at in &all {
            for ancestor in self.views[*at].ancestors() {
                let found = namesakes(ancestor).find(|at| {
                    let view = &self.views[*at];
                    !view.is_refinement && !elsewhere.contains(view.path)
                });
                if let Some(found) = found {
                    self.chain(found, elsewhere, seen, chain);
                }
            }
        }
        chain.extend(all);
    }

    /// Returns the table of a view; `None` if it is derived or only Looker can evaluate its name.
    fn table(&mut self, name: &str, chain: &[usize]) -> Option<TableFacts> {
        for at in chain.iter().rev() {
            let view = &self.views[*at];
            let entry = view
                .entries
                .iter()
                .find(|entry| ["sql_table_name", "derived_table"].contains(&&*entry.key));
            let Some(entry) = entry else { continue };
            let sql = entry.value.text()?;
            let table = self.project.written_out(sql);
            let table = table.and_then(|text| names::table(&text));
            if table.is_none() {
                let place = self.project.place(view.path, entry.at);
                let what =
                    format!("`{name}` was left out: its `sql_table_name` is not a plain name");
                self.facts.warn(&place, &what);
            }
            return table;
        }
        // Without `sql_table_name`, the table has the name of the view.
        Some(TableFacts {
            name: name.to_owned(),
            ..TableFacts::default()
        })
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

/// Returns whether the values of a dimension of this type differ from those of its column.
pub(crate) fn is_changed(kind: &str) -> bool {
    CHANGED.contains(&kind)
}

/// Returns the column that the SQL of a dimension shows unchanged.
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
