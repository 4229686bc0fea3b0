//! The events of a scan.

use ktx_warehouse::ScanWarning;

use crate::difference::DiffSummary;

/// In order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScanStage {
    Structure,
    Profile,
    Descriptions,
    Relationships,
    Artifacts,
}

impl ScanStage {
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

/// Row counts are from the catalog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanEstimate {
    pub tables: usize,
    pub columns: usize,
    /// Unchanged tables with stored samples.
    pub reused: usize,
    /// Excludes tables of unknown size.
    pub rows: u64,
    pub unknown_sizes: usize,
    /// All rows of small tables, samples of large ones.
    pub rows_read: u64,
    pub statements: usize,
    pub statements_at_most: usize,
    pub checks_at_most: usize,
    pub bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanEvent {
    StageStarted {
        stage: ScanStage,
        total: Option<usize>,
    },
    UnitDone {
        stage: ScanStage,
        unit: String,
        done: usize,
        total: usize,
        reused: bool,
    },
    SchemaRead {
        tables: usize,
        columns: usize,
    },
    Estimated(ScanEstimate),
    Compared(DiffSummary),
    RelationshipsFound {
        accepted: usize,
        /// For a person to decide.
        review: usize,
        rejected: usize,
    },
    Warning(ScanWarning),
    /// No file is written yet.
    Finished {
        changes: usize,
    },
}
