//! The events of a session.

mod call;
pub(crate) mod schema;

use jiff::Timestamp;
use ktx_llm_runtime::Message;
use ktx_session_log::{Channel, SessionId};
use ktx_vocabulary::RunId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compaction::Compaction;
use crate::room::RoomOrigin;
use crate::schedule::Trigger;
use crate::todo::Task;

pub use call::{Call, CallState, CallView, Decision, DecisionRecord, Effect};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A person or a program, beginning a turn.
    User,
    Model,
    /// Results of calls.
    Tools,
    /// A person, during a turn.
    Queued,
    /// A note of `ktx` to the model.
    Reminder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnEnd {
    Completed,
    Interrupted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    User,
    Parked,
    /// Turns, money or time are used up.
    Budget,
    Failed,
}

/// What an agent is doing (KODE-42).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AgentState {
    Ready,
    Working,
    Paused,
}

/// The stages of a step (KODE-51). The log has each stage before its work begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Breakpoint {
    /// No turn is open.
    #[default]
    Ready,
    /// The model has not been asked.
    PreModel,
    StreamingModel,
    /// None of the model's calls has begun.
    ToolPending,
    AwaitingApproval,
    /// An allowed call is about to begin.
    PreTool,
    ToolExecuting,
    /// The log has all results of the step.
    PostTool,
}

impl Breakpoint {
    /// Returns the name for kill tests, such as `session:PRE_MODEL`.
    pub(crate) const fn failpoint(self) -> &'static str {
        match self {
            Self::Ready => "session:READY",
            Self::PreModel => "session:PRE_MODEL",
            Self::StreamingModel => "session:STREAMING_MODEL",
            Self::ToolPending => "session:TOOL_PENDING",
            Self::AwaitingApproval => "session:AWAITING_APPROVAL",
            Self::PreTool => "session:PRE_TOOL",
            Self::ToolExecuting => "session:TOOL_EXECUTING",
            Self::PostTool => "session:POST_TOOL",
        }
    }
}

/// How a resumed session treats calls that its last process left open (KODE-52).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Closes them; their effect is unknown.
    Crash,
    Manual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Model,
    Tool,
    System,
    Lifecycle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompressionPhase {
    Start,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warn,
    Error,
}

/// The source of a copy, or the caller of a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parent {
    Copy {
        session: SessionId,
        /// The last copied record.
        seq: u64,
    },
    /// The caller of a sub-agent.
    Call { session: SessionId, call: String },
}

