//! A parsed LookML project: files, models with their includes, and constants.

use std::collections::{BTreeMap, BTreeSet};

use super::syntax::{LookmlEntry, SyntaxError, Value, parse, place};
use crate::snapshot::Snapshot;

const ENDINGS: [&str; 2] = [".lkml", ".lookml"];

pub(super) struct File<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) kind: FileKind,
    pub(super) entries: Vec<LookmlEntry>,
    pub(super) wrong: Option<SyntaxError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Model,
    Dashboard,
    Other,
}

pub(super) struct LookmlProject<'a> {
    pub(super) files: BTreeMap<&'a str, File<'a>>,
    pub(super) models: Vec<LookmlModel<'a>>,
    constants: BTreeMap<String, String>,
}

pub(super) struct LookmlModel<'a> {
    pub(super) name: &'a str,
    pub(super) path: &'a str,
    pub(super) includes: BTreeSet<&'a str>,
    /// The model's connection, if it belongs to another warehouse.
    pub(super) mismatch: Option<String>,
}

impl<'a> LookmlProject<'a> {
    pub(super) fn of(snapshot: &'a Snapshot, expected: Option<&str>) -> Self {
        let files = snapshot.files.iter();
        let files: BTreeMap<&str, File<'_>> = files
            .map(|(path, text)| (path.as_str(), file(path, text)))
            .collect();
        let mut project = Self {
            files,
            models: Vec::new(),
            constants: BTreeMap::new(),
        };
        for file in project.files.values() {
            for (name, entries) in blocks(&file.entries, "constant") {
                let value = text(entries, "value").map(str::to_owned);
                let named = name.map(str::to_owned).zip(value);
                project.constants.extend(named);
            }
        }
        let models = project.files.values();
        let models = models.filter(|file| file.kind == FileKind::Model);
        project.models = models.map(|file| project.model(file, expected)).collect();
        project
            .models
            .sort_by(|left, right| (left.name, left.path).cmp(&(right.name, right.path)));
        project
    }

    fn model(&self, file: &File<'a>, expected: Option<&str>) -> LookmlModel<'a> {
        let mut includes = BTreeSet::new();
        let mut open = vec![file.path];
        while let Some(path) = open.pop() {
            for found in self.included(path) {
                if found != file.path && includes.insert(found) {
                    open.push(found);
                }
            }
        }
        let own = std::iter::once(file);
        let mut all = own.chain(includes.iter().filter_map(|path| self.files.get(path)));
        let connection = all.find_map(|file| text(&file.entries, "connection"));
        let connection = connection.and_then(|name| self.written_out(name));
        let mismatch = connection.filter(|name| expected.is_some_and(|wanted| wanted != name));
        let name = file.path.rsplit('/').next().unwrap_or(file.path);
        LookmlModel {
            name: name.split(".model.").next().unwrap_or(name),
            path: file.path,
            includes,
            mismatch,
        }
    }

    pub(super) fn circles(&self) -> Vec<(&'a str, &'a str)> {
        let next: BTreeMap<&str, Vec<&str>> = self
            .files
            .keys()
            .map(|path| {
                (
                    *path,
                    self.included_by(path, |pattern| !pattern.contains('*')),
                )
            })
            .filter(|(_, next)| !next.is_empty())
            .collect();
        let mut circles = Vec::new();
        let mut known: BTreeSet<&str> = BTreeSet::new();
        for (path, included) in &next {
            let seen = reached(path, &next);
            if known.contains(path) || !seen.contains(path) {
                continue;
            }
            let of_circle = seen.iter().copied();
            known.extend(of_circle.filter(|other| reached(other, &next).contains(path)));
            let through = included.iter().find(|other| known.contains(*other));
            circles.extend(through.map(|through| (*path, *through)));
        }
        circles
    }

    fn included(&self, path: &str) -> Vec<&'a str> {
        self.included_by(path, |_| true)
    }

