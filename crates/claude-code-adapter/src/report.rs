//! The caller of a call, and its report.

use std::fmt::Display;
use std::process::ExitStatus;
use std::time::Duration;

use ktx_llm_runtime::{
    CallLabel, CallMetrics, LlmError, LlmErrorKind, SourceSystem, ToolTrace, UsageFact,
};
use ktx_vocabulary::ModelRole;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::conversation::ConversationRecord;
use crate::outcome::FailureSigns;
use crate::process::status_text;
use crate::protocol::{BrokenLine, ResultFrame};
use crate::turns::MessageUsage;
use crate::versions::{too_old, use_a_tested_version};

pub(crate) const RUN_BY_HAND: &str =
    "run the command again; if the error stays, run `claude` once by hand and look at what it says";

#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) role: ModelRole,
    pub(crate) label: CallLabel,
    pub(crate) cancel: CancellationToken,
}

impl Caller {
    pub(crate) fn usage_fact(&self, message: &MessageUsage) -> UsageFact {
        UsageFact {
            kind: message.kind,
            run_id: self.label.run_id.clone(),
            attempt: 0,
            message_id: message.id.clone(),
            source_system: SourceSystem::LocalSession,
            model: message.model.clone(),
            location: None,
            role: self.role,
            stage: self.label.stage.clone(),
            unit: self.label.unit.clone(),
            connection: self.label.connection.clone(),
            usage: message.usage,
        }
    }
}

#[derive(Debug)]
pub(crate) struct CallReport {
    pub(crate) ending: Result<ResultFrame, LlmError>,
    pub(crate) signs: FailureSigns,
    pub(crate) accepted: Option<Value>,
    pub(crate) tools: Vec<ToolTrace>,
    pub(crate) metrics: CallMetrics,
    /// No output or cost.
    pub(crate) never_began: bool,
    /// Before the prompt: no output or cost.
    pub(crate) held_back: bool,
}

impl CallReport {
    /// The program checks options before it reads anything.
    pub(crate) fn lacks_option(&self) -> bool {
        let detail = self
            .ending
            .as_ref()
            .err()
            .and_then(|error| error.detail.as_deref());
        self.never_began && detail.is_some_and(lacks_option)
    }

    pub(crate) fn has_crashed(&self) -> bool {
        self.ending
            .as_ref()
            .is_err_and(|error| error.kind == LlmErrorKind::Crashed)
    }

    /// No usage and no tools, so it can be repeated.
    pub(crate) fn is_untouched(&self) -> bool {
        self.metrics.usage.total() == 0 && self.tools.is_empty()
    }
}

impl CallReport {
    pub(crate) fn failed(error: LlmError) -> Self {
        Self {
            ending: Err(error),
            signs: FailureSigns::default(),
            accepted: None,
            tools: Vec::new(),
            metrics: CallMetrics::default(),
            never_began: false,
            held_back: false,
        }
    }
}

const UNKNOWN_OPTION: [&str; 2] = ["error: unknown option '", "error: option '"];

fn lacks_option(complaints: &str) -> bool {
    UNKNOWN_OPTION
        .iter()
        .any(|words| complaints.contains(words))
}

#[derive(Debug)]
pub(crate) struct DeadProcess<'a> {
    pub(crate) surface_verified: bool,
    pub(crate) program_configured: bool,
    /// `None` if ktx ended it.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) complaints: &'a str,
}

pub(crate) fn dead_process_error(process: &DeadProcess<'_>) -> LlmError {
    let status = process.status;
    if lacks_option(process.complaints) {
        return too_old(None);
    }
    let when = if process.surface_verified {
        "gave a result"
    } else {
        "began to work"
    };
    let message = match status {
        Some(_) => format!("Claude Code ended {} before it {when}", status_text(status)),
        None => format!("Claude Code closed its output before it {when}"),
    };
    // A kill from outside says nothing about the next child.
    let killed = status.is_none_or(|status| status.code().is_none());
    let kind = if process.surface_verified || killed {
        LlmErrorKind::Crashed
    } else {
        LlmErrorKind::Process
    };
    let hint = if process.program_configured && kind == LlmErrorKind::Process {
        "check that `KTX_CLAUDE_PATH` names the `claude` executable; `--debug` shows what it said"
    } else {
        "run the command again; `--debug` shows what Claude Code said"
    };
    LlmError::new(kind, message).hint(hint)
}

pub(crate) fn log_unknown(record: &ConversationRecord, stray: &[String]) {
    if !record.unknown.is_empty() || !stray.is_empty() {
        tracing::debug!(unknown = ?record.unknown, stray = stray.len(), "Claude Code wrote messages that ktx does not know");
    }
}

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

pub(crate) fn endless_line(reason: &impl Display) -> LlmError {
    LlmError::new(
        LlmErrorKind::Protocol,
        "Claude Code wrote a line without an end",
    )
    .hint(use_a_tested_version())
    .detail(reason.to_string())
}

/// Both sides would wait forever.
pub(crate) fn broken_message(broken: &BrokenLine) -> LlmError {
    let BrokenLine { kind, reason, text } = broken;
    LlmError::new(
        LlmErrorKind::Protocol,
        format!("Claude Code wrote a `{kind}` message that is not JSON: {reason}"),
    )
    .hint(use_a_tested_version())
    .detail(text.clone())
}

pub(crate) fn wait_too_long(wait: Duration) -> LlmError {
    let mut error = LlmError::new(
        LlmErrorKind::RateLimit,
        format!(
            "Claude asks to wait {} s before the next try, longer than the run may take",
            wait.as_secs_f64().ceil()
        ),
    )
    .hint("run the command again later, or with more time; finished work is kept");
    error.retry_after = Some(wait);
    error
}
