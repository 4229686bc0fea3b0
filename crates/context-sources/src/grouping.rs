//! What units have in common: their keys, and how much one may be.

use std::collections::BTreeSet;

use crate::snapshot::{Snapshot, Unit};

/// As many characters are read at once.
pub(crate) const SMALL: usize = 60_000;

pub(crate) fn characters(snapshot: &Snapshot, path: &str) -> usize {
    snapshot
        .files
        .get(path)
        .map_or(0, |text| text.chars().count())
}

/// Files in runs that are small enough, in their order; a long file is one of its own.
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

/// Drops dependencies from the end until the unit is small enough.
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

/// A name as a key.
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

/// The key, or with a number behind it when it is taken.
pub(crate) fn free(keys: &mut BTreeSet<String>, wanted: &str) -> String {
    let numbered = (2..).map(|number: u32| format!("{wanted}-{number}"));
    let mut candidates = std::iter::once(wanted.to_owned()).chain(numbered);
    let found = candidates
        .find(|key| !keys.contains(key))
        .unwrap_or_default();
    keys.insert(found.clone());
    found
}
