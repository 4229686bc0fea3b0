//! Usage facts: one per assistant message, the unit of all accounting (COG-07), and one for what a
//! call used beside its messages (COG-14).

use ktx_vocabulary::{ConnectionId, ModelRole, Provider, RunId};

use crate::{CallLabel, TokenUsage};

/// Which system counted the tokens (COG-13).
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

    /// Who executed the loop: `claude_sdk` for Claude Code, `inproc` for everything else.
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
    /// What a call used beside its messages, such as the compaction of a conversation (COG-14).
    Unattributed,
    /// One assistant message that was cut off: its output is estimated from what was seen of it, and its
    /// input too where nobody told it before.
    Incomplete,
    /// One whole message whose provider did not tell what it used: the tokens are estimated from its size.
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

/// What one assistant message used, or a call beside its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageFact {
    /// What is counted.
    pub kind: UsageKind,
    /// The run that the message belongs to.
    pub run_id: RunId,
    /// Which attempt of the run; 0 today (COG-11).
    pub attempt: u32,
    /// The provider's id of the message: the usage unit. For what no message accounts for, a name of
    /// the call's.
    pub message_id: String,
    /// Who counted.
    pub source_system: SourceSystem,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// Where it was served, for providers whose prices depend on it, such as `us-east5` or `global`.
    pub location: Option<String>,
    /// The role that asked.
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
    /// The trace that the run's spans stand in.
    pub fn trace_id(&self) -> Option<String> {
        self.run_id.trace_id()
    }

    /// What a call used of a model beside its messages (COG-14). `call` tells the calls of a run
    /// apart, so that the same fact can be sent twice and counts once.
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

    /// The idempotency key `run/attempt/message` (COG-12).
    pub fn reference(&self) -> String {
        format!("{}/{}/{}", self.run_id, self.attempt, self.message_id)
    }
}

/// What a backend itself says that a call cost (C-18). It stands beside our own figure and is never
/// part of it. A call without an end, as one that crashed, has none.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedCost {
    /// Who says it.
    pub source_system: SourceSystem,
    /// The role that asked.
    pub role: ModelRole,
    /// What the call belongs to.
    pub label: CallLabel,
    /// A name of the call's, so that the same report can be sent twice and counts once.
    pub call: String,
    /// US dollars.
    pub dollars: f64,
    /// The usage units whose cost it is, by [`UsageFact::message_id`]; they were told before.
    pub message_ids: Vec<String>,
}

impl ReportedCost {
    /// The idempotency key of one of its usage units, or of the report itself.
    pub fn reference(&self, unit: &str) -> String {
        format!("{}/0/{unit}", self.label.run_id)
    }
}
