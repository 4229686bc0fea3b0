//! Calls that wait for a decision about a call of another agent.

use std::sync::PoisonError;

use super::Session;
use crate::event::{Call, CallState};

impl Session {
    /// Leaves a call until a sub-agent has a decision.
    pub(crate) fn wait_elsewhere(&self, call: &str) {
        let elsewhere = self.elsewhere.lock();
        let mut elsewhere = elsewhere.unwrap_or_else(PoisonError::into_inner);
        elsewhere.insert(call.to_owned());
        // Who waits for the other calls looks again.
        self.written.send_replace(self.log.last());
    }

    /// Whether nothing can happen to an open call before a decision.
    pub(crate) fn waits(&self, call: &Call) -> bool {
        let elsewhere = self.elsewhere.lock();
        let elsewhere = elsewhere.unwrap_or_else(PoisonError::into_inner);
        call.state == CallState::ApprovalRequired || elsewhere.contains(&call.id)
    }
}
