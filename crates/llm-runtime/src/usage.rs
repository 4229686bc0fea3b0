//! Usage facts: one per assistant message (COG-07), and one for a call's usage outside its messages
//! (COG-14).

use ktx_vocabulary::{ConnectionId, ModelRole, Provider, RunId};

use crate::{CallLabel, TokenUsage};

/// The system that counted the tokens (COG-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceSystem {
    /// The user's local Claude Code session.
    LocalSession,
    Provider(Provider),
    Scripted,
}

impl SourceSystem {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LocalSession => "anthropic_sdk",
            Self::Provider(provider) => provider.ledger_name(),
            Self::Scripted => "scripted",
        }
    }

    /// `claude_sdk` for Claude Code, else `inproc`.
    pub const fn executor(self) -> &'static str {
        match self {
            Self::LocalSession => "claude_sdk",
            Self::Provider(_) | Self::Scripted => "inproc",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UsageKind {
    #[default]
    Message,
    /// Outside of messages, such as a compaction (COG-14).
    Unattributed,
    /// An interrupted message: its output and unreported input are estimated.
    Incomplete,
    /// A complete message without reported usage, estimated from its size.
    Estimated,
}

impl UsageKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Unattributed => "unattributed",
            Self::Incomplete => "incomplete",
            Self::Estimated => "estimated",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageFact {
    pub kind: UsageKind,
    pub run_id: RunId,
    /// 0 today (COG-11).
    pub attempt: u32,
    /// The provider's id; outside of messages, a name of the call.
    pub message_id: String,
    pub source_system: SourceSystem,
    /// In the provider's spelling.
    pub model: String,
    /// Service location, if prices depend on it, such as `us-east5`.
    pub location: Option<String>,
    pub role: ModelRole,
    pub stage: String,
    pub unit: Option<String>,
    pub connection: Option<ConnectionId>,
    pub usage: TokenUsage,
}

impl UsageFact {
    pub fn trace_id(&self) -> Option<String> {
        self.run_id.trace_id()
    }

    /// Creates a fact outside of messages (COG-14). `call` is unique in the run, so that a repeated
    /// fact counts once.
    pub fn unattributed(
        source_system: SourceSystem,
        role: ModelRole,
        label: &CallLabel,
        call: &str,
        model: &str,
        usage: TokenUsage,
    ) -> Self {
        let kind = UsageKind::Unattributed;
        Self {
            kind,
            run_id: label.run_id.clone(),
            attempt: 0,
            message_id: format!("{call}/{}/{model}", kind.as_str()),
            source_system,
            model: model.to_owned(),
            location: None,
            role,
            stage: label.stage.clone(),
            unit: label.unit.clone(),
            connection: label.connection.clone(),
            usage,
        }
    }

    /// Returns the idempotency key `run/attempt/message` (COG-12).
    pub fn reference(&self) -> String {
        format!("{}/{}/{}", self.run_id, self.attempt, self.message_id)
    }
}

/// A backend's own cost of a call (C-18). A call without an end has none.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedCost {
    pub source_system: SourceSystem,
    pub role: ModelRole,
    pub label: CallLabel,
    /// Makes a repeated report count once.
    pub call: String,
    pub dollars: f64,
    /// The covered usage, as [`UsageFact::message_id`]; reported before.
    pub message_ids: Vec<String>,
}

impl ReportedCost {
    /// Returns an idempotency key of a message or of the report.
    pub fn reference(&self, unit: &str) -> String {
        format!("{}/0/{unit}", self.label.run_id)
    }
}
