//! Reads dbt projects: YAML, SQL and doc blocks. Never runs or compiles dbt.

mod checks;
mod circumstances;
mod docs;
mod facts;
mod models;
mod project;
mod references;
mod sql;
mod units;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ktx_project_store::{FileError, walk};

use crate::artifacts::Artifacts;
use crate::folder::{self, add, has_ending, is_yaml};
use crate::snapshot::{FolderKind, LeftOut, ReadError, Snapshot};
use models::stem;
use project::DbtProject;

pub use facts::{definitions, facts};
pub use units::units;

const PROJECT_FILES: [&str; 2] = ["dbt_project.yml", "dbt_project.yaml"];

/// Artifact files that a connection names; by default those in the project's folder.
#[derive(Debug, Clone, Default)]
pub struct ArtifactFiles {
    pub manifest: Option<(PathBuf, String)>,
    pub catalog: Option<(PathBuf, String)>,
}

/// Reads the project in `root`: its project file; YAML, SQL and Markdown in its folders for models,
/// seeds, snapshots and analyses; and any artifacts of dbt.
pub fn read(root: &Path, artifacts: &ArtifactFiles) -> Result<Snapshot, ReadError> {
    folder::look_at(root, FolderKind::Dbt)?;
    let mut snapshot = Snapshot::default();
    let name = project_file(root)?;
    if leads_out(root, &root.join(name)) {
        return Err(ReadError::Project {
            path: name.to_owned(),
            reason: "it is a link that leads out of the folder".to_owned(),
        });
    }
    add(&mut snapshot, &root.join(name), name.to_owned());
    let Some(text) = snapshot.files.get(name) else {
        let reason = snapshot.left_out.pop().map(|left| left.reason);
        return Err(ReadError::Project {
            path: name.to_owned(),
            reason: reason.unwrap_or_default(),
        });
    };
    let project = DbtProject::parse(name, text)?;
    for folder in project.folders() {
        let is_wanted = |path: &str| has_ending(path, &["yml", "yaml", "sql", "md"]);
        below(&mut snapshot, root, &folder, &project, is_wanted)?;
    }
    for folder in &project.docs {
        below(&mut snapshot, root, folder, &project, |path| {
            has_ending(path, &["md"])
        })?;
    }
    let outside = project.outside.iter().map(|folder| LeftOut {
        path: folder.clone(),
        reason: "it lies outside of the project".to_owned(),
    });
    snapshot.left_out.extend(outside);
    add_artifacts(&mut snapshot, root, &project, artifacts);
    snapshot
        .left_out
        .sort_by(|left, right| left.path.cmp(&right.path));
    snapshot.left_out.dedup();
    Ok(snapshot)
}

fn add_artifacts(
    snapshot: &mut Snapshot,
    root: &Path,
    project: &DbtProject,
    named: &ArtifactFiles,
) {
    let found = |named: &Option<(PathBuf, String)>, name: &str| {
        named.clone().or_else(|| {
            let shown = project.target(name);
            let place = root.join(&shown);
            (place.is_file() && !leads_out(root, &place)).then_some((place, shown))
        })
    };
    let mut artifacts = Artifacts::default();
    let mut left_out = |path: String, reason: String| {
        snapshot.left_out.push(LeftOut { path, reason });
    };
    if let Some((place, shown)) = found(&named.manifest, "manifest.json")
        && let Err(reason) = artifacts.read_manifest(&place, &shown)
    {
        left_out(shown, reason);
    }
    if let Some((place, shown)) = found(&named.catalog, "catalog.json")
        && let Err(reason) = artifacts.read_catalog(&place)
    {
        left_out(shown, reason);
    }
    snapshot.artifacts = artifacts;
}

fn below(
    snapshot: &mut Snapshot,
    root: &Path,
    folder: &str,
    project: &DbtProject,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(), ReadError> {
    let is_foreign = |path: &str| {
        let is_package = |part: &str| ["dbt_packages", "node_modules"].contains(&part);
        let is_within = |folder: &String| {
            let rest = path.strip_prefix(folder.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        path.split('/').any(is_package) || project.written.iter().any(is_within)
    };
    let walked = walk(root, &root.join(folder))?;
    for file in walked.files {
        let path = format!("{folder}/{}", file.path);
        let path = path.trim_start_matches('/').to_owned();
        // Profiles hold credentials, and project files describe no tables.
        let is_other = matches!(stem(&path), "profiles" | "dbt_project") && is_yaml(&path);
        if is_wanted(&path) && !is_foreign(&path) && !is_other {
            add(snapshot, &file.place, path);
        }
    }
    for left in walked.left_out {
        let path = left.place.strip_prefix(root).unwrap_or(&left.place);
        let path = path.display().to_string();
        if !is_foreign(&path) {
            snapshot.left_out.push(LeftOut {
                path,
                reason: left.why.text().to_owned(),
            });
        }
    }
    Ok(())
}

fn project_file(root: &Path) -> Result<&'static str, ReadError> {
    for name in PROJECT_FILES {
        let path = root.join(name);
        match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => return Ok(name),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(FileError::Read { path, source }.into()),
        }
    }
    let root = root.to_owned();
    Err(ReadError::NoProject {
        root,
        kind: FolderKind::Dbt,
    })
}

fn leads_out(root: &Path, place: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path);
    match (real(root), real(place)) {
        (Ok(root), Ok(place)) => !place.starts_with(root),
        _ => false,
    }
}

fn project_of(files: &BTreeMap<String, String>) -> Option<(&str, DbtProject)> {
    PROJECT_FILES.into_iter().find_map(|name| {
        let text = files.get(name)?;
        Some((name, DbtProject::parse(name, text).ok()?))
    })
}
