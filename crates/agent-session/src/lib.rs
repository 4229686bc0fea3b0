//! Agents over a project's tools: one question, answered by a model that may look things up, and the report of what
//! it did.
//!
//! This crate must never know which tools there are, who runs the model, or where answers are printed.

mod agent;
mod event;
mod execution;
mod history;
mod inbox;
mod permissions;
mod research;
mod run;
mod session;
mod sessions;

pub use agent::{Agent, MOST_MESSAGES};
pub use event::{
    AgentState, Breakpoint, Call, CallState, CallView, Cause, Decision, DecisionRecord, Effect,
    Event, MessageTokens, Origin, Parent, Phase, Severity, Strategy, TurnEnd,
};
pub use execution::{ExecutionResult, TokenCounts, ToolCall, ToolResult};
pub use history::{AgentRecord, End, History, Label};
pub use inbox::{Delivered, Request};
pub use permissions::{Mode, Permissions, Rule, RuleError, Verdict, Wanted};
pub use research::RESEARCH;
pub use run::{AskError, LONGEST_MESSAGE, Question, invoke_once};
pub use session::{Channels, Clock, Redact, Session, SessionError, Subscription};
pub use sessions::{ForkPoint, Repaired, SessionReport, Sessions};
