//! Calls of tools and decisions about them.

use jiff::Timestamp;
use ktx_session_log::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::previews::Preview;

/// Characters of arguments and results that events show.
const PREVIEW: usize = 200;

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

    /// Whether the call waits for a decision that outlives its process.
    pub const fn outlives_process(self) -> bool {
        matches!(self, Self::ApprovalRequired | Self::Approved)
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
    /// The model's id of the call, unique within its message.
    #[serde(default)]
    pub tool_use: String,
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
    /// How long it ran, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What it would change, if a decision is asked for and that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    /// Until when a decision about it counts, if it waits for one that may come too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

impl Call {
    /// Whether it waits for a decision that can no longer come.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.state == CallState::ApprovalRequired && self.expires.is_some_and(|end| end <= now)
    }

    /// Returns what events show of the call.
    pub fn view(&self) -> CallView {
        let is_error = !self.state.is_open() && self.state != CallState::Completed;
        CallView {
            id: self.id.clone(),
            name: self.name.clone(),
            state: self.state,
            input_preview: beginning(&self.input.to_string()),
            is_error: is_error.then_some(true),
            duration_ms: self.duration_ms,
            result_preview: self.result.as_deref().map(beginning),
            preview: self
                .preview
                .clone()
                .filter(|_| self.state == CallState::ApprovalRequired),
        }
    }
}

/// What events show of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallView {
    pub id: String,
    /// The tool.
    pub name: String,
    pub state: CallState,
    /// The beginning of the arguments.
    pub input_preview: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The beginning of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_preview: Option<String>,
    /// What it would change, as long as it waits for a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(PREVIEW) {
        Some((end, _)) => text.get(..end).unwrap_or(text).to_owned() + "…",
        None => text.to_owned(),
    }
}

/// Whether a call may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Deny,
}

/// Who decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    pub call_id: String,
    pub decision: Decision,
    /// A person's command, such as `ktx agent decide`, or a rule.
    pub decided_by: String,
    /// The reason, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The session of the sub-agent whose call it is; this session if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}
