//! What a scan tells its listener.

use std::sync::Arc;

use ktx_warehouse::ScanWarning;

use crate::estimate::ScanEstimate;
use crate::ports::ScanEvents;
use crate::structural::DiffSummary;

/// The stages of a scan, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScanStage {
    /// Reading the catalog.
    Structure,
    /// Reading samples and computing statistics.
    Profile,
    /// Asking the model for descriptions.
    Descriptions,
    /// Looking for links between tables.
    Relationships,
    /// Composing the files.
    Artifacts,
}

impl ScanStage {
    /// The spelling in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Profile => "profile",
            Self::Descriptions => "descriptions",
            Self::Relationships => "relationships",
            Self::Artifacts => "artifacts",
        }
    }
}

/// One step of progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanEvent {
    /// A stage begins; `total` units of work are ahead, when it is known.
    StageStarted {
        /// The stage.
        stage: ScanStage,
        /// Tables or links to work on.
        total: Option<usize>,
    },
    /// One unit of a stage is done.
    UnitDone {
        /// The stage.
        stage: ScanStage,
        /// The table or link.
        unit: String,
        /// Units done so far.
        done: usize,
        /// All units.
        total: usize,
        /// Whether an earlier run had done it.
        reused: bool,
    },
    /// The catalog was read.
    SchemaRead {
        /// Tables found.
        tables: usize,
        /// Columns found.
        columns: usize,
    },
    /// What a first scan is about to ask.
    Estimated(ScanEstimate),
    /// The structure was compared with the last scan.
    Compared(DiffSummary),
    /// Links were sorted.
    RelationshipsFound {
        /// Links accepted.
        accepted: usize,
        /// Links that a person should decide.
        review: usize,
        /// Candidates turned down.
        rejected: usize,
    },
    /// Something could not be done; the scan goes on.
    Warning(ScanWarning),
    /// The scan is done; nothing is written yet.
    Finished {
        /// Files that the caller has to change.
        changes: usize,
    },
}

/// Writes every event into the log as well.
pub(crate) struct Logged(pub(crate) Arc<dyn ScanEvents>);

impl ScanEvents for Logged {
    fn event(&self, event: ScanEvent) {
        tracing::debug!(?event, "scan");
        self.0.event(event);
    }
}
