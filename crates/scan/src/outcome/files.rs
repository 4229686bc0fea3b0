//! The files of a sync folder: only what says something new is written.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::ports::FileChange;
use crate::request::{ScanError, ScanRequest};
use crate::structural::sync::{Previous, syncs_folder};

/// The files of the sync folder, against those that stand there.
pub(super) struct Files<'a> {
    pub(super) request: &'a ScanRequest,
    pub(super) previous: &'a Previous,
    pub(super) folder: &'a str,
    pub(super) changes: Vec<FileChange>,
    pub(super) paths: BTreeSet<String>,
}

impl Files<'_> {
    /// Puts a file, unless it says the same already, `volatile` keys aside.
    pub(super) fn put(
        &mut self,
        name: &str,
        bytes: Vec<u8>,
        volatile: &[&str],
    ) -> Result<(), ScanError> {
        let path = format!("{}/{name}", self.folder);
        self.paths.insert(path.clone());
        let standing = if self.previous.files.binary_search(&path).is_ok() {
            self.request
                .files
                .read(&path)
                .map_err(ScanError::port(&path))?
        } else {
            None
        };
        let same = standing.is_some_and(|standing| {
            standing == bytes || says_the_same(&standing, &bytes, volatile)
        });
        if !same {
            self.changes.push(FileChange::Write { path, bytes });
        }
        Ok(())
    }

    /// Carries over what this scan did not make anew; gives back all files of enrichment.
    pub(super) fn keep_enrichment(&mut self) -> Result<Vec<String>, ScanError> {
        if let Some(last) = &self.previous.sync_id {
            let old = format!(
                "{}/{last}/enrichment/",
                syncs_folder(&self.request.connection)
            );
            for path in &self.previous.files {
                let Some(name) = path.strip_prefix(&old) else {
                    continue;
                };
                let new = format!("{}/enrichment/{name}", self.folder);
                if self.paths.contains(&new) {
                    continue;
                }
                if new != *path {
                    let bytes = self
                        .request
                        .files
                        .read(path)
                        .map_err(ScanError::port(path))?
                        .unwrap_or_default();
                    self.changes.push(FileChange::Write {
                        path: new.clone(),
                        bytes,
                    });
                }
                self.paths.insert(new);
            }
        }
        let prefix = format!("{}/enrichment/", self.folder);
        Ok(self
            .paths
            .iter()
            .filter(|path| path.starts_with(&prefix))
            .cloned()
            .collect())
    }

    /// The history is in git: one sync folder is enough.
    pub(super) fn remove_older(&mut self) {
        let older = self
            .previous
            .files
            .iter()
            .filter(|path| !self.paths.contains(*path));
        self.changes
            .extend(older.map(|path| FileChange::Delete { path: path.clone() }));
    }
}

fn says_the_same(old: &[u8], new: &[u8], volatile: &[&str]) -> bool {
    let stripped = |bytes: &[u8]| {
        // Bytes that are no JSON are simply different.
        let mut value: Value = serde_json::from_slice(bytes).ok()?;
        let map = value.as_object_mut()?;
        for key in volatile {
            map.shift_remove(*key);
        }
        Some(value)
    };
    match (stripped(old), stripped(new)) {
        (Some(old), Some(new)) => old == new,
        _ => false,
    }
}