impl Parent {
    pub const fn session(&self) -> &SessionId {
        match self {
            Self::Copy { session, .. } | Self::Call { session, .. } => session,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubagentState {
    Working,
    Answered,
    Failed,
    Parked,
    Interrupted,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageTokens {
    /// The run that the usage ledger accounts the message to.
    pub run_id: RunId,
    pub message_id: String,
    pub model: String,
    /// Uncached input.
    pub input_tokens: u64,
    pub cache_creation_input_tokens: u64,
    pub cache_read_input_tokens: u64,
    pub output_tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    SessionOpened {
        format: u64,
        session: SessionId,
        agent: String,
        /// Digest of the agent's snapshot.
        #[serde(default)]
        agent_digest: String,
        #[serde(default)]
        agent_snapshot: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
    },
    /// The session continues with another agent.
    AgentAdopted {
        agent_digest: String,
        agent_snapshot: Value,
    },
    /// A message of the conversation.
    Message {
        message: Message,
        origin: Origin,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        room: Option<RoomOrigin>,
        /// True if the model was stopped within it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
    },
    Call(Call),
    /// The model is done; its answer is not structured yet.
    Answered,
    StructuredOutput {
        value: Value,
    },
    Renamed {
        name: String,
    },
    Snapshot {
        label: String,
        seq: u64,
    },
    /// A request of another process.
    InboxTaken {
        uuid: String,
    },

    ThinkChunkStart,
    ThinkChunk {
        delta: String,
    },
    ThinkChunkEnd,
    TextChunkStart,
    TextChunk {
        delta: String,
    },
    TextChunkEnd {
        text: String,
    },
    #[serde(rename = "tool:start")]
    ToolStart {
        call: CallView,
    },
    #[serde(rename = "tool:end")]
    ToolEnd {
        call: CallView,
    },
    #[serde(rename = "tool:error")]
    ToolError {
        call: CallView,
        error: String,
    },
    Done {
        reason: TurnEnd,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },

    PermissionRequired {
        call: CallView,
        /// When the decision expires; never if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<Timestamp>,
        /// The sub-agent's session; this one if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
    },
    PermissionDecided(DecisionRecord),

    StateChanged {
        state: AgentState,
    },
    StepComplete {
        step: u32,
    },
    Error {
        severity: Severity,
        phase: Phase,
        message: String,
    },
    TokenUsage(MessageTokens),
    /// A call is over; for audits.
    ToolExecuted {
        call: CallView,
        /// The decision, if the call needed one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<DecisionRecord>,
    },
    /// A later process resumed the session (KODE-52).
    AgentResumed {
        strategy: Strategy,
        sealed: Vec<String>,
    },
    BreakpointChanged {
        previous: Breakpoint,
        current: Breakpoint,
    },
    /// The provider reported how much of a rate limit is used.
    RateLimitObserved {
        /// Such as `five_hour`.
        window: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        utilization: Option<f64>,
        /// Unix seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resets_at: Option<i64>,
    },
    RateLimitRefused {
        window: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resets_at: Option<i64>,
    },
    RateLimitWaitStarted {
        reason: String,
        duration_ms: u64,
    },
    RateLimitWaitTick {
        reason: String,
        remaining_ms: u64,
    },
    RateLimitWaitFinished,
    Retry {
        attempt: u32,
        code: String,
    },
    /// The model's program has only the agent's tools.
    IsolationVerified {
        version: String,
    },
    Status {
        text: String,
    },
    Compaction(Compaction),
    ContextCompression {
        phase: CompressionPhase,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ratio: Option<f64>,
    },
    /// The model now reads the manuals of other tools (KODE-65).
    ToolManualUpdated {
        tools: Vec<String>,
    },
    /// A file that the agent has read has changed (KODE-67).
    FileChanged {
        path: String,
    },
    ToolCustomEvent {
        call_id: String,
        event: String,
        data: Value,
    },
    TodoReminder {
        tasks: Vec<Task>,
    },
    TodoChanged {
        current: Vec<Task>,
        previous: Vec<Task>,
    },
    ReminderSent {
        category: String,
        content: String,
    },
    /// The room reached its limit of forwarded messages; this session gets no more.
    RoomStopped {
        room: String,
        hop: u32,
    },
    SchedulerTriggered(Trigger),
    Subagent {
        session: SessionId,
        agent: String,
        call: String,
        state: SubagentState,
    },
    /// A message waits for the next step or the end of the turn.
    Queued {
        message: String,
        /// The sender's idempotency key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The turn that answers it, as its sender knows it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
    },
    /// An event of a newer version.
    #[serde(other)]
    Unknown,
}

impl Event {
    pub const fn channel(&self) -> Channel {
        match self {
            Self::SessionOpened { .. }
            | Self::AgentAdopted { .. }
            | Self::Message { .. }
            | Self::Call(_)
            | Self::Answered
            | Self::Compaction(_)
            | Self::StructuredOutput { .. }
            | Self::Renamed { .. }
            | Self::Snapshot { .. }
            | Self::InboxTaken { .. }
            | Self::Unknown => Channel::State,
            Self::ThinkChunkStart
            | Self::ThinkChunk { .. }
            | Self::ThinkChunkEnd
            | Self::TextChunkStart
            | Self::TextChunk { .. }
            | Self::TextChunkEnd { .. }
            | Self::ToolStart { .. }
            | Self::ToolEnd { .. }
            | Self::ToolError { .. }
            | Self::Done { .. } => Channel::Progress,
            Self::PermissionRequired { .. } | Self::PermissionDecided(_) => Channel::Control,
            Self::StateChanged { .. }
            | Self::StepComplete { .. }
            | Self::Error { .. }
            | Self::TokenUsage(_)
            | Self::ToolExecuted { .. }
            | Self::AgentResumed { .. }
            | Self::BreakpointChanged { .. }
            | Self::ContextCompression { .. }
            | Self::ToolManualUpdated { .. }
            | Self::FileChanged { .. }
            | Self::ToolCustomEvent { .. }
            | Self::TodoReminder { .. }
            | Self::TodoChanged { .. }
            | Self::ReminderSent { .. }
            | Self::RoomStopped { .. }
            | Self::SchedulerTriggered(_)
            | Self::Subagent { .. }
            | Self::Queued { .. }
            | Self::RateLimitObserved { .. }
            | Self::RateLimitRefused { .. }
            | Self::RateLimitWaitStarted { .. }
            | Self::RateLimitWaitTick { .. }
            | Self::RateLimitWaitFinished
            | Self::Retry { .. }
            | Self::IsolationVerified { .. }
            | Self::Status { .. } => Channel::Monitor,
        }
    }
}
