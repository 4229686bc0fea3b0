//! `raw-sources/<connection>/live-database/`: the last scan of each connection.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use ktx_vocabulary::ConnectionId;

use super::stamp::{files, folders, is_absent, stamp, unreadable};
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
    pub(super) stamp: String,
}

impl Inner {
    /// The last scan; `None` when there is none.
    pub(super) fn last_scan(&self, id: &ConnectionId) -> Result<Option<LastScan>, Failure> {
        let scans = self.layout.raw_source(id, SOURCE_KEY);
        // Names begin with the date and time, so the last name is the last scan.
        for sync_id in folders(&scans)?.into_iter().rev() {
            let folder = scans.join(&sync_id);
            let tables = stamp(&folder.join("tables"))?;
            let mut stamps = vec![sync_id.clone(), tables.unwrap_or_default()];
            let mut whole = false;
            for artifact in ARTIFACTS {
                let found = stamp(&folder.join(artifact))?;
                whole |= artifact == "connection.json" && found.is_some();
                stamps.push(found.unwrap_or_default());
            }
            if whole {
                return Ok(Some(LastScan {
                    folder,
                    sync_id,
                    stamp: stamps.join(" "),
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
        let mut paths: Vec<String> = ARTIFACTS.iter().map(|path| (*path).to_owned()).collect();
        let tables = files(&last.folder.join("tables"))?;
        paths.extend(
            tables
                .into_iter()
                .map(|entry| format!("tables/{}", entry.path)),
        );
        let mut contents = BTreeMap::new();
        for path in paths {
            let file = last.folder.join(&path);
            match fs::read(&file) {
                Ok(bytes) => {
                    contents.insert(path, bytes);
                }
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(unreadable(&file, &error)),
            }
        }
        let scan = ScanFiles {
            sync_id: last.sync_id,
            files: contents,
        };
        let snapshot = Arc::new(read_snapshot(&scan));
        let cached = Cached {
            stamp: last.stamp,
            value: Arc::clone(&snapshot),
        };
        lock(&self.scans).insert(id.clone(), cached);
        Ok(Some(snapshot))
    }
}
