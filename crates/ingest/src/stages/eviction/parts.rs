//! The parts of a semantic source: where they are written, who imports the same, and files without
//! some of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ktx_project_store::ProjectPath;
use ktx_semantic_layer::authored::{Authored, Column, Measure, OverlayJoin, Segment};
use ktx_yaml::{Content, Node, scalar_text, tree};
use serde::Serialize;
use serde_yaml::{Mapping, Value};

use crate::policy::authored;
use crate::verdict::{Thing, ThingKind};

/// The lists of a source, with what their items are.
const LISTS: [(&str, ThingKind); 4] = [
    ("measures", ThingKind::Measure),
    ("segments", ThingKind::Segment),
    ("columns", ThingKind::Column),
    ("joins", ThingKind::Join),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourcePart {
    pub(super) thing: Thing,
    /// Numbers of lines, from 1; the end is excluded.
    pub(super) lines: Range<usize>,
    pub(super) place: PartPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartPlace {
    list: &'static str,
    index: usize,
}

pub(super) fn parts(source: &str, text: &str) -> Vec<SourcePart> {
    let Some(root) = tree(text) else {
        return Vec::new();
    };
    let mut parts = Vec::new();
    for (list, kind) in LISTS {
        let Some(Content::Sequence { items, .. }) = child(&root, list).map(|node| &node.content)
        else {
            continue;
        };
        for (index, item) in items.iter().enumerate() {
            let mut names = ["name", "alias", "to"].into_iter();
            let name = names.find_map(|field| scalar_text(text, child(item, field)?));
            parts.extend(name.map(|name| SourcePart {
                thing: Thing {
                    kind,
                    name: format!("{source}.{name}"),
                },
                lines: lines(text, &item.range),
                place: PartPlace { list, index },
            }));
        }
    }
    parts
}

fn child<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    let Content::Mapping { entries, .. } = &node.content else {
        return None;
    };
    let mut entries = entries.iter();
    let entry = entries.find(|entry| entry.name.as_deref() == Some(name))?;
    entry.value.as_ref()
}

fn lines(text: &str, range: &Range<usize>) -> Range<usize> {
    let count = |end: usize| text.get(..end).unwrap_or_default().matches('\n').count();
    let written = text.get(range.clone()).unwrap_or_default().trim_end();
    let first = count(range.start) + 1;
    first..first + written.matches('\n').count() + 1
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditedFile {
    Text(String),
    /// No part of it remains.
    Removed,
}

impl EditedFile {
    pub(super) fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Removed => None,
        }
    }
}

/// Returns `None` if the file cannot be edited.
pub(super) fn without(text: &str, dropped: &BTreeSet<PartPlace>) -> Option<EditedFile> {
    let old: Mapping = serde_yaml::from_str(text).ok()?;
    let mut new = old.clone();
    for (list, _) in LISTS {
        let Some(Value::Sequence(items)) = new.get_mut(list) else {
            continue;
        };
        let mut index = 0;
        items.retain(|_| {
            let place = PartPlace { list, index };
            index += 1;
            !dropped.contains(&place)
        });
        if items.is_empty() {
            new.shift_remove(list);
        }
    }
    let is_empty = new.keys().all(|key| key.as_str() == Some("name"));
    if is_empty {
        return Some(EditedFile::Removed);
    }
    let text = ktx_yaml::edit(text, &old, &new).ok()?;
    Some(EditedFile::Text(text))
}

/// Another definition of the same name, in an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Twin {
    pub(super) path: ProjectPath,
    pub(super) formula: Formula,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Formula {
    Same,
    Other,
}

/// Finds the imports that define parts of a file, too.
pub(super) fn twins(
    path: &ProjectPath,
    bytes: &[u8],
    imports: &BTreeMap<ProjectPath, Vec<u8>>,
) -> BTreeMap<Thing, Twin> {
    let Some((name, own)) = formulas(path, bytes) else {
        return BTreeMap::new();
    };
    let mut twins = BTreeMap::new();
    let imports = imports.iter();
    let imports = imports.filter(|(path, _)| path.as_str().contains("/_imports/"));
    for (import, bytes) in imports {
        let Some((other, theirs)) = formulas(import, bytes) else {
            continue;
        };
        if other != name {
            continue;
        }
        for (thing, formula) in &theirs {
            let Some(known) = own.get(thing) else {
                continue;
            };
            let formula = if known == formula {
                Formula::Same
            } else {
                Formula::Other
            };
            twins.insert(
                thing.clone(),
                Twin {
                    path: import.clone(),
                    formula,
                },
            );
        }
    }
    twins
}

type Formulas = BTreeMap<Thing, String>;

fn formulas(path: &ProjectPath, bytes: &[u8]) -> Option<(String, Formulas)> {
    let mut found = PartFormulas::default();
    match authored(path.as_str(), bytes)? {
        Authored::Standalone(source) => {
            found.source = source.name;
            found.columns(&source.columns);
            found.measures(&source.measures);
            found.segments(&source.segments);
            let joins = source.joins.into_iter().map(OverlayJoin::from);
            joins.for_each(|join| found.join(&join));
        }
        Authored::Overlay(overlay) | Authored::Import(overlay) => {
            found.source = overlay.name;
            found.columns(&overlay.columns);
            found.measures(&overlay.measures);
            found.segments(&overlay.segments);
            overlay.joins.iter().for_each(|join| found.join(join));
        }
        Authored::Manifest(_) => return None,
    }
    Some((found.source, found.formulas))
}

#[derive(Default)]
struct PartFormulas {
    source: String,
    formulas: Formulas,
}

impl PartFormulas {
    fn add(&mut self, kind: ThingKind, part: &str, formula: String) {
        let name = format!("{}.{part}", self.source);
        self.formulas.insert(Thing { kind, name }, formula);
    }

    fn columns(&mut self, columns: &[Column]) {
        for Column { name, expr, .. } in columns {
            self.add(ThingKind::Column, name, expr.clone().unwrap_or_default());
        }
    }

    fn measures(&mut self, measures: &[Measure]) {
        for measure in measures {
            let bare = Measure {
                description: None,
                ..measure.clone()
            };
            self.add(ThingKind::Measure, &measure.name, text(&bare));
        }
    }

    fn segments(&mut self, segments: &[Segment]) {
        for Segment { name, expr, .. } in segments {
            self.add(ThingKind::Segment, name, expr.clone());
        }
    }

    fn join(&mut self, join: &OverlayJoin) {
        let formula = (&join.on, &join.relationship, &join.weight);
        let name = join.alias.as_deref().unwrap_or(&join.to);
        self.add(ThingKind::Join, name, text(&formula));
    }
}

fn text(value: &impl Serialize) -> String {
    serde_yaml::to_string(value).unwrap_or_default()
}
