//! An index of sessions, so that a list reads only changed logs.
//!
//! Each row has the length and the time of its log. A missing, damaged or old index costs time but
//! never gives a wrong row.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::Path;
use std::time::UNIX_EPOCH;

use ktx_project_store::write_privately;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{LogError, SessionId, SessionStore};

/// Beside the folder of the sessions.
const FILE: &str = "index.jsonl";

#[derive(Debug)]
pub struct Indexed<T, E> {
    pub id: SessionId,
    pub row: Result<T, E>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    bytes: u64,
    /// Nanoseconds since 1970.
    written: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line<T> {
    session: SessionId,
    /// Format version of `row`.
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
    /// Returns a row per session, by id. Calls `read` only for changed logs and rows of another
    /// `version`.
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

fn lines<T: DeserializeOwned>(path: &Path) -> BTreeMap<SessionId, Line<T>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Line<T>>(line).ok());
    lines.map(|line| (line.session.clone(), line)).collect()
}

/// Without the index, the next list is only slower.
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
