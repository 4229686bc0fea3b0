//! The changed files of a snapshot.

use std::collections::BTreeSet;

use ktx_project_store::{Change, ProjectPath};
use ktx_vocabulary::TableRef;

use crate::profile::read::is_alike;
use crate::request::{ScanError, ScanRequest};
use crate::structural::artifact::{json, table_file};
use crate::structural::sync::{Previous, snapshot_folder};
use crate::wire::TableArtifact;

pub(super) struct Files<'a> {
    request: &'a ScanRequest,
    previous: &'a Previous,
    folder: String,
    pub(super) changes: Vec<Change>,
    paths: BTreeSet<String>,
}

impl<'a> Files<'a> {
    pub(super) fn new(
        request: &'a ScanRequest,
        previous: &'a Previous,
        changes: Vec<Change>,
    ) -> Self {
        Self {
            request,
            previous,
            folder: snapshot_folder(&request.connection),
            changes,
            paths: BTreeSet::new(),
        }
    }

    pub(super) fn put(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), ScanError> {
        let path = format!("{}/{name}", self.folder);
        self.paths.insert(path.clone());
        let is_there = self.previous.files.binary_search(&path).is_ok();
        let standing = if is_there { self.read(&path)? } else { None };
        if standing.as_ref() != Some(&bytes) {
            self.changes
                .push(Change::write(ProjectPath::parse(&path)?, bytes));
        }
        Ok(())
    }

    /// Ignores a small difference in size.
    pub(super) fn put_table(
        &mut self,
        place: &TableRef,
        table: &TableArtifact,
    ) -> Result<(), ScanError> {
        let name = table_file(place);
        let path = format!("{}/{name}", self.folder);
        let known = self.previous.tables.get(place).filter(|known| {
            let of_old = TableArtifact {
                estimated_rows: known.estimated_rows,
                ..table.clone()
            };
            of_old == **known && is_alike(known.estimated_rows, table.estimated_rows)
        });
        if known.is_some() && self.previous.files.binary_search(&path).is_ok() {
            self.paths.insert(path);
            return Ok(());
        }
        self.put(&name, json(table)?)
    }

    pub(super) fn keep(&mut self, name: &str) -> Result<(), ScanError> {
        let Some(standing) = self.previous.standing(name) else {
            return Ok(());
        };
        let path = format!("{}/{name}", self.folder);
        if path != standing {
            let bytes = self.read(&standing)?.unwrap_or_default();
            self.changes
                .push(Change::write(ProjectPath::parse(&path)?, bytes));
        }
        self.paths.insert(path);
        Ok(())
    }

    pub(super) fn enrichment(&self) -> Vec<String> {
        let prefix = format!("{}/enrichment/", self.folder);
        let names = self.paths.iter().filter_map(|path| {
            let name = path.strip_prefix(&prefix)?;
            let first = name.split('/').next().unwrap_or(name);
            Some(format!("{prefix}{first}"))
        });
        let folders: BTreeSet<String> = names.collect();
        folders.into_iter().collect()
    }

    /// Includes the files of older versions.
    pub(super) fn remove_rest(&mut self) -> Result<(), ScanError> {
        for path in &self.previous.files {
            if !self.paths.contains(path) {
                self.changes.push(Change::delete(ProjectPath::parse(path)?));
            }
        }
        Ok(())
    }

    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, ScanError> {
        let read = self.request.files.read(path);
        read.map_err(ScanError::file(path))
    }
}
