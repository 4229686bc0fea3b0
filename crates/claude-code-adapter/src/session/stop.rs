//! Why a session stops reading, and the state of its process.

use std::process::ExitStatus;

use ktx_llm_runtime::LlmError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Running,
    /// It has ended, with this status if it was seen.
    Gone(Option<ExitStatus>),
}

impl Life {
    pub(super) fn status(self) -> Option<ExitStatus> {
        match self {
            Self::Running => None,
            Self::Gone(status) => status,
        }
    }
}

/// Why the session stopped reading.
#[derive(Debug)]
pub(super) enum Stop {
    Result,
    /// The output or the process ended.
    Ended(Option<ExitStatus>),
    /// The child must not continue.
    Fail(LlmError),
    Watchdog(LlmError),
    /// The interrupt was not answered in time.
    Cancelled,
    /// Another call learned of a limit before the prompt of this one was sent.
    HeldBack(LlmError),
}
