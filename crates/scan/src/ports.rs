//! Ports: project files, stored work, events.

use std::sync::Arc;

use ktx_project_store::{FileError, StateError};

use crate::event::ScanEvent;

/// Paths are relative to the project and use `/`.
pub trait ProjectFiles: Send + Sync {
    /// Returns `None` if the file does not exist.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, FileError>;

    /// Returns a fingerprint of all files that a scan reads; `None` if it cannot be computed
    /// without reading them.
    fn stamp(&self) -> Result<Option<String>, FileError>;

    /// Returns sorted paths of all files below `prefix`, a folder without a trailing `/`.
    fn list(&self, prefix: &str) -> Result<Vec<String>, FileError>;
}

/// Stores rows between runs. A lost row only causes its work to be redone.
pub trait StageStore: Send + Sync {
    fn get(&self, key: &str) -> Result<Option<String>, StateError>;

    fn put(&self, key: &str, value: &str) -> Result<(), StateError>;
}

/// Receives the progress of a scan.
pub trait ScanEvents: Send + Sync {
    /// Must return immediately.
    fn event(&self, event: ScanEvent);
}

#[derive(Debug, Clone, Copy, Default)]
pub struct NoScanEvents;

impl ScanEvents for NoScanEvents {
    fn event(&self, _: ScanEvent) {}
}

pub(crate) struct LoggingEvents(pub(crate) Arc<dyn ScanEvents>);

impl ScanEvents for LoggingEvents {
    fn event(&self, event: ScanEvent) {
        tracing::debug!(?event, "scan");
        self.0.event(event);
    }
}
