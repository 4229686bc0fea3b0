//! Scans a warehouse: structure, samples, links between tables, descriptions.
//!
//! A scan returns file changes for the caller to publish, and writes only stage rows. This crate
//! must not depend on ingest, concrete drivers or backends, git or the terminal.

mod budget;
mod describe;
mod difference;
mod estimate;
mod event;
mod history;
mod lanes;
mod links;
mod manifest;
mod outcome;
mod pause;
mod ports;
mod profile;
mod prompts;
mod relationships;
mod request;
mod run;
mod settings;
mod spending;
mod stage_rows;
mod stated;
mod structural;
mod unchanged;
pub mod wire;

pub use budget::{Budget, Spent, StopReason};
pub use difference::{DiffSummary, StructuralChange, TableDifference};
pub use estimate::estimate;
pub use event::{ScanEstimate, ScanEvent, ScanStage};
pub use ktx_relationships::links::decisions::{
    DecidedSide, Decision, Decisions, Verdict, decisions_path,
};
pub use ktx_relationships::settings::{RelationshipSettings, Switch, ValidationBudget};
pub use links::{
    Evidence, Found, FoundLink, Link, STATUSES, Side, decision_about, load_links, name,
    read_decisions, waiting,
};
pub use ports::{NoScanEvents, ProjectFiles, ScanEvents, StageStore};
pub use request::{
    HistoryRead, KeptScan, LocalFile, Paused, Reuse, ScanError, ScanMode, ScanOutcome, ScanRequest,
    Stopped, Writing,
};
pub use run::scan;
pub use settings::{History, PastQuery, People, ScanSettings};
