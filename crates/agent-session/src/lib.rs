//! Agents over a project's tools: conversations that survive their process, with every call recorded before it begins
//! and no call begun that the permissions do not allow.
//!
//! This crate must never know which tools there are, who runs the model, or where answers are printed.

mod agent;
mod asking;
mod calls;
mod event;
mod execution;
mod history;
mod inbox;
mod permissions;
mod research;
mod session;
mod sessions;
mod turn;

pub use agent::{Agent, AgentModel, AgentTool, MOST_MESSAGES, Spending};
pub use asking::{Approver, OnAsk, PARK_AFTER};
pub use calls::{LONGEST_CALL, MOST_AT_ONCE};
pub use event::{
    AgentState, Breakpoint, Call, CallState, CallView, Cause, Decision, DecisionRecord, Effect,
    Event, MessageTokens, Origin, Parent, Phase, Severity, Strategy, TurnEnd,
};
pub use execution::{ExecutionResult, TokenCounts, ToolCall, ToolResult};
pub use history::{AgentRecord, End, History, Label};
pub use inbox::{Delivered, Request};
pub use permissions::{Mode, Permissions, Rule, RuleError, Verdict, Wanted};
pub use research::RESEARCH;
pub use session::{Channels, Clock, Redact, Session, SessionError, Subscription};
pub use sessions::{ForkPoint, Repaired, SessionReport, Sessions};
pub use turn::{AskError, LONGEST_MESSAGE, Turn, ask, go_on};

#[cfg(test)]
mod tests;
