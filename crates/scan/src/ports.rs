//! The ports of a scan: project files, a store that outlives a run, and an event listener.

use std::sync::Arc;

use ktx_project_store::{FileError, StateError};

use crate::event::ScanEvent;

/// The project's files before the scan. Paths are relative to the project and use `/`.
pub trait ProjectFiles: Send + Sync {
    /// Returns the bytes of a file; `None` if it does not exist.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, FileError>;

    /// Returns a text that stands for all files that a scan reads: while it is the same, so are
    /// they. `None` if that cannot be told without reading them.
    fn stamp(&self) -> Result<Option<String>, FileError>;

    /// Returns the sorted paths of all files below `prefix`, a folder without a trailing `/`.
    fn list(&self, prefix: &str) -> Result<Vec<String>, FileError>;
}

/// Stores rows between runs, so that finished work is never redone.
///
/// A put replaces the row. Rows may be lost at any time; the work is then redone.
pub trait StageStore: Send + Sync {
    /// Returns the row with this key.
    fn get(&self, key: &str) -> Result<Option<String>, StateError>;

    /// Writes one row.
    fn put(&self, key: &str, value: &str) -> Result<(), StateError>;
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

/// Logs all events before it hands them on.
pub(crate) struct LoggingEvents(pub(crate) Arc<dyn ScanEvents>);

impl ScanEvents for LoggingEvents {
    fn event(&self, event: ScanEvent) {
        tracing::debug!(?event, "scan");
        self.0.event(event);
    }
}
