//! Agents over a project's tools. Conversations survive their process, every call is recorded
//! before it begins, and permissions decide which begin.
//!
//! This crate must never know which tools there are, who runs the model, or where answers are
//! printed.

mod agent;
mod approvals;
mod backend;
mod calls;
mod compaction;
mod delegation;
mod event;
mod execution;
mod history;
mod inbox;
mod manuals;
mod monitor;
mod permissions;
mod pool;
mod previews;
mod reminders;
mod research;
mod room;
mod schedule;
mod session;
mod sessions;
mod settings;
mod todo;
mod turn;

pub use agent::{
    Agent, AgentModel, AgentTool, MOST_ASKED_AT_ONCE, MOST_MESSAGES, Spending, ToolSource,
};
pub use approvals::{Approver, OnAsk, PARK_AFTER};
pub use backend::{
    AgentBackend, AgentMove, AgentSession, AgentSessionError, AgentStage, Equipment, Exchange,
    Fresh, IllegalMove, SessionSettings, ToolsRequest, TurnStart,
};
pub use calls::{LONGEST_CALL, MOST_AT_ONCE};
pub use compaction::{Compaction, CompactionMethod, ContextSettings};
pub use delegation::{ASK_AGENT, Delegate, Delegates, Delegation, MOST_LEVELS};
pub use event::schema::event_schema;
pub use event::{
    AgentState, Breakpoint, Call, CallState, CallView, Cause, CompressionPhase, Decision,
    DecisionRecord, Effect, Event, MessageTokens, Origin, Parent, Phase, Severity, Strategy,
    SubagentState, TurnEnd,
};
pub use execution::{ExecutionResult, TokenCounts, ToolCall, ToolResult};
pub use history::{AgentRecord, End, History, Label};
pub use inbox::{Delivered, Request};
pub use permissions::{Mode, OnExpiry, Permissions, Rule, RuleError, ToolRequest, Verdict};
pub use pool::{
    Accepted, Activity, Continued, Host, Joined, Pool, PoolError, PoolLimits, Ready, ShutdownReport,
};
pub use previews::{Preview, Previews};
pub use research::RESEARCH;
pub use room::{MOST_HOPS, Member, Room, RoomAnswer, RoomError, RoomOrigin, RoomReport, Talk};
pub use schedule::{
    Alone, CatchUp, Firing, JournalEntry, LastFiring, ON_TIME, Scheduled, Scheduler, Skipped, Tick,
    Trigger, TriggerKind, Unattended, WhySkipped,
};
pub use session::{Channels, Clock, Redact, Session, SessionError, Subscription, envelope};
pub use sessions::{ForkPoint, Repaired, SessionReport, Sessions};
pub use settings::{AgentSettings, AgentThinking};
pub use todo::{TODO_TOOLS, Task, TaskStatus};
pub use turn::{AskError, LONGEST_MESSAGE, Question, Turn, WaitingCall, ask, check_message, go_on};

#[cfg(test)]
mod tests;
