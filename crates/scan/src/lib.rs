//! The scan of a warehouse: structure, samples, the data dictionary, links between tables, descriptions.
//!
//! A scan reads through the connector and answers with a set of file changes; the caller publishes
//! them in one commit. Nothing is written here but stage rows, by which an interrupted scan goes on
//! where it stopped and an unchanged table costs nothing. This crate must never know ingest, concrete
//! drivers, concrete backends, git or the terminal.

mod describe;
mod event;
mod manifest;
mod names;
mod outcome;
mod ports;
mod profile;
mod prompts;
mod relationships;
mod request;
mod run;
mod settings;
mod stage_rows;
mod structural;
mod types;

pub use event::{ScanEvent, ScanStage};
pub use ports::{FileChange, NoScanEvents, PortError, ProjectFiles, ScanEvents, StageStore};
pub use relationships::decisions::{DecidedSide, Decision, Decisions, Verdict, decisions_path};
pub use request::{Reuse, ScanError, ScanMode, ScanOutcome, ScanRequest, ScanTrigger, Writing};
pub use run::scan;
pub use settings::{RelationshipSettings, ScanSettings, Switch, ValidationBudget};
pub use structural::DiffSummary;
pub use structural::wire;
