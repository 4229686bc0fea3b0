//! The report of a run, as data, JSON, `JUnit`, Markdown and HTML.

mod build;
mod compare;
mod grid;
mod html;
mod junit;
mod markdown;
mod wire;

pub use build::{PlannedCase, ReportHeader, report};
pub use compare::{CaseKey, RunChanges, changes};
pub use grid::{Grid, arms as arm_grid, side_by_side, verdicts};
pub use html::html;
pub use junit::junit;
pub use markdown::markdown;
pub use wire::{
    AblationArm, AblationReport, AgentInfo, ArmReport, Attempt, CaseReport, LayerInfo,
    MetricResult, Report, Totals, Usage, Verdict,
};
