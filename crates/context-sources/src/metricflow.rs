//! Reads MetricFlow: semantic models and metrics in YAML. Never runs or compiles them.

pub(crate) mod definitions;
mod embedded;
mod facts;
mod filters;
mod inputs;
mod metrics;
mod older;
mod semantic_model;
mod units;

use std::path::Path;

use serde_yaml::Value;

use crate::folder::{self, is_yaml};
use crate::snapshot::{FolderKind, ReadError, Snapshot};
use crate::yaml::mapping;

pub use facts::{definitions, facts};
pub use units::units;

const SUBJECTS: [&str; 2] = ["semantic_models", "metrics"];

const BESIDE: [&str; 2] = ["sources", "saved_queries"];

/// Reads the YAML below `root` with semantic models, metrics, saved queries or sources. Includes
/// unparsable files that mention one of these keys.
pub fn read(root: &Path) -> Result<Snapshot, ReadError> {
    let is_wanted = |path: &str| {
        let is_foreign = |part: &str| ["dbt_packages", "node_modules", "target"].contains(&part);
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_other = ["profiles.", "dbt_project."]
            .iter()
            .any(|other| name.starts_with(other));
        is_yaml(path) && !is_other && !path.split('/').any(is_foreign)
    };
    let mut snapshot = folder::read(root, FolderKind::MetricFlow, is_wanted)?;
    snapshot
        .files
        .retain(|path, text| holds(path, text, &SUBJECTS) || holds(path, text, &BESIDE));
    let mut files = snapshot.files.iter();
    // A skipped file may be one of them.
    let is_there = files.any(|(path, text)| holds(path, text, &SUBJECTS));
    if !is_there && snapshot.left_out.iter().all(|left| !is_yaml(&left.path)) {
        return Err(ReadError::NoProject {
            root: root.to_owned(),
            kind: FolderKind::MetricFlow,
        });
    }
    Ok(snapshot)
}

fn holds(path: &str, text: &str, keys: &[&str]) -> bool {
    if let Ok(map) = mapping(path, text) {
        let is_list = |key: &&str| map.get(*key).is_some_and(Value::is_sequence);
        return keys.iter().any(is_list);
    }
    let is_key = |line: &str| {
        let name = line.split_once(':').map(|(name, _)| name);
        name.is_some_and(|name| keys.contains(&name))
    };
    text.lines().any(is_key)
}
