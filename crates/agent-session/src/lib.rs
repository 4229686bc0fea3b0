//! Agents over a project's tools: one question, answered by a model that may look things up, and the report of what
//! it did.
//!
//! This crate must never know which tools there are, who runs the model, or where answers are printed.

mod execution;
mod research;
mod run;

pub use execution::{ExecutionResult, TokenCounts, ToolCall, ToolResult};
pub use research::RESEARCH;
pub use run::{AskError, LONGEST_MESSAGE, Question, invoke_once};
