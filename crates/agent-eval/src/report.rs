//! The report of a run, as data, JSON, `JUnit`, Markdown and HTML.

mod build;
mod compare;
mod grid;
mod html;
mod junit;
mod markdown;
mod wire;

pub use build::{Header, PlannedCase, report};
pub use compare::{CaseKey, Changes, changes};
pub use grid::{Grid, arms as arm_grid, side_by_side, verdicts};
pub use html::html;
pub use junit::junit;
pub use markdown::markdown;
pub use wire::{
    AblationArm, AblationReport, AgentInfo, ArmReport, Attempt, CaseReport, LayerInfo,
    MetricResult, Report, Totals, Usage, Verdict,
};
