//! Shared rules of units: their keys and their maximum length.

use std::collections::BTreeSet;

use crate::snapshot::{Snapshot, Unit};

/// Maximum characters per model call.
pub(crate) const SMALL: usize = 60_000;

pub(crate) fn characters(snapshot: &Snapshot, path: &str) -> usize {
    snapshot
        .files
        .get(path)
        .map_or(0, |text| text.chars().count())
}

/// Groups files in order into runs that fit; a long file is its own run.
pub(crate) fn runs(
    snapshot: &Snapshot,
    paths: impl IntoIterator<Item = String>,
) -> Vec<Vec<String>> {
    let mut runs = Vec::new();
    let mut files: Vec<String> = Vec::new();
    let mut length = 0;
    for path in paths {
        let own = characters(snapshot, &path);
        if length + own > SMALL && !files.is_empty() {
            runs.push(std::mem::take(&mut files));
            length = 0;
        }
        length += own;
        files.push(path);
    }
    if !files.is_empty() {
        runs.push(files);
    }
    runs
}

/// Splits units longer than `longest` characters: several files into several units, a single file
/// into parts, which are added to the snapshot as files.
pub fn split_long(snapshot: &mut Snapshot, units: Vec<Unit>, longest: usize) -> Vec<Unit> {
    let mut split = Vec::new();
    for unit in units {
        let length: usize = unit
            .files
            .iter()
            .map(|path| characters(snapshot, path))
            .sum();
        if length <= longest {
            split.push(unit);
            continue;
        }
        let mut files = Vec::new();
        for path in &unit.files {
            if characters(snapshot, path) > longest {
                files.extend(split_file(snapshot, path));
            } else {
                files.push(path.clone());
            }
        }
        let parts = runs(snapshot, files).into_iter().enumerate();
        split.extend(parts.map(|(index, files)| {
            Unit {
                key: format!("{}-part-{}", unit.key, index + 1),
                label: unit
                    .label
                    .as_ref()
                    .map(|label| format!("{label}, part {}", index + 1)),
                files,
                ..unit.clone()
            }
        }));
    }
    split
}

fn split_file(snapshot: &mut Snapshot, path: &str) -> Vec<String> {
    let text = snapshot.files.get(path).cloned().unwrap_or_default();
    let mut names = Vec::new();
    for part in pieces(&text) {
        let name = format!("{path}#{}", names.len() + 1);
        snapshot.files.insert(name.clone(), part.to_owned());
        names.push(name);
    }
    names
}

fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((end, _)) = rest.char_indices().nth(SMALL) {
        let (head, _) = rest.split_at(end);
        let at = head.rfind('\n').map_or(end, |at| at + 1);
        let (piece, behind) = rest.split_at(at);
        pieces.push(piece);
        rest = behind;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

pub(crate) fn shorten(unit: &mut Unit, snapshot: &Snapshot) {
    let all = unit.files.iter().chain(&unit.dependencies);
    let mut length: usize = all.map(|path| characters(snapshot, path)).sum();
    while length > SMALL
        && let Some(path) = unit.dependencies.pop()
    {
        length -= characters(snapshot, &path);
        unit.peers.insert(0, path);
    }
}

pub(crate) fn slug(prefix: &str, name: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let slug: String = name.chars().map(plain).collect();
    format!("{prefix}-{}", slug.trim_matches('-'))
}

pub(crate) fn free(keys: &mut BTreeSet<String>, wanted: &str) -> String {
    let numbered = (2..).map(|number: u32| format!("{wanted}-{number}"));
    let mut candidates = std::iter::once(wanted.to_owned()).chain(numbered);
    let found = candidates
        .find(|key| !keys.contains(key))
        .unwrap_or_default();
    keys.insert(found.clone());
    found
}
