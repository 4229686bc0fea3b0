//! The snapshot of a connection in the project.
//!
//! Files keep their paths and hold no data about the run, so that two people who scan different new
//! tables write different files.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ktx_vocabulary::{ConnectionId, TableRef};
use ktx_warehouse::ScanWarning;
use serde_json::Value;

use crate::ports::ProjectFiles;
use crate::request::ScanError;
use crate::wire::{ScanReport, TableArtifact};

const CONNECTION: &str = "connection.json";

pub(crate) fn snapshot_folder(connection: &ConnectionId) -> String {
    format!("raw-sources/{connection}/live-database")
}

#[derive(Debug, Default)]
pub(crate) struct Previous {
    /// The snapshot folder, or an older version's newest folder.
    pub(crate) root: Option<String>,
    pub(crate) tables: BTreeMap<TableRef, TableArtifact>,
    /// Older versions committed it.
    pub(crate) report: Option<ScanReport>,
    /// Includes files of older versions.
    pub(crate) files: Vec<String>,
    pub(crate) warnings: Vec<ScanWarning>,
}

impl Previous {
    pub(crate) fn read(
        files: &dyn ProjectFiles,
        connection: &ConnectionId,
    ) -> Result<Self, ScanError> {
        let folder = snapshot_folder(connection);
        let paths = files.list(&folder).map_err(ScanError::file(&folder))?;
        let mut previous = Self {
            root: root(&folder, &paths),
            files: paths,
            ..Self::default()
        };
        let Some(root) = previous.root.clone() else {
            return Ok(previous);
        };
        for (path, bytes) in previous.read_below(files, "tables/")? {
            match serde_json::from_slice::<TableArtifact>(&bytes) {
                Ok(table) => {
                    previous.tables.insert(table.place(), table);
                }
                Err(error) => {
                    previous
                        .warnings
                        .push(unreadable(&path, "its table counts as new", &error));
                }
            }
        }
        let report = format!("{root}/scan-report.json");
        let bytes = files.read(&report).map_err(ScanError::file(&report))?;
        previous.report = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(previous)
    }

    pub(crate) fn standing(&self, name: &str) -> Option<String> {
        let path = format!("{}/{name}", self.root.as_ref()?);
        self.files.binary_search(&path).is_ok().then_some(path)
    }

    /// `folder` has a trailing `/`.
    pub(crate) fn below(&self, folder: &str) -> impl Iterator<Item = &String> {
        let prefix = self.root.as_ref().map(|root| format!("{root}/{folder}"));
        self.files.iter().filter(move |path| {
            prefix
                .as_ref()
                .is_some_and(|prefix| path.starts_with(prefix.as_str()))
        })
    }

    fn read_below(
        &self,
        files: &dyn ProjectFiles,
        folder: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, ScanError> {
        let read = self.below(folder).map(|path| {
            let bytes = files.read(path).map_err(ScanError::file(path))?;
            Ok((path.clone(), bytes.unwrap_or_default()))
        });
        read.collect()
    }

    /// An unreadable file becomes a warning; `lost` is the text of its effect.
    pub(crate) fn artifacts(
        &self,
        files: &dyn ProjectFiles,
        (whole, folder): (&str, &str),
        lost: &str,
    ) -> Result<Artifacts, ScanError> {
        let mut artifacts = Artifacts::default();
        let mut found = self.read_below(files, folder)?;
        if let Some(path) = self.standing(whole) {
            let bytes = files.read(&path).map_err(ScanError::file(&path))?;
            found.insert(0, (path, bytes.unwrap_or_default()));
        }
        for (path, bytes) in found {
            match serde_json::from_slice::<Value>(&bytes) {
                Ok(value) => artifacts.values.push((path, value)),
                Err(error) => artifacts.warnings.push(unreadable(&path, lost, &error)),
            }
        }
        Ok(artifacts)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Artifacts {
    pub(crate) values: Vec<(String, Value)>,
    pub(crate) warnings: Vec<ScanWarning>,
}

fn root(folder: &str, files: &[String]) -> Option<String> {
    let rest = |path: &String| Some(path.strip_prefix(folder)?.strip_prefix('/')?.to_owned());
    let names: Vec<String> = files.iter().filter_map(rest).collect();
    if names.iter().any(|name| name == CONNECTION) {
        return Some(folder.to_owned());
    }
    // Older folders are named by time.
    let folders = names.iter().filter_map(|name| name.split_once('/'));
    let newest = folders.map(|(folder, _)| folder).max()?;
    Some(format!("{folder}/{newest}"))
}

fn unreadable(path: &str, lost: &str, error: &serde_json::Error) -> ScanWarning {
    ScanWarning {
        code: "artifact_unreadable".to_owned(),
        message: format!("could not read `{path}` of the last scan, {lost}: {error}"),
        table: None,
        column: None,
        recoverable: true,
    }
}

/// Returns `YYYY-MM-DD-HHMMSS-local-<milliseconds in base 36>`, in UTC.
pub(crate) fn sync_id(now: Timestamp) -> String {
    let time = now.to_zoned(TimeZone::UTC);
    format!(
        "{}-local-{}",
        time.strftime("%Y-%m-%d-%H%M%S"),
        base36(now.as_millisecond().unsigned_abs())
    )
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 {
        let digit = u32::try_from(number % 36).unwrap_or(0);
        digits.push(char::from_digit(digit, 36).unwrap_or('0'));
        number /= 36;
    }
    if digits.is_empty() {
        digits.push('0');
    }
    digits.iter().rev().collect()
}
