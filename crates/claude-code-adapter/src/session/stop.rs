//! Why a session stops reading, and the state of its process.

use std::process::ExitStatus;

use ktx_llm_runtime::LlmError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessState {
    Running,
    /// `None` if not seen.
    Gone(Option<ExitStatus>),
}

impl ProcessState {
    pub(super) fn status(self) -> Option<ExitStatus> {
        match self {
            Self::Running => None,
            Self::Gone(status) => status,
        }
    }
}

#[derive(Debug)]
pub(super) enum StopCause {
    Result,
    Ended(Option<ExitStatus>),
    Fail(LlmError),
    Watchdog(LlmError),
    Cancelled,
    /// Before the prompt, by another call's limit.
    HeldBack(LlmError),
}
