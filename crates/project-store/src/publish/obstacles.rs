//! Detects what prevents a publish before anything is created.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::tree::Tree;
use super::{Content, PublishError};
use crate::git::{Git, failed};
use crate::{GitError, ProjectPath};

/// Fails for an unusable repository: a new one inside would hide the project from it.
pub(super) fn is_in_repository(git: &Git) -> Result<bool, GitError> {
    let question = ["rev-parse", "--git-dir"];
    let output = git.run(&question, b"")?;
    if !output.status.success() {
        if let Some(entry) = repository_above(git.folder()) {
            return Err(GitError::Unusable {
                message: crate::git::message(&output),
                entry,
            });
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        return if stderr.contains("not a git repository") {
            Ok(false)
        } else {
            Err(failed(&question, &output))
        };
    }
    if git.text(&["rev-parse", "--is-inside-work-tree"])?.trim() != "true" {
        return Ok(true);
    }
    if git.text(&["rev-parse", "--show-prefix"])?.trim().is_empty() {
        return Ok(true);
    }
    Ok(git.query(&["check-ignore", "--quiet", "."], 1)?.is_none())
}

fn repository_above(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let device = |folder: &Path| folder.metadata().map(|found| found.dev()).ok();
    let own = device(&folder);
    folder
        .ancestors()
        .take_while(|above| device(above) == own)
        .map(|above| above.join(".git"))
        .find(|entry| entry.symlink_metadata().is_ok())
}

/// A link on disk leads out of the project; a commit cannot contain a file and a folder of one
/// name.
pub(super) fn require_folders(
    root: &Path,
    changes: &BTreeMap<&ProjectPath, &Content>,
    now: &Tree,
) -> Result<(), PublishError> {
    let folders: BTreeSet<&str> = changes.keys().flat_map(|path| folders_of(path)).collect();
    for folder in folders {
        let Ok(path) = ProjectPath::parse(folder) else {
            continue;
        };
        let gives_way = || matches!(changes.get(&path), Some(Content::Delete));
        let place = path.under(root);
        let in_the_way = || now.contains_key(&path) || place.exists() && !place.is_dir();
        if place.is_symlink() || in_the_way() && !gives_way() {
            return Err(PublishError::NotAFolder { path });
        }
    }
    Ok(())
}

fn folders_of(path: &ProjectPath) -> impl Iterator<Item = &str> {
    let path = path.as_str();
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}
