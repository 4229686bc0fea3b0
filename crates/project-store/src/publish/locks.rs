//! Git's own locks: held ones, and those left by a killed run.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

use super::{PublishError, Publisher, TRIES};
use crate::{GitError, remove};

const LOCK_PAUSE: Duration = Duration::from_millis(50);

impl Publisher {
    /// A running git releases them soon.
    pub(super) fn check_locks(&self) -> Result<(), PublishError> {
        for file in self.locks()? {
            if persists(&file) {
                return Err(GitError::Locked { file }.into());
            }
        }
        Ok(())
    }

    /// Only locks newer than the record, while no git runs in the repository.
    pub(super) fn remove_stale_locks(&self) -> Result<(), PublishError> {
        let record = self.store.layout().publish_record();
        let Some(begun) = changed(&record) else {
            return Ok(());
        };
        let is_ours = |file: &PathBuf| changed(file).is_some_and(|changed| changed >= begun);
        let mut left: Vec<PathBuf> = self.locks()?;
        left.retain(|file| is_ours(file) && persists(file));
        if left.is_empty() || self.is_git_running()? {
            return Ok(());
        }
        for file in left {
            remove(&file)?;
            let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
            removed.push(file);
        }
        Ok(())
    }

    pub fn removed_locks(&self) -> Vec<PathBuf> {
        let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *removed)
    }

    fn locks(&self) -> Result<Vec<PathBuf>, PublishError> {
        let branch = self.base()?.branch;
        let locks = ["index.lock", "HEAD.lock", &format!("{branch}.lock")];
        let mut question = vec!["rev-parse"];
        question.extend(locks.iter().flat_map(|lock| ["--git-path", lock]));
        let places = self.git.text(&question)?;
        let places = places.lines().map(|place| self.git.folder().join(place));
        Ok(places.collect())
    }

    /// A git that waits for an editor does not have the file open.
    fn is_git_running(&self) -> Result<bool, PublishError> {
        let shared = self.git.text(&["rev-parse", "--git-common-dir"])?;
        let folders = [
            self.git.folder().to_owned(),
            self.git.folder().join(shared.trim_end_matches('\n')),
        ];
        let folders: Vec<PathBuf> = folders
            .iter()
            .filter_map(|folder| folder.canonicalize().ok())
            .collect();
        let Ok(mut system) = System::new() else {
            return Ok(true);
        };
        let kind = ProcessRefreshKind::nothing().with_cwd(UpdateKind::Always);
        system.refresh_processes_specifics(ProcessesToUpdate::All, true, kind);
        let is_inside = |place: &Path| folders.iter().any(|folder| place.starts_with(folder));
        Ok(system.processes().values().any(|process| {
            let is_git = process.name().to_string_lossy().starts_with("git");
            is_git && process.cwd().is_some_and(is_inside)
        }))
    }
}

/// True if the lock exists for longer than a moment.
#[expect(
    clippy::disallowed_methods,
    reason = "git does not announce when it releases a lock, and the wait takes milliseconds"
)]
fn persists(file: &Path) -> bool {
    let is_there = || file.symlink_metadata().is_ok();
    for _ in 0..TRIES {
        if !is_there() {
            return false;
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    is_there()
}

fn changed(file: &Path) -> Option<SystemTime> {
    file.symlink_metadata().ok()?.modified().ok()
}
