//! A model that stops answering in the middle of a scan: nothing more is asked, what is finished
//! stands, and the next scan goes on with the rest.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ktx_llm_runtime::{LlmError, LlmErrorKind};

/// Whether an error means that every further call would fail as well, and that calls succeed again
/// when a limit has reset or a person has done something about the account.
const fn pauses(kind: LlmErrorKind) -> bool {
    matches!(
        kind,
        LlmErrorKind::RateLimit | LlmErrorKind::Budget | LlmErrorKind::Auth | LlmErrorKind::Billing
    )
}

/// Whether more may be asked, and the first error that stopped the model.
#[derive(Debug, Default)]
pub(crate) struct Pause(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    error: Option<LlmError>,
}

impl Pause {
    /// Keeps the error when it is one that pauses; else gives it back.
    pub(crate) fn take(&self, error: LlmError) -> Result<(), LlmError> {
        if !pauses(error.kind) {
            return Err(error);
        }
        self.hold(error);
        Ok(())
    }

    /// Stops for this error, of whatever kind it is.
    pub(crate) fn hold(&self, error: LlmError) {
        let mut state = self.state();
        state.stopped = true;
        state.error.get_or_insert(error);
    }

    /// Nothing more is to be asked, for a reason that ends the scan.
    pub(crate) fn stop(&self) {
        self.state().stopped = true;
    }

    /// Whether nothing more may be asked.
    pub(crate) fn is_on(&self) -> bool {
        self.state().stopped
    }

    /// The error.
    pub(crate) fn error(&self) -> Option<LlmError> {
        self.state().error.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
