//! When a project was synced, and when it will be again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::lock::{Holder, LockError, ProjectLock, Wait};
use crate::{FileError, Store, read_optional, write_atomically};

/// The command that repeats syncs, as its lock names it.
const COMMAND: &str = "ktx sync --every";

/// A sync that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SyncRound {
    pub started: Timestamp,
    pub ended: Timestamp,
    /// Its exit code.
    pub exit: u8,
    pub run_id: String,
}

/// What is known about syncs on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SyncState {
    pub last: Option<SyncRound>,
    /// The time of the next one; of use only while a process repeats them.
    pub next: Option<Timestamp>,
}

impl Store {
    /// Returns what is known about syncs; an empty state if the file cannot be read; the next sync writes it again.
    pub fn sync_state(&self) -> SyncState {
        let bytes = read_optional(&self.layout().sync_state());
        let bytes = bytes.ok().flatten().unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// # Errors
    /// [`FileError`] if the file cannot be written.
    pub fn write_sync_state(&self, state: &SyncState) -> Result<(), FileError> {
        self.local_folder(&self.layout().state())?;
        let text = serde_json::to_string(state).unwrap_or_default();
        write_atomically(&self.layout().sync_state(), text.as_bytes()).map(drop)
    }

    /// Takes the lock of the only process that repeats syncs, held until it ends in any way.
    ///
    /// # Errors
    /// [`LockError::Held`] with the other process.
    pub fn lock_syncs(&self, now: Timestamp) -> Result<ProjectLock, LockError> {
        let path = self.layout().sync_lock();
        self.local_folder(&self.layout().state())
            .map_err(|error| LockError::File {
                path: path.clone(),
                source: std::io::Error::other(error),
            })?;
        let holder = Holder::this_process(COMMAND, Some(now));
        ProjectLock::acquire(&path, &holder, Wait::No)
    }

    /// Returns whether a process repeats syncs. Creates nothing.
    pub fn repeats_syncs(&self) -> bool {
        let checked = ProjectLock::check_free(&self.layout().sync_lock());
        matches!(checked, Err(LockError::Held { .. }))
    }
}
