//! Why a session stops reading, and whether its process lives.

use std::process::ExitStatus;

use ktx_llm_runtime::LlmError;

/// Whether the process still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// It does.
    Running,
    /// It has ended, with this status when it was seen.
    Gone(Option<ExitStatus>),
}

impl Life {
    /// The status, when it was seen.
    pub(super) fn status(self) -> Option<ExitStatus> {
        match self {
            Self::Running => None,
            Self::Gone(status) => status,
        }
    }
}

/// Why the reading stopped.
#[derive(Debug)]
pub(super) enum Stop {
    /// The result is here.
    Result,
    /// The output ended, or the process did.
    Ended(Option<ExitStatus>),
    /// The child must not go on.
    Fail(LlmError),
    /// A deadline passed.
    Watchdog(LlmError),
    /// The interrupt was not answered in time.
    Cancelled,
    /// A limit was announced to another call before the prompt of this one was sent.
    HeldBack(LlmError),
}
