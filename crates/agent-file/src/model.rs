//! Agent files and cases as plain data with all defaults.

mod agent;
mod case;
mod metric;
mod tool;
mod work;

pub use agent::{AgentFile, Claude, Evaluations, Execution, Instructions, Model, Thinking};
pub use case::{
    Arm, Case, CaseFile, CaseInput, CaseLimits, ExpectedTool, ExpectedToolsMode, GroundTruth, Turn,
};
pub use metric::{
    ContextMeasure, DecimalSign, ExtraColumns, JudgedPart, Metric, MetricEntry, NumberPick,
    RougeVariant,
};
pub use tool::{
    DocumentSearch, McpServer, McpTransport, SearchMode, Tool, ToolKind, ToolPermission,
};
pub use work::{
    ArgumentMatcher, CatchUp, Context, Limits, OnAsk, OnExpiry, PermissionMode, Permissions,
    Schedule, ScheduleLimits, Timing, Todo, ToolRule, Workspace,
};
