//! Sync folders: the last one, its tables, and the name of the next.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ktx_vocabulary::{ConnectionId, TableRef};
use ktx_warehouse::ScanWarning;

use crate::ports::ProjectFiles;
use crate::request::ScanError;
use crate::structural::wire::{ScanReport, TableArtifact};

/// The folder that holds all sync folders of a connection's scans.
pub(crate) fn syncs_folder(connection: &ConnectionId) -> String {
    format!("raw-sources/{connection}/live-database")
}

/// The last scan, as it stands in the project.
#[derive(Debug, Default)]
pub(crate) struct Previous {
    /// The newest sync folder's name.
    pub(crate) sync_id: Option<String>,
    /// Its tables.
    pub(crate) tables: BTreeMap<TableRef, TableArtifact>,
    /// Its report, when it can be read.
    pub(crate) report: Option<ScanReport>,
    /// All files of all sync folders.
    pub(crate) files: Vec<String>,
    /// Files that could not be understood.
    pub(crate) warnings: Vec<ScanWarning>,
}

impl Previous {
    /// Reads the newest sync folder.
    pub(crate) fn read(
        files: &dyn ProjectFiles,
        connection: &ConnectionId,
    ) -> Result<Self, ScanError> {
        let folder = syncs_folder(connection);
        let paths = files.list(&folder).map_err(ScanError::port(&folder))?;
        let mut previous = Self {
            files: paths,
            ..Self::default()
        };
        let in_folder = |path: &str| {
            path.strip_prefix(&folder)?
                .strip_prefix('/')
                .map(str::to_owned)
        };
        // Names begin with the time: the greatest is the newest.
        previous.sync_id = previous
            .files
            .iter()
            .filter_map(|path| in_folder(path))
            .filter_map(|rest| rest.split_once('/').map(|(sync, _)| sync.to_owned()))
            .max();
        let Some(sync_id) = previous.sync_id.clone() else {
            return Ok(previous);
        };
        let tables = format!("{folder}/{sync_id}/tables/");
        let table_paths: Vec<String> = previous
            .files
            .iter()
            .filter(|path| path.starts_with(&tables))
            .cloned()
            .collect();
        for path in table_paths {
            let bytes = files
                .read(&path)
                .map_err(ScanError::port(&path))?
                .unwrap_or_default();
            match serde_json::from_slice::<TableArtifact>(&bytes) {
                Ok(table) => {
                    previous.tables.insert(table.place(), table);
                }
                Err(error) => previous.warnings.push(ScanWarning {
                    code: "artifact_unreadable".to_owned(),
                    message: format!(
                        "could not read `{path}` of the last scan, its table counts as new: {error}"
                    ),
                    table: None,
                    column: None,
                    recoverable: true,
                }),
            }
        }
        let report = format!("{folder}/{sync_id}/scan-report.json");
        let bytes = files.read(&report).map_err(ScanError::port(&report))?;
        // A report that cannot be read is written anew.
        previous.report = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(previous)
    }
}

/// `YYYY-MM-DD-HHMMSS-local-<milliseconds in base 36>`, in UTC.
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
