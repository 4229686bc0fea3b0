//! A row for each session, kept beside the logs so that a list reads only those that have changed.
//!
//! The logs are the truth. A missing, damaged or older index costs the reading of the logs, never a wrong row: each
//! row names the length and the time of the log that it was made of.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::Path;
use std::time::UNIX_EPOCH;

use ktx_project_store::write_privately;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{LogError, SessionId, SessionStore};

/// The name of the index, beside the folder of the sessions.
const FILE: &str = "index.jsonl";

/// A session and its row, or why there is none.
#[derive(Debug)]
pub struct Indexed<T, E> {
    pub id: SessionId,
    pub row: Result<T, E>,
}

/// What a log looked like when its row was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    bytes: u64,
    /// Nanoseconds since 1970.
    written: u64,
}

/// One line of the index.
#[derive(Debug, Serialize, Deserialize)]
struct Line<T> {
    session: SessionId,
    /// The version of `row`.
    version: u32,
    log: Stamp,
    row: T,
}

impl Stamp {
    fn of(log: &Metadata) -> Option<Self> {
        let written = log.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self {
            bytes: log.len(),
            written: u64::try_from(written.as_nanos()).ok()?,
        })
    }
}

impl SessionStore {
    /// Returns a row for each session, in the order of the ids. `read` makes a row from a log, and is called only for
    /// logs that have changed since the row was made. Rows of another `version` are made again.
    ///
    /// # Errors
    /// [`LogError::Read`] if the folder cannot be listed.
    pub fn indexed<T, E>(
        &self,
        version: u32,
        read: impl Fn(&SessionId) -> Result<T, E>,
    ) -> Result<Vec<Indexed<T, E>>, LogError>
    where
        T: Serialize + DeserializeOwned + Clone,
    {
        let path = self.folder().with_file_name(FILE);
        let mut known = lines::<T>(&path);
        let before = known.len();
        let mut lines = Vec::new();
        let mut rows = Vec::new();
        let mut has_changed = false;
        for id in self.names()? {
            let Some(log) = fs::metadata(self.path(&id)).ok().filter(Metadata::is_file) else {
                continue;
            };
            let stamp = Stamp::of(&log);
            let old = known.remove(&id);
            let old = old.filter(|line| line.version == version && Some(line.log) == stamp);
            if let Some(line) = old {
                rows.push(Indexed {
                    id,
                    row: Ok(line.row.clone()),
                });
                lines.push(line);
                continue;
            }
            has_changed = true;
            let row = read(&id);
            if let (Ok(row), Some(log)) = (&row, stamp) {
                lines.push(Line {
                    session: id.clone(),
                    version,
                    log,
                    row: row.clone(),
                });
            }
            rows.push(Indexed { id, row });
        }
        if has_changed || lines.len() != before {
            keep(&path, &lines);
        }
        Ok(rows)
    }
}

/// The lines that can be read.
fn lines<T: DeserializeOwned>(path: &Path) -> BTreeMap<SessionId, Line<T>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Line<T>>(line).ok());
    lines.map(|line| (line.session.clone(), line)).collect()
}

/// Keeps the index. Without it, the next list is slower and as right.
fn keep<T: Serialize>(path: &Path, lines: &[Line<T>]) {
    let mut bytes = Vec::new();
    for line in lines {
        if serde_json::to_writer(&mut bytes, line).is_err() {
            return;
        }
        bytes.push(b'\n');
    }
    drop(write_privately(path, &bytes));
}
