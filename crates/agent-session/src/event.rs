//! The events of a session, as its log keeps them.

use ktx_llm_runtime::Message;
use ktx_session_log::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The state of a call (KODE-53).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CallState {
    /// The model wants it; it has not begun.
    Pending,
    /// Somebody must allow it first.
    ApprovalRequired,
    /// It may begin.
    Approved,
    /// It has started. Without a later record its effect is unknown, and ktx never starts it again.
    Executing,
    /// It has a result.
    Completed,
    /// It has an error.
    Failed,
    /// It was not allowed.
    Denied,
    /// Its process died; ktx tells the model that the effect is unknown.
    Sealed,
}

impl CallState {
    /// Whether the call has no result yet.
    pub const fn is_open(self) -> bool {
        matches!(
            self,
            Self::Pending | Self::ApprovalRequired | Self::Approved | Self::Executing
        )
    }
}

/// Whether a tool may change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It is known to only read.
    Reads,
    Writes,
}

/// A call of a tool at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Its id in the session.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its state from now on.
    pub state: CallState,
    pub effect: Effect,
    /// The arguments.
    pub input: Value,
    /// What the model sees of the result or the error; none as long as the call is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// Why a turn is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnEnd {
    /// It has an answer.
    Completed,
    /// The model failed, or the turn ran out of steps.
    Failed,
}

/// What happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The session begins.
    SessionOpened {
        /// The format of its log.
        format: u64,
        session: SessionId,
        /// The agent.
        agent: String,
        /// The session that it was forked from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
    },
    /// A user or the model has spoken.
    Message { message: Message },
    /// A call has reached a state.
    Call(Call),
    /// A turn is over.
    Done { reason: TurnEnd },
    /// A later process resumes the session (KODE-52).
    AgentResumed {
        /// The interrupted calls.
        sealed: Vec<String>,
    },
    /// An event that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Where a session was forked from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    pub session: SessionId,
    /// The last copied record.
    pub seq: u64,
}
