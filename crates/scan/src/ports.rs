//! The ports of a scan: project files, a store that outlives a run, and an event listener.

use crate::ScanEvent;

/// A failure of a port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PortError {
    /// The message, in lower case without a full stop.
    pub message: String,
}

impl PortError {
    /// Creates an error from its message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// The project's files before the scan. Paths are relative to the project and use `/`.
pub trait ProjectFiles: Send + Sync {
    /// Returns the bytes of a file; `None` if it does not exist.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, PortError>;

    /// Returns the sorted paths of all files below `prefix`, a folder without a trailing `/`.
    fn list(&self, prefix: &str) -> Result<Vec<String>, PortError>;
}

/// Stores rows between runs, so that finished work is never redone.
///
/// A put replaces the row. Rows may be lost at any time; the work is then redone.
pub trait StageStore: Send + Sync {
    /// Returns the row with this key.
    fn get(&self, key: &str) -> Result<Option<String>, PortError>;

    /// Writes one row.
    fn put(&self, key: &str, value: &str) -> Result<(), PortError>;
}

/// Receives the progress of a scan.
pub trait ScanEvents: Send + Sync {
    /// Receives each event in order. Must return immediately.
    fn event(&self, event: ScanEvent);
}

/// Ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoScanEvents;

impl ScanEvents for NoScanEvents {
    fn event(&self, _: ScanEvent) {}
}

/// A change to the project's files for the caller to publish. Paths are relative to the project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileChange {
    /// Writes a file.
    Write {
        path: String,
        /// The whole content.
        bytes: Vec<u8>,
    },
    /// Deletes a file.
    Delete { path: String },
}

impl FileChange {
    /// Returns the path of the changed file.
    pub fn path(&self) -> &str {
        match self {
            Self::Write { path, .. } | Self::Delete { path } => path,
        }
    }
}
