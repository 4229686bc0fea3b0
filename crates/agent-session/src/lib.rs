//! Agents over a project's tools: one question, answered by a model that may look things up, and the report of what
//! it did.
//!
//! This crate must never know which tools there are, who runs the model, or where answers are printed.

mod calls;
mod event;
mod execution;
mod history;
mod research;
mod run;
mod session;

pub use calls::{LONGEST_CALL, MOST_AT_ONCE, recorded};
pub use event::{Call, CallState, Effect, Event, Parent, TurnEnd};
pub use execution::{ExecutionResult, TokenCounts, ToolCall, ToolResult};
pub use history::History;
pub use research::RESEARCH;
pub use run::{AskError, LONGEST_MESSAGE, Question, ask, invoke_once};
pub use session::{Clock, Session, SessionError};

#[cfg(test)]
mod tests;
