//! Why a session stops reading, and the state of its process.

use std::process::ExitStatus;

use ktx_llm_runtime::LlmError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessState {
    Running,
    /// It has ended, with this status if it was seen.
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
    /// The interrupt was not answered in time.
    Cancelled,
    /// Another call learned of a limit before the prompt of this one was sent.
    HeldBack(LlmError),
}
