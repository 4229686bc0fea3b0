//! When a project was synced, and when it will be again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::lock::{Holder, LockError, ProjectLock, Wait};
use crate::{FileError, Store, read_optional, write_atomically};

const COMMAND: &str = "ktx sync --every";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SyncRound {
    pub started: Timestamp,
    pub ended: Timestamp,
    pub exit: u8,
    pub run_id: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SyncState {
    pub last: Option<SyncRound>,
    /// While a process repeats syncs.
    pub next: Option<Timestamp>,
}

impl Store {
    /// Empty if unreadable; the next sync writes it again.
    pub fn sync_state(&self) -> SyncState {
        let bytes = read_optional(&self.layout().sync_state());
        let bytes = bytes.ok().flatten().unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub fn write_sync_state(&self, state: &SyncState) -> Result<(), FileError> {
        self.local_folder(&self.layout().state())?;
        let text = serde_json::to_string(state).unwrap_or_default();
        write_atomically(&self.layout().sync_state(), text.as_bytes()).map(drop)
    }

    /// Takes the lock of the only process that repeats syncs.
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

    /// Creates nothing.
    pub fn repeats_syncs(&self) -> bool {
        let checked = ProjectLock::check_free(&self.layout().sync_lock());
        matches!(checked, Err(LockError::Held { .. }))
    }
}
