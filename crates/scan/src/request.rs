//! The request and the outcome of a scan.

use std::sync::Arc;

use jiff::Timestamp;
use ktx_llm_runtime::{LlmError, LlmRuntime};
use ktx_manifest::RenamedSource;
use ktx_project_store::{Change, FileError, ProjectPath, StateError, UnsafePath};
use ktx_vocabulary::{ConnectionId, RunId};
use ktx_warehouse::{Connector, ListedSchema, Scope, WarehouseError};
use tokio_util::sync::CancellationToken;

use crate::budget::{Spent, StopReason};
use crate::difference::TableDifference;
use crate::ports::{ProjectFiles, ScanEvents, StageStore};
use crate::settings::ScanSettings;
use crate::wire::ScanReport;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScanMode {
    /// Reads only the catalog.
    Structural,
    /// Also reads samples and finds links.
    Relationships,
    /// Also writes descriptions, if there is a runtime.
    Enriched,
}

impl ScanMode {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Structural => "structural",
            Self::Relationships => "relationships",
            Self::Enriched => "enriched",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// Changes are returned for the caller to publish.
    Publish,
    DryRun,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    Unchanged,
    Nothing,
}

#[derive(Clone)]
pub struct ScanRequest {
    pub connection: ConnectionId,
    pub driver: String,
    pub connector: Arc<dyn Connector>,
    pub scope: Scope,
    pub mode: ScanMode,
    pub run_id: RunId,
    pub now: Timestamp,
    pub writing: Writing,
    pub reuse: Reuse,
    pub settings: ScanSettings,
    pub runtime: Option<Arc<dyn LlmRuntime>>,
    /// Part of the cache key.
    pub model: String,
    pub last_report: Option<ScanReport>,
    pub files: Arc<dyn ProjectFiles>,
    pub stages: Arc<dyn StageStore>,
    pub events: Arc<dyn ScanEvents>,
    /// Finished work stays in the stage store.
    pub cancel: CancellationToken,
}

impl std::fmt::Debug for ScanRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScanRequest")
            .field("connection", &self.connection)
            .field("driver", &self.driver)
            .field("mode", &self.mode)
            .field("run_id", &self.run_id)
            .finish_non_exhaustive()
    }
}

/// Not committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    pub path: ProjectPath,
    pub bytes: Vec<u8>,
}

/// The result of a scan. The caller publishes `changes` in one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanOutcome {
    /// The id of the last scan that found a different structure.
    pub sync_id: String,
    /// Sorted by path; empty on a dry run.
    pub changes: Vec<Change>,
    pub planned: Vec<Change>,
    pub differences: Vec<TableDifference>,
    /// Empty on a dry run.
    pub local: Vec<LocalFile>,
    /// `scan-report.json`.
    pub report: ScanReport,
    pub profile_statements: usize,
    pub validation_statements: usize,
    pub model_calls: usize,
    /// Unchanged tables, not read again.
    pub tables_kept: usize,
    /// `None` if the scan is incomplete. The caller stores it after publishing.
    pub kept: Option<Box<KeptScan>>,
    /// The next scan continues.
    pub paused: Option<Paused>,
    /// The next scan reads the remaining tables.
    pub stopped: Option<Stopped>,
    pub spent: Spent,
    pub history: HistoryRead,
    /// Includes schemas outside the scope; empty if unknown.
    pub schemas: Vec<ListedSchema>,
    pub renamed: Vec<RenamedSource>,
}

/// Answers later scans while the project's files stay the same.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptScan {
    pub connection: ConnectionId,
    pub(crate) mode: ScanMode,
    /// Excludes the files.
    pub(crate) inputs: String,
    pub(crate) report: ScanReport,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HistoryRead {
    /// Not requested.
    #[default]
    NotWanted,
    /// Requested, but not reached.
    NotRun,
    Read,
    Unavailable(String),
}

/// A scan that left tables unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    pub reason: StopReason,
    pub tables_left: usize,
    /// Unread tables with published values of an earlier scan.
    pub tables_kept: usize,
    pub tables: usize,
    pub links_left: usize,
}

/// A model that stopped during a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paused {
    pub error: LlmError,
    pub left: usize,
    pub tables: usize,
}

/// No file changed; finished work is stored.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    #[error("could not read the structure of `{connection}`")]
    Introspect {
        connection: ConnectionId,
        #[source]
        source: WarehouseError,
    },
    #[error("the model stopped the scan of `{connection}`")]
    Model {
        connection: ConnectionId,
        #[source]
        source: LlmError,
    },
    #[error("could not use `{path}`")]
    File {
        path: String,
        #[source]
        source: FileError,
    },
    #[error("could not use the store of finished work")]
    State(#[from] StateError),
    /// A warehouse name leads out of the project.
    #[error("could not name a file of the scan")]
    Path(#[from] UnsafePath),
    /// Continuing would undo the decisions.
    #[error("could not read the review decisions in `{path}`: {reason}")]
    Decisions { path: String, reason: String },
    /// A different database or a lost permission is likelier than an empty one.
    #[error("`{connection}` shows no tables, an earlier scan found {known}; ktx changed nothing")]
    Emptied {
        connection: ConnectionId,
        known: usize,
    },
    #[error("the scan was cancelled")]
    Cancelled,
    #[error("internal fault: {reason}")]
    Internal { reason: String },
}

impl ScanError {
    pub(crate) fn file(path: &str) -> impl FnOnce(FileError) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
