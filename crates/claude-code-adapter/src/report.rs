//! For whom a call is made, and what is left of it.

use std::process::ExitStatus;

use ktx_llm_runtime::{
    CallLabel, CallMetrics, LlmError, LlmErrorKind, SourceSystem, ToolTrace, UsageFact,
};
use ktx_vocabulary::ModelRole;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::conversation::Record;
use crate::outcome::FailureSigns;
use crate::process::status_words;
use crate::protocol::ResultFrame;
use crate::turns::MessageUsage;

/// For whom a call is made.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The role that asks.
    pub(crate) role: ModelRole,
    /// What the call belongs to.
    pub(crate) label: CallLabel,
    /// Stops the call.
    pub(crate) cancel: CancellationToken,
}

impl Caller {
    /// The fact that a message was paid for.
    pub(crate) fn usage_fact(&self, message: &MessageUsage) -> UsageFact {
        UsageFact {
            run_id: self.label.run_id.clone(),
            attempt: 0,
            message_id: message.id.clone(),
            source_system: SourceSystem::AnthropicSdk,
            model: message.model.clone(),
            role: self.role,
            stage: self.label.stage.clone(),
            unit: self.label.unit.clone(),
            connection: self.label.connection.clone(),
            usage: message.usage,
        }
    }
}

/// How a call ended, and what it took either way.
#[derive(Debug)]
pub(crate) struct Report {
    /// The result, whatever it says, or why there is none.
    pub(crate) ending: Result<ResultFrame, LlmError>,
    /// What tells why the result is an error.
    pub(crate) signs: FailureSigns,
    /// The last object that the program accepted.
    pub(crate) accepted: Option<Value>,
    /// The tool calls in call order.
    pub(crate) tools: Vec<ToolTrace>,
    /// What it took.
    pub(crate) metrics: CallMetrics,
    /// The child ended by itself before it could do anything: nothing was said, nothing was paid.
    pub(crate) never_began: bool,
}

impl Report {
    /// The report of a call that never had a child.
    pub(crate) fn failed(error: LlmError) -> Self {
        Self {
            ending: Err(error),
            signs: FailureSigns::default(),
            accepted: None,
            tools: Vec::new(),
            metrics: CallMetrics::default(),
            never_began: false,
        }
    }
}

/// The error of a process that ended without a result.
pub(crate) fn died(verified: bool, status: Option<ExitStatus>, complaints: &str) -> LlmError {
    if complaints.contains("unknown option") {
        return LlmError::new(
            LlmErrorKind::Process,
            "Claude Code is too old: it does not know an option that ktx needs",
        )
        .hint("update it (run `claude update`), then run the command again");
    }
    let when = if verified {
        "gave a result"
    } else {
        "began to work"
    };
    LlmError::new(
        LlmErrorKind::Process,
        format!(
            "Claude Code ended {} before it {when}",
            status_words(status)
        ),
    )
    .hint("run the command again; `--debug` shows what Claude Code said")
}

/// Logs what was not understood, and tokens that no message accounts for (COG-14).
pub(crate) fn log_differences(record: &Record, stray: &[String]) {
    if !record.unknown.is_empty() || !stray.is_empty() {
        tracing::debug!(unknown = ?record.unknown, stray = stray.len(), "Claude Code wrote messages that ktx does not know");
    }
    let Some(result) = &record.result else { return };
    let (told, counted) = (result.total.total(), record.usage.total());
    if told != counted {
        tracing::info!(
            told,
            counted,
            unattributed = i128::from(told) - i128::from(counted),
            "Claude Code used tokens outside the messages of this call"
        );
    }
}

/// The error with the end of the child's complaints in its detail.
pub(crate) fn with_complaints(error: LlmError, complaints: &str) -> LlmError {
    if complaints.is_empty() {
        return error;
    }
    let complaints = format!("stderr: {complaints}");
    let detail = match &error.detail {
        Some(detail) => format!("{detail}\n{complaints}"),
        None => complaints,
    };
    error.detail(detail)
}
