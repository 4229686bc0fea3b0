//! The events of a scan.

use ktx_warehouse::ScanWarning;

use crate::difference::DiffSummary;

/// The stages of a scan, in order.
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
    /// Returns the spelling in reports.
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

/// The estimated cost of a scan. Row counts are from the catalog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanEstimate {
    /// Number of tables and views.
    pub tables: usize,
    /// Number of their columns.
    pub columns: usize,
    /// Number of unchanged tables whose samples an earlier scan has read.
    pub reused: usize,
    /// Rows of all tables of known size.
    pub rows: u64,
    /// Number of tables of unknown size.
    pub unknown_sizes: usize,
    /// Rows to read: all of small tables, samples of large ones.
    pub rows_read: u64,
    /// Minimum statements that read samples.
    pub statements: usize,
    /// Maximum statements that read samples.
    pub statements_at_most: usize,
    /// Maximum statements that check links.
    pub checks_at_most: usize,
    /// Bytes billed for the samples, if the warehouse provides estimates.
    pub bytes: Option<u64>,
}

/// One progress event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanEvent {
    /// A stage begins.
    StageStarted {
        stage: ScanStage,
        /// Number of tables or links to process, if known.
        total: Option<usize>,
    },
    /// One unit of a stage is done.
    UnitDone {
        stage: ScanStage,
        /// The table or link.
        unit: String,
        /// Units done so far.
        done: usize,
        /// Total units.
        total: usize,
        /// Whether the result is from an earlier run.
        reused: bool,
    },
    /// The catalog was read.
    SchemaRead {
        /// Number of tables.
        tables: usize,
        /// Number of columns.
        columns: usize,
    },
    /// The estimate of a first scan.
    Estimated(ScanEstimate),
    /// The structure was compared with the last scan.
    Compared(DiffSummary),
    /// Links were classified.
    RelationshipsFound {
        /// Number of accepted links.
        accepted: usize,
        /// Number of links that a person should decide.
        review: usize,
        /// Number of rejected candidates.
        rejected: usize,
    },
    /// A step failed; the scan continues.
    Warning(ScanWarning),
    /// The scan is done; no file is written yet.
    Finished {
        /// Number of files that the caller has to change.
        changes: usize,
    },
}
