//! What happens in a session, as its log keeps it and subscribers hear it.

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

/// Who wrote a message of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A person or a program that asks. Begins a turn.
    User,
    Model,
    /// Results of calls.
    Tools,
    /// A person, in a turn that runs already.
    Queued,
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

/// The begin or the end of a compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompressionPhase {
    Start,
    End,
}

/// How bad an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warn,
    Error,
}

/// The session that another one comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parent {
    /// It is a copy.
    Copy {
        session: SessionId,
        /// The last copied record.
        seq: u64,
    },
    /// Its agent was asked by another one.
    Call {
        session: SessionId,
        /// The call that asked.
        call: String,
    },
}

impl Parent {
    /// Returns the other session.
    pub const fn session(&self) -> &SessionId {
        match self {
            Self::Copy { session, .. } | Self::Call { session, .. } => session,
        }
    }
}

/// What an agent is doing that another one has asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubagentState {
    Working,
    Answered,
    Failed,
    /// One of its calls waits for a decision.
    Parked,
    Interrupted,
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
        /// The session that it comes from.
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
        /// The room that it was said in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        room: Option<RoomOrigin>,
        /// Whether the model was stopped within it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
    },
    /// A call has reached a state.
    Call(Call),
    /// The model is done, and its answer has yet to be put into the form that the agent asks for.
    Answered,
    /// The answer in that form.
    StructuredOutput {
        value: Value,
    },
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
        /// Until when a decision counts; without end if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<Timestamp>,
        /// The session of the sub-agent whose call it is; this session if absent.
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
    /// The provider tells how much of a limit is used.
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
    /// A call of the model has failed and is made again.
    Retry {
        attempt: u32,
        code: String,
    },
    /// The model's program has none but the agent's tools.
    IsolationVerified {
        version: String,
    },
    /// A line of the backend, for display.
    Status {
        text: String,
    },
    /// The model is sent less of the conversation.
    Compaction(Compaction),
    ContextCompression {
        phase: CompressionPhase,
        /// The size afterwards by the size before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ratio: Option<f64>,
    },
    /// The model reads the manuals of other tools than before (KODE-65).
    ToolManualUpdated {
        tools: Vec<String>,
    },
    /// Somebody has changed a file that the agent has read (KODE-67).
    FileChanged {
        path: String,
    },
    /// A tool tells something of a call that runs.
    ToolCustomEvent {
        call_id: String,
        /// What it tells, such as `progress`.
        event: String,
        data: Value,
    },
    /// The agent is reminded of its tasks.
    TodoReminder {
        tasks: Vec<Task>,
    },
    /// The list of tasks is another one.
    TodoChanged {
        current: Vec<Task>,
        previous: Vec<Task>,
    },
    /// ktx has written a note to the model.
    ReminderSent {
        category: String,
        content: String,
    },
    /// Messages of a room were passed on as often as they may be, and this session hears no more of them.
    RoomStopped {
        room: String,
        hop: u32,
    },
    /// Its time has come.
    SchedulerTriggered(Trigger),
    /// An agent that this one has asked begins or ends its work.
    Subagent {
        /// Its session.
        session: SessionId,
        agent: String,
        /// The call that asks it.
        call: String,
        state: SubagentState,
    },
    /// A message waits for the next step or the end of the turn.
    Queued {
        message: String,
        /// The sender's name for it, so that sending it again sends nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The turn that answers it, as its sender knows it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
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
