//! For whom a call is made, and what is left of it.

use std::fmt::Display;
use std::process::ExitStatus;
use std::time::Duration;

use ktx_llm_runtime::{
    CallLabel, CallMetrics, LlmError, LlmErrorKind, SourceSystem, ToolTrace, UsageFact,
};
use ktx_vocabulary::ModelRole;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::conversation::Record;
use crate::host::{NEWEST_TESTED, OLDEST_TESTED, is_older};
use crate::outcome::{FailureSigns, use_a_tested_version};
use crate::process::status_words;
use crate::protocol::{Broken, ResultFrame};
use crate::turns::MessageUsage;

/// What to do when the program says nothing.
pub(crate) const RUN_BY_HAND: &str =
    "run the command again; if it stays, run `claude` once by hand and look at what it says";

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
    /// A limit was announced before the prompt was sent: nothing was said, and nothing was paid.
    pub(crate) held_back: bool,
}

impl Report {
    /// Whether the program does not know an option; it ends then before it reads anything.
    pub(crate) fn lacks_an_option(&self) -> bool {
        let detail = self
            .ending
            .as_ref()
            .err()
            .and_then(|error| error.detail.as_deref());
        self.never_began && detail.is_some_and(lacks_an_option)
    }

    /// Whether the child broke down before it gave a result.
    pub(crate) fn has_crashed(&self) -> bool {
        self.ending
            .as_ref()
            .is_err_and(|error| error.kind == LlmErrorKind::Crashed)
    }

    /// Whether nothing was used and nothing was done, so that the same call may be made again.
    pub(crate) fn is_untouched(&self) -> bool {
        self.metrics.usage.total() == 0 && self.tools.is_empty()
    }
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
            held_back: false,
        }
    }
}

/// What the program says about an option, or a value of one, of a newer version.
const UNKNOWN_OPTION: [&str; 2] = ["error: unknown option '", "error: option '"];

fn lacks_an_option(complaints: &str) -> bool {
    UNKNOWN_OPTION
        .iter()
        .any(|words| complaints.contains(words))
}

/// The error of a program that lacks an option; its version, when it has told it.
pub(crate) fn too_old(version: Option<&str>) -> LlmError {
    if let Some(version) = version.filter(|version| !is_older(version)) {
        return LlmError::new(
            LlmErrorKind::Process,
            format!("Claude Code {version} does not know an option that ktx needs"),
        )
        .hint(format!(
            "use a version from {OLDEST_TESTED} to {NEWEST_TESTED}, or a newer ktx"
        ));
    }
    let found = version.map(|version| format!(" {version}"));
    LlmError::new(
        LlmErrorKind::Process,
        format!(
            "Claude Code{} is too old: ktx needs {OLDEST_TESTED} or newer",
            found.unwrap_or_default()
        ),
    )
    .hint("update it (run `claude update`), then run the command again")
}

/// The error of a process that ended without a result: with the status that it chose itself, or with
/// none when it said no more and was ended here. `named`: the settings say which program it is.
pub(crate) fn died(
    (verified, named): (bool, bool),
    status: Option<ExitStatus>,
    complaints: &str,
) -> LlmError {
    if lacks_an_option(complaints) {
        return too_old(None);
    }
    let when = if verified {
        "gave a result"
    } else {
        "began to work"
    };
    let message = match status {
        Some(_) => format!(
            "Claude Code ended {} before it {when}",
            status_words(status)
        ),
        None => format!("Claude Code closed its output before it {when}"),
    };
    // What ends it from outside, as a system without memory does, says nothing about the next child.
    let killed = status.is_none_or(|status| status.code().is_none());
    let kind = if verified || killed {
        LlmErrorKind::Crashed
    } else {
        LlmErrorKind::Process
    };
    let hint = if named && kind == LlmErrorKind::Process {
        "see that `KTX_CLAUDE_PATH` names the `claude` executable; `--debug` shows what it said"
    } else {
        "run the command again; `--debug` shows what Claude Code said"
    };
    LlmError::new(kind, message).hint(hint)
}

/// Logs what was not understood.
pub(crate) fn log_unknown(record: &Record, stray: &[String]) {
    if !record.unknown.is_empty() || !stray.is_empty() {
        tracing::debug!(unknown = ?record.unknown, stray = stray.len(), "Claude Code wrote messages that ktx does not know");
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

/// The error of a line that is longer than any line of the program.
pub(crate) fn endless_line(reason: &impl Display) -> LlmError {
    LlmError::new(
        LlmErrorKind::Protocol,
        "Claude Code wrote a line without an end",
    )
    .hint(use_a_tested_version())
    .detail(reason.to_string())
}

/// The error of a message that cannot be read: nothing more comes, for both sides wait.
pub(crate) fn broken_message(broken: &Broken) -> LlmError {
    let Broken { kind, reason, text } = broken;
    LlmError::new(
        LlmErrorKind::Protocol,
        format!("Claude Code wrote a `{kind}` message that is not JSON: {reason}"),
    )
    .hint(use_a_tested_version())
    .detail(text.clone())
}

/// The error of a child that waits longer than the run may take.
pub(crate) fn too_long_a_wait(wait: Duration) -> LlmError {
    let mut error = LlmError::new(
        LlmErrorKind::RateLimit,
        format!(
            "Claude asks to wait {} s before the next try, longer than the run may take",
            wait.as_secs_f64().ceil()
        ),
    )
    .hint("run the command again later, or with more time; what is finished is kept");
    error.retry_after = Some(wait);
    error
}
