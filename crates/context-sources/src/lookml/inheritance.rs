//! Views with what they extend and what refines them.

use std::collections::{BTreeMap, BTreeSet};

use super::project::{LookmlProject, text};
use super::syntax::{LookmlEntry, Value};
use crate::facts::TableLocation;
use crate::names;

const ANCESTORS: usize = 100;

pub(super) struct View<'p> {
    pub(super) name: &'p str,
    pub(super) path: &'p str,
    pub(super) is_refinement: bool,
    pub(super) entries: &'p [LookmlEntry],
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

pub(super) fn views<'p>(project: &'p LookmlProject<'_>) -> Vec<View<'p>> {
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

/// Returns files that only models of another warehouse include. A file that no model includes may
/// be about this warehouse.
pub(super) fn elsewhere<'a>(project: &LookmlProject<'a>) -> BTreeSet<&'a str> {
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

pub(super) struct Views<'p> {
    all: Vec<View<'p>>,
    by_name: BTreeMap<&'p str, Vec<usize>>,
    elsewhere: &'p BTreeSet<&'p str>,
}

/// A view between its ancestors and its refinements: later ones override earlier ones.
pub(super) struct Chain<'p> {
    pub(super) name: &'p str,
    pub(super) path: &'p str,
    members: Vec<usize>,
    table: Option<(&'p str, &'p LookmlEntry)>,
}

pub(super) enum ViewTable {
    At(TableLocation),
    Derived,
    Unclear { place: String },
}

impl<'p> Views<'p> {
    pub(super) fn of(project: &'p LookmlProject<'_>, elsewhere: &'p BTreeSet<&'p str>) -> Self {
        let views = views(project);
        Self {
            by_name: by_name(&views),
            all: views,
            elsewhere,
        }
    }

    pub(super) fn chains(&self) -> Vec<Chain<'p>> {
        let mut chains = Vec::new();
        for (index, view) in self.all.iter().enumerate() {
            // A template counts only in the views that extend it.
            let is_template = text(view.entries, "extension") == Some("required");
            if view.is_refinement || is_template || self.elsewhere.contains(view.path) {
                continue;
            }
            let mut members = Vec::new();
            self.collect(index, &mut BTreeSet::new(), &mut members);
            let table = members.iter().rev().find_map(|at| {
                let view = &self.all[*at];
                let mut entries = view.entries.iter();
                let entry = entries
                    .find(|entry| ["sql_table_name", "derived_table"].contains(&&*entry.key))?;
                Some((view.path, entry))
            });
            chains.push(Chain {
                name: view.name,
                path: view.path,
                members,
                table,
            });
        }
        chains
    }

    fn collect(&self, index: usize, seen: &mut BTreeSet<usize>, members: &mut Vec<usize>) {
        // Bounds a hostile chain; real ones are short.
        if seen.len() >= ANCESTORS || !seen.insert(index) {
            return;
        }
        let namesakes = |name: &str| self.by_name.get(name).into_iter().flatten().copied();
        let mut all = vec![index];
        all.extend(namesakes(self.all[index].name).filter(|at| {
            let view = &self.all[*at];
            view.is_refinement && !self.elsewhere.contains(view.path)
        }));
        for at in &all {
            for ancestor in self.all[*at].ancestors() {
                let found = namesakes(ancestor).find(|at| {
                    let view = &self.all[*at];
                    !view.is_refinement && !self.elsewhere.contains(view.path)
                });
                if let Some(found) = found {
                    self.collect(found, seen, members);
                }
            }
        }
        members.extend(all);
    }
}

impl<'p> Chain<'p> {
    pub(super) fn views<'v>(&'v self, views: &'v Views<'p>) -> impl Iterator<Item = &'v View<'p>> {
        self.members.iter().filter_map(|at| views.all.get(*at))
    }

    pub(super) fn table(&self, project: &LookmlProject<'_>) -> ViewTable {
        let Some((path, entry)) = self.table else {
            // Without `sql_table_name`, the table has the name of the view.
            return ViewTable::At(TableLocation {
                name: self.name.to_owned(),
                ..TableLocation::default()
            });
        };
        let Some(sql) = entry.value.text() else {
            return ViewTable::Derived;
        };
        let table = project.written_out(sql);
        match table.and_then(|text| names::table(&text)) {
            Some(table) => ViewTable::At(table.place()),
            None => ViewTable::Unclear {
                place: project.place(path, entry.at),
            },
        }
    }
}
