//! Usage facts: one per assistant message, the unit of all accounting (COG-07), and one for a
//! call's usage besides its messages (COG-14).

use ktx_vocabulary::{ConnectionId, ModelRole, Provider, RunId};

use crate::{CallLabel, TokenUsage};

/// The system that counted the tokens (COG-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceSystem {
    /// The user's own local session.
    LocalSession,
    /// A provider over HTTP.
    Provider(Provider),
    /// The scripted runtime of tests.
    Scripted,
}

impl SourceSystem {
    /// The spelling in the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LocalSession => "anthropic_sdk",
            Self::Provider(provider) => provider.ledger_name(),
            Self::Scripted => "scripted",
        }
    }

    /// Returns the executor of the loop: `claude_sdk` for Claude Code, `inproc` for everything
    /// else.
    pub const fn executor(self) -> &'static str {
        match self {
            Self::LocalSession => "claude_sdk",
            Self::Provider(_) | Self::Scripted => "inproc",
        }
    }
}

/// What a fact counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UsageKind {
    /// One assistant message.
    #[default]
    Message,
    /// Usage of a call besides its messages, such as the compaction of a conversation (COG-14).
    Unattributed,
    /// One interrupted assistant message: its output is estimated from the received part, and so is
    /// its input if it was not reported.
    Incomplete,
    /// One complete message whose provider did not report its usage: the tokens are estimated from
    /// its size.
    Estimated,
}

impl UsageKind {
    /// The spelling in the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Unattributed => "unattributed",
            Self::Incomplete => "incomplete",
            Self::Estimated => "estimated",
        }
    }
}

/// The usage of one assistant message, or of a call besides its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageFact {
    /// What is counted.
    pub kind: UsageKind,
    /// The run that the message belongs to.
    pub run_id: RunId,
    /// The attempt of the run; 0 today (COG-11).
    pub attempt: u32,
    /// The provider's id of the message: the usage unit. For usage besides the messages, a name of
    /// the call.
    pub message_id: String,
    /// The system that counted.
    pub source_system: SourceSystem,
    /// The model that answered, in the provider's spelling.
    pub model: String,
    /// The location of the service, for providers whose prices depend on it, such as `us-east5` or
    /// `global`.
    pub location: Option<String>,
    /// The role of the model.
    pub role: ModelRole,
    /// The stage of the workflow, such as `descriptions`.
    pub stage: String,
    /// The unit of work inside the stage.
    pub unit: Option<String>,
    /// The connection that the work was for.
    pub connection: Option<ConnectionId>,
    /// The token counters.
    pub usage: TokenUsage,
}

impl UsageFact {
    /// Returns the trace that contains the run's spans.
    pub fn trace_id(&self) -> Option<String> {
        self.run_id.trace_id()
    }

    /// Creates a fact for a call's usage of a model besides its messages (COG-14). `call`
    /// distinguishes the calls of a run, so that a fact sent twice counts once.
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

/// A backend's own figure for the cost of a call (C-18). It is stored in addition to our own figure
/// and never part of it. A call without an end, such as a crashed one, has none.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedCost {
    /// The system that reports it.
    pub source_system: SourceSystem,
    /// The role of the model.
    pub role: ModelRole,
    /// The work that the call belongs to.
    pub label: CallLabel,
    /// A name of the call, so that a report sent twice counts once.
    pub call: String,
    /// US dollars.
    pub dollars: f64,
    /// The usage units that it covers, by [`UsageFact::message_id`]; they were reported before.
    pub message_ids: Vec<String>,
}

impl ReportedCost {
    /// Returns the idempotency key of one of its usage units, or of the report itself.
    pub fn reference(&self, unit: &str) -> String {
        format!("{}/0/{unit}", self.label.run_id)
    }
}
