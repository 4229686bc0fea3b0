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

/// The depth of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScanMode {
    /// Reads only the catalog.
    Structural,
    /// Also reads samples and finds links between tables.
    Relationships,
    /// Also writes descriptions, if there is a runtime.
    Enriched,
}

impl ScanMode {
    /// Returns the spelling in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Structural => "structural",
            Self::Relationships => "relationships",
            Self::Enriched => "enriched",
        }
    }
}

/// Whether the scan returns changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// Return the changes for the caller to publish.
    Publish,
    /// Compute everything, but return no changes.
    DryRun,
}

/// Whether to reuse finished work of earlier runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Skip reading and describing unchanged tables.
    Unchanged,
    /// Redo everything.
    Nothing,
}

/// A request to scan one connection.
#[derive(Clone)]
pub struct ScanRequest {
    pub connection: ConnectionId,
    /// The driver name in `ktx.yaml`.
    pub driver: String,
    /// The connector to the warehouse.
    pub connector: Arc<dyn Connector>,
    /// The part of the warehouse to scan.
    pub scope: Scope,
    /// The depth of the scan.
    pub mode: ScanMode,
    /// The run that the scan belongs to.
    pub run_id: RunId,
    /// The time of the scan.
    pub now: Timestamp,
    /// Whether to return changes.
    pub writing: Writing,
    /// Whether to reuse finished work.
    pub reuse: Reuse,
    pub settings: ScanSettings,
    /// The model runtime, if one is configured.
    pub runtime: Option<Arc<dyn LlmRuntime>>,
    /// The model that describes tables; part of the cache key.
    pub model: String,
    /// The report of the last scan, if it is in the local state.
    pub last_report: Option<ScanReport>,
    /// The current project files.
    pub files: Arc<dyn ProjectFiles>,
    /// The store of finished work.
    pub stages: Arc<dyn StageStore>,
    /// The event listener.
    pub events: Arc<dyn ScanEvents>,
    /// Cancels the scan. Finished work stays in the stage store.
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

/// A file that is not committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    pub path: ProjectPath,
    /// The whole content.
    pub bytes: Vec<u8>,
}

/// The result of a scan. No file is written yet: the caller publishes `changes` in one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanOutcome {
    /// The id of the last scan that found a different structure: this or an earlier one.
    pub sync_id: String,
    /// The changes, sorted by path; empty if there are none or on a dry run.
    pub changes: Vec<Change>,
    /// The changes that a dry run would have returned.
    pub planned: Vec<Change>,
    /// The tables that differ from the last scan.
    pub differences: Vec<TableDifference>,
    /// Files about the run for the local state; empty on a dry run.
    pub local: Vec<LocalFile>,
    /// The report, as written to `scan-report.json`.
    pub report: ScanReport,
    /// Number of statements sent for samples.
    pub profile_statements: usize,
    /// Number of statements sent to check links.
    pub validation_statements: usize,
    /// Number of model calls.
    pub model_calls: usize,
    /// Number of tables whose values were not read, because an earlier scan has read them and the
    /// catalog shows no change.
    pub tables_kept: usize,
    /// This scan, to answer the next one if nothing has changed; `None` if it is not complete. The
    /// caller stores it after publishing.
    pub kept: Option<Box<KeptScan>>,
    /// Why the model stopped early, if it did. Finished work is in `changes`; the next scan
    /// continues with the rest.
    pub paused: Option<Paused>,
    /// Why the scan stopped reading the warehouse early, if it did. The tables read are in
    /// `changes`; the next scan reads the rest.
    pub stopped: Option<Stopped>,
    /// The usage of the warehouse.
    pub spent: Spent,
    /// The status of the warehouse's query history.
    pub history: HistoryRead,
    /// All schemas of the warehouse, including those outside the scope; empty if the driver does
    /// not list them.
    pub schemas: Vec<ListedSchema>,
    /// Sources that this scan renamed.
    pub renamed: Vec<RenamedSource>,
}

/// A complete scan, to answer later ones. It counts only together with the files of the project
/// that it led to.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptScan {
    pub connection: ConnectionId,
    pub(crate) mode: ScanMode,
    /// The digest of everything that the scan depends on, except the files.
    pub(crate) inputs: String,
    pub(crate) report: ScanReport,
}

/// The status of the warehouse's query history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HistoryRead {
    /// Not requested.
    #[default]
    NotWanted,
    /// Requested, but the scan did not reach it.
    NotRun,
    /// Read completely.
    Read,
    /// Could not be read, for this reason.
    Unavailable(String),
}

/// A scan that left part of the warehouse unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    pub reason: StopReason,
    /// Number of unread tables.
    pub tables_left: usize,
    /// Number of those that keep the published values of an earlier scan.
    pub tables_kept: usize,
    /// Number of all tables.
    pub tables: usize,
    /// Number of unchecked links.
    pub links_left: usize,
}

/// A model that stopped during a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paused {
    pub error: LlmError,
    /// Number of tables without a description.
    pub left: usize,
    /// Number of all tables.
    pub tables: usize,
}

/// Why a scan has no result. No file changed; finished work is stored.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The structure could not be read.
    #[error("could not read the structure of `{connection}`")]
    Introspect {
        connection: ConnectionId,
        /// The cause.
        #[source]
        source: WarehouseError,
    },
    /// The model is unusable.
    #[error("the model stopped the scan of `{connection}`")]
    Model {
        connection: ConnectionId,
        /// The cause.
        #[source]
        source: LlmError,
    },
    /// A file of the project could not be read.
    #[error("could not use `{path}`")]
    File {
        path: String,
        /// The cause.
        #[source]
        source: FileError,
    },
    /// The stage store could not be read or written.
    #[error("could not use the store of finished work")]
    State(#[from] StateError),
    /// A name in the warehouse leads to a path outside the project.
    #[error("could not name a file of the scan")]
    Path(#[from] UnsafePath),
    /// The review decisions cannot be read. Continuing would undo them.
    #[error("could not read the review decisions in `{path}`: {reason}")]
    Decisions {
        /// The file.
        path: String,
        /// The cause.
        reason: String,
    },
    /// The warehouse shows none of the tables of an earlier scan. A different database, a different
    /// scope or a lost permission is likelier than the loss of every table.
    #[error("`{connection}` shows no tables, an earlier scan found {known}; ktx changed nothing")]
    Emptied {
        connection: ConnectionId,
        /// Number of tables in the earlier scan.
        known: usize,
    },
    /// The caller stopped the scan.
    #[error("the scan was cancelled")]
    Cancelled,
    /// A bug in ktx.
    #[error("internal fault: {reason}")]
    Internal {
        /// What is wrong.
        reason: String,
    },
}

impl ScanError {
    pub(crate) fn file(path: &str) -> impl FnOnce(FileError) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
