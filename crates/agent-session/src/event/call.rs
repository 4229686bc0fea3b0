//! Tool calls and decisions about them.

use jiff::Timestamp;
use ktx_session_log::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::previews::Preview;

/// Maximum characters of arguments and results in events.
const PREVIEW: usize = 200;

/// The state of a call (KODE-53).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CallState {
    Pending,
    ApprovalRequired,
    Approved,
    /// Without a later record the effect is unknown, and `ktx` never starts it again.
    Executing,
    Completed,
    Failed,
    Denied,
    /// The process died; `ktx` reports to the model that the effect is unknown.
    Sealed,
}

impl CallState {
    pub const fn is_open(self) -> bool {
        matches!(
            self,
            Self::Pending | Self::ApprovalRequired | Self::Approved | Self::Executing
        )
    }

    /// True for states that outlive the process.
    pub const fn outlives_process(self) -> bool {
        matches!(self, Self::ApprovalRequired | Self::Approved)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Known to be read-only.
    Reads,
    Writes,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Unique in the session.
    pub id: String,
    /// The model's id, unique within its message.
    #[serde(default)]
    pub tool_use: String,
    pub name: String,
    pub state: CallState,
    pub effect: Effect,
    pub input: Value,
    /// The result or error as the model sees it; none while the call is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Rows of a result that is a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Set if a decision is needed and the tool has a preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    /// When a waiting call expires, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

impl Call {
    /// True if a decision would come too late.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.state == CallState::ApprovalRequired && self.expires.is_some_and(|end| end <= now)
    }

    pub fn view(&self) -> CallView {
        let is_error = !self.state.is_open() && self.state != CallState::Completed;
        CallView {
            id: self.id.clone(),
            name: self.name.clone(),
            state: self.state,
            input_preview: beginning(&self.input.to_string()),
            is_error: is_error.then_some(true),
            duration_ms: self.duration_ms,
            rows: self.rows,
            result_preview: self.result.as_deref().map(beginning),
            preview: self
                .preview
                .clone()
                .filter(|_| self.state == CallState::ApprovalRequired),
        }
    }
}

/// A call as events show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallView {
    pub id: String,
    pub name: String,
    pub state: CallState,
    pub input_preview: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Rows of a result that is a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_preview: Option<String>,
    /// Only while the call waits for a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(PREVIEW) {
        Some((end, _)) => text.get(..end).unwrap_or(text).to_owned() + "…",
        None => text.to_owned(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Deny,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    pub call_id: String,
    pub decision: Decision,
    /// A command, such as `ktx agent decide`, or a rule.
    pub decided_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The sub-agent's session; this one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}
