//! What a scan needs from outside: the project's files, rows that outlive a run, and a listener.

use crate::ScanEvent;

/// Why a port did not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PortError {
    /// What failed, lower case, no full stop.
    pub message: String,
}

impl PortError {
    /// Makes an error from its text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// The project's files as they are before the scan. Paths are relative to the project, with `/`.
pub trait ProjectFiles: Send + Sync {
    /// The bytes of one file; `None` when there is no such file.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, PortError>;

    /// The paths of all files below `prefix` (a folder, without a closing `/`), sorted.
    fn list(&self, prefix: &str) -> Result<Vec<String>, PortError>;
}

/// Rows that outlive a run, so that finished work is never done twice.
///
/// A put replaces the row. Rows may be lost at any time: the work is then done again.
pub trait StageStore: Send + Sync {
    /// The row with this key.
    fn get(&self, key: &str) -> Result<Option<String>, PortError>;

    /// Writes one row.
    fn put(&self, key: &str, value: &str) -> Result<(), PortError>;
}

/// Listens to the progress of a scan.
pub trait ScanEvents: Send + Sync {
    /// Told of each event, in order. Must return at once.
    fn event(&self, event: ScanEvent);
}

/// Listens to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoScanEvents;

impl ScanEvents for NoScanEvents {
    fn event(&self, _: ScanEvent) {}
}

/// One change to the project's files that the caller publishes. Paths are relative to the project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileChange {
    /// The file has these bytes afterwards.
    Write {
        /// Where.
        path: String,
        /// The whole content.
        bytes: Vec<u8>,
    },
    /// The file is gone afterwards.
    Delete {
        /// Where.
        path: String,
    },
}

impl FileChange {
    /// The file that is changed.
    pub fn path(&self) -> &str {
        match self {
            Self::Write { path, .. } | Self::Delete { path } => path,
        }
    }
}