    fn included_by(&self, path: &str, is_meant: impl Fn(&str) -> bool) -> Vec<&'a str> {
        let Some(file) = self.files.get(path) else {
            return Vec::new();
        };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut found = Vec::new();
        for entry in &file.entries {
            if entry.key != "include" {
                continue;
            }
            for pattern in entry
                .value
                .texts()
                .into_iter()
                .filter(|pattern| is_meant(pattern))
            {
                found.extend(self.matching(folder, pattern));
            }
        }
        found
    }

    /// Resolves from the project root if the pattern begins with `/`; otherwise from the including
    /// file, then from the root. Files of other projects (`//`) are not available.
    fn matching(&self, folder: &str, pattern: &str) -> Vec<&'a str> {
        if pattern.starts_with("//") {
            return Vec::new();
        }
        let below = |pattern: &str| -> Vec<&'a str> {
            let paths = self.files.keys();
            paths
                .copied()
                .filter(|path| {
                    let shorter = ENDINGS.iter().filter_map(|end| path.strip_suffix(end));
                    std::iter::once(*path)
                        .chain(shorter)
                        .any(|path| matches(pattern, path))
                })
                .collect()
        };
        if let Some(pattern) = pattern.strip_prefix('/') {
            return below(pattern);
        }
        let near = resolved(&format!("{folder}/{pattern}")).map(|near| below(&near));
        let near = near.filter(|near| !near.is_empty());
        near.unwrap_or_else(|| below(pattern))
    }

    /// Returns `None` if a constant is unknown or only Looker can evaluate the text.
    pub(super) fn written_out(&self, text: &str) -> Option<String> {
        let mut shown = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("@{") {
            let (name, behind) = behind.split_once('}')?;
            shown.push_str(before);
            shown.push_str(self.constants.get(name.trim())?);
            rest = behind;
        }
        shown.push_str(rest);
        let is_template = ["{%", "{{", "@{"].iter().any(|begin| shown.contains(begin));
        (!is_template).then_some(shown)
    }

    pub(super) fn place(&self, path: &str, at: usize) -> String {
        let text = self.files.get(path).map_or("", |file| file.text);
        place(path, text, at)
    }
}

fn reached<'a>(from: &str, next: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = next.get(from).cloned().unwrap_or_default();
    while let Some(path) = open.pop() {
        if seen.insert(path) {
            open.extend(next.get(path).into_iter().flatten());
        }
    }
    seen
}

fn file<'a>(path: &'a str, text: &'a str) -> File<'a> {
    let lower = path.to_ascii_lowercase();
    let is = |part: &str| {
        ENDINGS
            .iter()
            .any(|end| lower.ends_with(&format!("{part}{end}")))
    };
    let kind = if is(".dashboard") {
        FileKind::Dashboard
    } else if is(".model") {
        FileKind::Model
    } else {
        FileKind::Other
    };
    let (entries, wrong) = match kind {
        FileKind::Dashboard => (Vec::new(), None),
        FileKind::Model | FileKind::Other => match parse(text) {
            Ok(entries) => (entries, None),
            Err(wrong) => (Vec::new(), Some(wrong)),
        },
    };
    File {
        path,
        text,
        kind,
        entries,
        wrong,
    }
}

pub(super) fn text<'e>(entries: &'e [LookmlEntry], key: &str) -> Option<&'e str> {
    let mut entries = entries.iter();
    entries.find(|entry| entry.key == key)?.value.text()
}

pub(super) fn blocks<'e>(
    entries: &'e [LookmlEntry],
    key: &str,
) -> impl Iterator<Item = (Option<&'e str>, &'e [LookmlEntry])> {
    entries.iter().filter_map(move |entry| match &entry.value {
        Value::Block(name, inner) if entry.key == key => Some((name.as_deref(), inner.as_slice())),
        _ => None,
    })
}

fn resolved(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// `*` matches within one segment, `**` any number of segments.
fn matches(pattern: &str, path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    // Numbers of path segments that the pattern may have consumed so far.
    let mut reached = BTreeSet::from([0]);
    for part in pattern.split('/') {
        let mut next = BTreeSet::new();
        for at in reached {
            if part == "**" {
                next.extend(at..=parts.len());
            } else if parts.get(at).is_some_and(|own| is_like(part, own)) {
                next.insert(at + 1);
            }
        }
        reached = next;
    }
    reached.contains(&parts.len())
}

fn is_like(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.split_once(piece) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}
