//! `raw-sources/<connection>/live-database/`: the last scan of each connection.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use ktx_vocabulary::ConnectionId;

use super::stamp::is_absent;
use super::{Cached, Inner, lock};
use crate::failure::Failure;
use crate::scans::{ScanFiles, ScanSnapshot, read_snapshot};

/// The source key under which scans lie.
const SOURCE_KEY: &str = "live-database";

/// Artifacts of one scan, besides its tables.
const ARTIFACTS: [&str; 3] = [
    "connection.json",
    "scan-report.json",
    "enrichment/relationship-profile.json",
];

/// The last scan's folder and what changes when it does.
pub(super) struct LastScan {
    pub(super) folder: PathBuf,
    pub(super) sync_id: String,
    /// Its artifacts by their path inside the folder, as far as they are there.
    pub(super) artifacts: Vec<String>,
    pub(super) stamp: String,
}

impl Inner {
    /// The last scan; `None` when there is none.
    pub(super) fn last_scan(&self, id: &ConnectionId) -> Result<Option<LastScan>, Failure> {
        let scans = self.layout.raw_source(id, SOURCE_KEY);
        // Names begin with the date and time, so the last name is the last scan.
        for sync_id in self.folders(&scans)?.names.into_iter().rev() {
            let folder = scans.join(&sync_id);
            let mut artifacts = Vec::new();
            let mut stamp = sync_id.clone();
            let mut add = |path: String, its: &str| {
                stamp.extend(["\n", &path, " ", its]);
                artifacts.push(path);
            };
            for path in ARTIFACTS {
                if let Some(its) = self.stamp(&folder.join(path))? {
                    add(path.to_owned(), &its);
                }
            }
            for entry in self.files(&folder.join("tables"))?.entries {
                add(format!("tables/{}", entry.path), &entry.stamp);
            }
            if artifacts.iter().any(|path| path == "connection.json") {
                return Ok(Some(LastScan {
                    folder,
                    sync_id,
                    artifacts,
                    stamp,
                }));
            }
        }
        Ok(None)
    }

    pub(super) fn snapshot(&self, id: &ConnectionId) -> Result<Option<Arc<ScanSnapshot>>, Failure> {
        let Some(last) = self.last_scan(id)? else {
            return Ok(None);
        };
        let known = lock(&self.scans)
            .get(id)
            .filter(|known| known.stamp == last.stamp)
            .map(|known| Arc::clone(&known.value));
        if known.is_some() {
            return Ok(known);
        }
        let mut scan = ScanFiles {
            sync_id: last.sync_id,
            ..ScanFiles::default()
        };
        for path in last.artifacts {
            match fs::read(last.folder.join(&path)) {
                Ok(bytes) => {
                    scan.files.insert(path, bytes);
                }
                Err(error) if is_absent(&error) => {}
                Err(error) => {
                    scan.unreadable.insert(path, error.to_string());
                }
            }
        }
        let snapshot = Arc::new(read_snapshot(&scan));
        let cached = Cached {
            stamp: last.stamp,
            value: Arc::clone(&snapshot),
        };
        lock(&self.scans).insert(id.clone(), cached);
        Ok(Some(snapshot))
    }
}
