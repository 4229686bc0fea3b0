//! `raw-sources/<connection>/live-database/`: the last scan of each connection.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ktx_diagnostics::Failure;
use ktx_vocabulary::ConnectionId;

use super::stamp::{digest_of, is_absent};
use super::{Cached, Inner, lock};
use crate::scans::{ScanFiles, ScanSnapshot, read_snapshot};

const SOURCE_KEY: &str = "live-database";

const REPORT: &str = "scan-report.json";

const ARTIFACTS: [&str; 3] = [
    "connection.json",
    REPORT,
    "enrichment/relationship-profile.json",
];

const FOLDERS: [&str; 3] = ["tables", "enrichment/profiles", "left-out"];

#[derive(Debug)]
pub(super) struct LastScan {
    pub(super) folder: PathBuf,
    pub(super) sync_id: String,
    pub(super) artifacts: Vec<String>,
    pub(super) stamp: String,
    pub(super) digest: String,
}

impl Inner {
    pub(super) fn last_scan(&self, id: &ConnectionId) -> Result<Arc<Option<LastScan>>, Failure> {
        let scans = self.layout.raw_source(id, SOURCE_KEY);
        self.watched(&self.kept_scans, &scans, || self.scan_below(&scans))
    }

    fn scan_below(&self, scans: &Path) -> Result<Option<LastScan>, Failure> {
        let folders = self.folders(scans)?.names;
        if let Some(found) = self.scan_in(scans.to_owned(), SOURCE_KEY)? {
            return Ok(Some(found));
        }
        // Older versions had a folder per scan, with the date and time first in its name.
        for sync_id in folders.into_iter().rev() {
            if let Some(found) = self.scan_in(scans.join(&sync_id), &sync_id)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn scan_in(&self, folder: PathBuf, sync_id: &str) -> Result<Option<LastScan>, Failure> {
        let mut found: Vec<(String, String)> = Vec::new();
        for path in ARTIFACTS {
            if let Some(its) = self.stamp(&folder.join(path))? {
                found.push((path.to_owned(), its));
            }
        }
        if !found.iter().any(|(path, _)| path == "connection.json") {
            return Ok(None);
        }
        for name in FOLDERS {
            for entry in self.files(&folder.join(name))?.entries {
                found.push((format!("{name}/{}", entry.path), entry.stamp));
            }
        }
        let mut stamp = sync_id.to_owned();
        for (path, its) in &found {
            stamp.extend(["\n", path, " ", its]);
        }
        let artifacts = found.into_iter().map(|(path, _)| path).collect();
        Ok(Some(LastScan {
            folder,
            sync_id: sync_id.to_owned(),
            artifacts,
            digest: digest_of(std::iter::once(stamp.as_str())),
            stamp,
        }))
    }

    pub(super) fn snapshot(&self, id: &ConnectionId) -> Result<Option<Arc<ScanSnapshot>>, Failure> {
        match self.limited(id)? {
            Some(limited) => Ok(limited.snapshot.clone()),
            None => self.whole_snapshot(id),
        }
    }

    /// Returns the last scan, ignoring the client's policy.
    pub(super) fn whole_snapshot(
        &self,
        id: &ConnectionId,
    ) -> Result<Option<Arc<ScanSnapshot>>, Failure> {
        let last = self.last_scan(id)?;
        let Some(last) = &*last else {
            return Ok(None);
        };
        let report = self.layout.scan_report(id);
        let mut stamp = last.digest.clone();
        if let Some(its) = self.stamp(&report)? {
            stamp.extend(["\n", &its]);
        }
        let known = lock(&self.scans)
            .get(id)
            .filter(|known| known.stamp == stamp)
            .map(|known| Arc::clone(&known.value));
        if known.is_some() {
            return Ok(known);
        }
        let mut scan = ScanFiles {
            sync_id: last.sync_id.clone(),
            ..ScanFiles::default()
        };
        for path in last.artifacts.iter().cloned() {
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
        // The report stays on its machine: a clone has none.
        if let Ok(bytes) = fs::read(&report) {
            scan.files.entry(REPORT.to_owned()).or_insert(bytes);
        }
        // Unreadable sources hide nothing here.
        let whole = || self.whole_catalog(id).ok();
        let snapshot = Arc::new(self.parts.withheld.snapshot(read_snapshot(&scan), whole));
        let cached = Cached {
            stamp,
            value: Arc::clone(&snapshot),
        };
        lock(&self.scans).insert(id.clone(), cached);
        Ok(Some(snapshot))
    }
}
