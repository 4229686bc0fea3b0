//! Reads Cube projects: cubes and views in YAML. Never runs or compiles them.

mod cubes;
mod definitions;
mod template;

use std::collections::BTreeSet;
use std::path::Path;

use serde_yaml::Value;

use crate::facts::{Facts, Writer};
use crate::folder::{self, is_yaml};
use crate::grouping::{free, runs, slug};
use crate::snapshot::{FolderKind, ReadError, Snapshot, Unit};
use crate::yaml::mapping;

pub use definitions::definitions;

const SUBJECTS: [&str; 2] = ["cubes", "views"];

const NOTE: &str = "The files are YAML of Cube. `{CUBE}` is the cube itself, `{name}` one of its members, and `{other.name}` a \
member of another cube. ktx has imported the measures, dimensions, joins and segments that it could translate: \
`sl_read_source` of a table shows them. Write none of those again. Describe on a page what a view is for.";

/// Reads the YAML below `root` that defines cubes or views.
pub fn read(root: &Path) -> Result<Snapshot, ReadError> {
    let is_wanted = |path: &str| {
        let is_foreign = |part: &str| ["node_modules", "target"].contains(&part);
        is_yaml(path) && !path.split('/').any(is_foreign)
    };
    let mut snapshot = folder::read(root, FolderKind::Cube, is_wanted)?;
    snapshot.files.retain(|path, text| is_model(path, text));
    if snapshot.files.is_empty() && snapshot.left_out.iter().all(|left| !is_yaml(&left.path)) {
        return Err(ReadError::NoProject {
            root: root.to_owned(),
            kind: FolderKind::Cube,
        });
    }
    Ok(snapshot)
}

/// Includes unparsable files that mention cubes or views.
fn is_model(path: &str, text: &str) -> bool {
    match mapping(path, text) {
        Ok(map) => SUBJECTS
            .iter()
            .any(|key| map.get(*key).is_some_and(Value::is_sequence)),
        Err(_) => text.lines().any(|line| {
            let key = line.split_once(':').map(|(key, _)| key);
            key.is_some_and(|key| SUBJECTS.contains(&key))
        }),
    }
}

/// Returns only problems of the files; Cube has no facts.
pub fn facts(snapshot: &Snapshot) -> Facts {
    let mut facts = Facts {
        writer: Writer::Cube,
        is_complete: snapshot.left_out.is_empty(),
        ..Facts::default()
    };
    for (path, text) in &snapshot.files {
        if let Err(wrong) = mapping(path, text) {
            facts.warn(&wrong.place, &wrong.what);
        }
    }
    facts
}

pub fn units(snapshot: &Snapshot) -> Vec<Unit> {
    let mut keys = BTreeSet::new();
    let units = runs(snapshot, snapshot.files.keys().cloned()).into_iter();
    let units = units.map(|files| {
        let first = files.first().map_or("all", String::as_str);
        let stem = first.rsplit_once('.').map_or(first, |(stem, _)| stem);
        Unit {
            key: free(&mut keys, &slug("cube", stem)),
            label: None,
            note: Some(NOTE),
            writes_sources: true,
            files,
            dependencies: Vec::new(),
            peers: Vec::new(),
        }
    });
    units.collect()
}
