//! What happens in a session, as its log keeps it and subscribers hear it.

mod call;

use ktx_llm_runtime::Message;
use ktx_session_log::{Channel, SessionId};
use ktx_vocabulary::RunId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use call::{Call, CallState, CallView, Decision, DecisionRecord, Effect};

/// Who wrote a message of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A person or a program that asks. Begins a turn.
    User,
    Model,
    /// Results of calls.
    Tools,
    /// A note of ktx to the model.
    Reminder,
}

/// Whether a turn came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnEnd {
    /// It has an answer.
    Completed,
    Interrupted,
}

/// Why a turn has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// Somebody stopped it.
    User,
    /// A call waits for a decision.
    Parked,
    /// Its turns, its money or its time are used up.
    Budget,
    /// The model or the system failed.
    Failed,
}

/// What an agent is doing (KODE-42).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AgentState {
    /// It waits for a message.
    Ready,
    Working,
    /// It waits for a decision.
    Paused,
}

/// The stages of a step (KODE-51). Each is in the log before the work that it names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Breakpoint {
    /// No turn is open.
    #[default]
    Ready,
    /// The question is kept, and the model is about to be asked.
    PreModel,
    StreamingModel,
    /// The model's message is kept, and none of its calls has begun.
    ToolPending,
    AwaitingApproval,
    /// A call is allowed and about to begin.
    PreTool,
    ToolExecuting,
    /// All results of a step are kept.
    PostTool,
}

impl Breakpoint {
    /// The name that kill tests use, such as `session:PRE_MODEL`.
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
    /// Closes them with a result that says what is unknown.
    Crash,
    /// Leaves them as they are.
    Manual,
}

/// Where an error arose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Model,
    Tool,
    System,
    Lifecycle,
}

/// How bad an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warn,
    Error,
}

/// Where a session was forked from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    pub session: SessionId,
    /// The last copied record.
    pub seq: u64,
}

/// Tokens of one model message.
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

/// One event of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The session begins.
    SessionOpened {
        /// The format of its log.
        format: u64,
        session: SessionId,
        /// The agent's name.
        agent: String,
        /// A digest of everything that the agent is.
        #[serde(default)]
        agent_digest: String,
        /// The agent as it was opened.
        #[serde(default)]
        agent_snapshot: Value,
        /// The session that it was forked from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
    },
    /// The session continues with another agent.
    AgentAdopted {
        agent_digest: String,
        agent_snapshot: Value,
    },
    /// Somebody has spoken.
    Message {
        message: Message,
        origin: Origin,
        /// Whether the model was stopped within it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
    },
    /// A call has reached a state.
    Call(Call),
    /// The session has a name.
    Renamed {
        name: String,
    },
    /// The last point to fork from has a name.
    Snapshot {
        label: String,
        seq: u64,
    },
    /// A command of another process was taken from the inbox.
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
    /// A turn is over.
    Done {
        reason: TurnEnd,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },

    PermissionRequired {
        call: CallView,
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
        /// Who allowed or denied it, if anybody was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<DecisionRecord>,
    },
    /// A later process resumes the session (KODE-52).
    AgentResumed {
        strategy: Strategy,
        /// The closed calls.
        sealed: Vec<String>,
    },
    BreakpointChanged {
        previous: Breakpoint,
        current: Breakpoint,
    },
    /// A line of the backend, for display.
    Status {
        text: String,
    },
    /// An event that this version does not know.
    #[serde(other)]
    Unknown,
}

impl Event {
    /// Returns the channel of the event.
    pub const fn channel(&self) -> Channel {
        match self {
            Self::SessionOpened { .. }
            | Self::AgentAdopted { .. }
            | Self::Message { .. }
            | Self::Call(_)
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
            | Self::Status { .. } => Channel::Monitor,
        }
    }
}
