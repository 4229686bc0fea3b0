//! Pauses the model calls of a scan; the next scan continues.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ktx_llm_runtime::{LlmError, LlmErrorKind};

/// Returns whether calls fail until a limit resets or a person fixes the account.
const fn pauses(kind: LlmErrorKind) -> bool {
    matches!(
        kind,
        LlmErrorKind::RateLimit | LlmErrorKind::Budget | LlmErrorKind::Auth | LlmErrorKind::Billing
    )
}

/// Consecutive failures that pause the calls.
pub(crate) const FAILURES_IN_A_ROW: usize = 3;

/// Returns whether a call failed on the model's side. The runtime has already retried it.
pub(crate) const fn is_elsewhere(kind: LlmErrorKind) -> bool {
    matches!(
        kind,
        LlmErrorKind::Crashed
            | LlmErrorKind::Overloaded
            | LlmErrorKind::Server
            | LlmErrorKind::Transport
            | LlmErrorKind::Timeout
    )
}

/// Returns whether no call can succeed; the scan then stops without changes.
pub(crate) fn is_fatal(kind: LlmErrorKind) -> bool {
    matches!(
        kind,
        LlmErrorKind::Process
            | LlmErrorKind::Crashed
            | LlmErrorKind::ModelNotFound
            | LlmErrorKind::Isolation
            | LlmErrorKind::Cancelled
    )
}

#[derive(Debug, Default)]
pub(crate) struct Pause(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    error: Option<LlmError>,
}

impl Pause {
    /// Stores an error that pauses; returns any other error.
    pub(crate) fn take(&self, error: LlmError) -> Result<(), LlmError> {
        if !pauses(error.kind) {
            return Err(error);
        }
        self.hold(error);
        Ok(())
    }

    pub(crate) fn hold(&self, error: LlmError) {
        let mut state = self.state();
        state.stopped = true;
        state.error.get_or_insert(error);
    }

    pub(crate) fn stop(&self) {
        self.state().stopped = true;
    }

    pub(crate) fn is_on(&self) -> bool {
        self.state().stopped
    }

    pub(crate) fn error(&self) -> Option<LlmError> {
        self.state().error.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
