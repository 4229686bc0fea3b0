//! Calls that wait for a decision on a sub-agent's call.

use std::sync::PoisonError;

use super::Session;
use crate::event::{Call, CallState};

impl Session {
    pub(crate) fn wait_elsewhere(&self, call: &str) {
        let elsewhere = self.elsewhere.lock();
        let mut elsewhere = elsewhere.unwrap_or_else(PoisonError::into_inner);
        elsewhere.insert(call.to_owned());
        // Wakes waiters for the other calls.
        self.written.send_replace(self.log.last());
    }

    pub(crate) fn waits(&self, call: &Call) -> bool {
        let elsewhere = self.elsewhere.lock();
        let elsewhere = elsewhere.unwrap_or_else(PoisonError::into_inner);
        call.state == CallState::ApprovalRequired || elsewhere.contains(&call.id)
    }
}
