//! Agent files (`agents/<name>.yaml`) and their cases: parsed with positions, validated and
//! documented from one table.
//!
//! This crate must not depend on tools or backends; the caller passes project facts as
//! [`ProjectFacts`].

mod check;
mod complete;
mod digest;
mod folder;
mod form;
mod load;
mod model;
mod reference;
mod rules;
mod schema;
mod spec;
mod timetable;

pub use folder::{FOLDER, agent_files, agent_path};
pub use form::name_fault;
pub use load::{CheckedFile, has_cases};
pub use model::{
    AgentFile, ArgumentMatcher, Arm, Case, CaseFile, CaseInput, CaseLimits, CatchUp, Claude,
    Context, ContextMeasure, DecimalSign, DocumentSearch, Evaluations, Execution, ExpectedTool,
    ExpectedToolsMode, ExtraColumns, GroundTruth, Instructions, JudgedPart, Limits, McpServer,
    McpTransport, Metric, MetricEntry, Model, NumberPick, OnAsk, OnExpiry, PermissionMode,
    Permissions, RougeVariant, Schedule, ScheduleLimits, SearchMode, Thinking, Timing, Todo, Tool,
    ToolKind, ToolPermission, ToolRule, Turn, Workspace,
};
pub use reference::reference_markdown;
pub use rules::{Capabilities, Embedding, ProjectFacts};
pub use schema::schema;

#[cfg(test)]
mod tests;
