//! What is asked of a scan and what it answers.

use std::sync::Arc;

use jiff::Timestamp;
use ktx_llm_runtime::{LlmError, LlmRuntime};
use ktx_vocabulary::{ConnectionId, RunId};
use ktx_warehouse::{Connector, ListedSchema, Scope, WarehouseError};
use tokio_util::sync::CancellationToken;

use crate::ports::{FileChange, PortError, ProjectFiles, ScanEvents, StageStore};
use crate::settings::ScanSettings;
use crate::spending::{Spent, StopReason};
use crate::structural::TableDifference;
use crate::structural::wire::ScanReport;

/// How much a scan does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScanMode {
    /// Reads the catalog only.
    Structural,
    /// Reads samples too, and finds links between tables.
    Relationships,
    /// Also writes descriptions, when there is a runtime.
    Enriched,
}

impl ScanMode {
    /// The spelling in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Structural => "structural",
            Self::Relationships => "relationships",
            Self::Enriched => "enriched",
        }
    }
}

/// Who started a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanTrigger {
    /// The command line.
    Cli,
    /// An MCP tool.
    Mcp,
    /// A timetable.
    Scheduled,
    /// Anything else.
    Manual,
}

impl ScanTrigger {
    /// The spelling in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Mcp => "mcp",
            Self::Scheduled => "scheduled",
            Self::Manual => "manual",
        }
    }
}

/// Whether the changes are meant to be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// The caller publishes the changes.
    Publish,
    /// Everything is computed, no change is handed out.
    DryRun,
}

/// Whether finished work of earlier runs is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Unchanged tables are not read or described again.
    Unchanged,
    /// Everything is done anew.
    Nothing,
}

/// Asks for one scan of one connection.
#[derive(Clone)]
pub struct ScanRequest {
    /// The connection.
    pub connection: ConnectionId,
    /// The driver as `ktx.yaml` names it.
    pub driver: String,
    /// The warehouse.
    pub connector: Arc<dyn Connector>,
    /// Which part of the warehouse.
    pub scope: Scope,
    /// How much to do.
    pub mode: ScanMode,
    /// Who asks.
    pub trigger: ScanTrigger,
    /// The run that the scan belongs to.
    pub run_id: RunId,
    /// The time of the scan.
    pub now: Timestamp,
    /// Whether changes are handed out.
    pub writing: Writing,
    /// Whether finished work is used again.
    pub reuse: Reuse,
    /// The settings.
    pub settings: ScanSettings,
    /// The model, when one is configured.
    pub runtime: Option<Arc<dyn LlmRuntime>>,
    /// The name of the model behind the role that describes tables; part of the cache key.
    pub model: String,
    /// The report of the last scan, as far as the local state has one.
    pub last_report: Option<ScanReport>,
    /// The project's files as they are.
    pub files: Arc<dyn ProjectFiles>,
    /// Rows of finished work.
    pub stages: Arc<dyn StageStore>,
    /// The listener.
    pub events: Arc<dyn ScanEvents>,
    /// Stops the scan; finished work stays in the stage store.
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
    /// Where, relative to the project.
    pub path: String,
    /// The whole content.
    pub bytes: Vec<u8>,
}

/// What a scan found. Nothing is written: the caller publishes `changes` in one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanOutcome {
    /// The id of the scan that last found another structure: this one, or an earlier one.
    pub sync_id: String,
    /// The changes, sorted by path; empty when nothing changed or on a dry run.
    pub changes: Vec<FileChange>,
    /// The changes that a dry run does not hand out.
    pub planned: Vec<FileChange>,
    /// The tables that are not as they were.
    pub differences: Vec<TableDifference>,
    /// What tells about the run and belongs into the local state; empty on a dry run.
    pub local: Vec<LocalFile>,
    /// The report, as it stands in `scan-report.json`.
    pub report: ScanReport,
    /// Statements sent for samples.
    pub profile_statements: usize,
    /// Statements sent to check links.
    pub validation_statements: usize,
    /// Calls of the model.
    pub model_calls: usize,
    /// Why the model stopped in the middle, when it did. Everything that was finished before is in
    /// `changes`, and the next scan asks only for the rest.
    pub paused: Option<Paused>,
    /// Why the warehouse was not read to the end, when it was not. What was read is in `changes`, and
    /// the next scan reads only the rest.
    pub stopped: Option<Stopped>,
    /// What was spent in the warehouse.
    pub spent: Spent,
    /// What became of the warehouse's record of past queries.
    pub history: HistoryRead,
    /// The schemas of the warehouse, those that were left out included; empty where the driver does not
    /// tell.
    pub schemas: Vec<ListedSchema>,
    /// Sources that are called otherwise from now on.
    pub renamed: Vec<RenamedSource>,
}

/// A source whose short name was given up: another table of that name has come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenamedSource {
    /// What it was called.
    pub before: String,
    /// What it is called now.
    pub now: String,
}

/// What became of the warehouse's record of past queries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HistoryRead {
    /// It was not wanted.
    #[default]
    NotWanted,
    /// It was wanted, and the scan did not come to it.
    NotRun,
    /// It was read.
    Read,
    /// It could not be read, for this reason.
    Unavailable(String),
}

/// A scan that left a part of the warehouse unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// Why.
    pub reason: StopReason,
    /// Tables that were not read.
    pub tables_left: usize,
    /// Those of them that keep what an earlier scan has published about their values.
    pub tables_kept: usize,
    /// All tables.
    pub tables: usize,
    /// Links that could not be checked.
    pub links_left: usize,
}

/// A model that stopped in the middle of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paused {
    /// What it said.
    pub error: LlmError,
    /// Tables that are not described yet.
    pub left: usize,
    /// All tables.
    pub tables: usize,
}

/// Why a scan ended without a result. Nothing has changed then; finished work is kept.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The structure could not be read.
    #[error("could not read the structure of `{connection}`")]
    Introspect {
        /// The connection.
        connection: ConnectionId,
        /// Why.
        #[source]
        source: WarehouseError,
    },
    /// The model cannot be used at all.
    #[error("the model stopped the scan of `{connection}`")]
    Model {
        /// The connection.
        connection: ConnectionId,
        /// Why.
        #[source]
        source: LlmError,
    },
    /// The project's files or the stage store could not be read or written.
    #[error("could not use `{what}`")]
    Port {
        /// The file or row.
        what: String,
        /// Why.
        #[source]
        source: PortError,
    },
    /// The review decisions cannot be read; going on would undo them.
    #[error("could not read the review decisions in `{path}`: {reason}")]
    Decisions {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The warehouse shows nothing of what an earlier scan found: more likely another database, another
    /// scope or a lost right than the end of every table.
    #[error("`{connection}` shows no tables, an earlier scan found {known}; nothing was changed")]
    Emptied {
        /// The connection.
        connection: ConnectionId,
        /// Tables of the earlier scan.
        known: usize,
    },
    /// The caller stopped the scan.
    #[error("the scan was cancelled")]
    Cancelled,
    /// A fault of ours.
    #[error("internal fault: {reason}")]
    Internal {
        /// What is wrong.
        reason: String,
    },
}

impl ScanError {
    /// Wraps a failure of a port.
    pub(crate) fn port(what: &str) -> impl FnOnce(PortError) -> Self + use<> {
        let what = what.to_owned();
        move |source| Self::Port { what, source }
    }
}
