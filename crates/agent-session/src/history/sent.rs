//! Sent messages that wait for their turn.

use super::History;
use crate::event::Cause;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SentMessage {
    pub(crate) text: String,
    pub(crate) seq: u64,
    pub(crate) turn: u32,
}

impl History {
    /// Returns the waiting messages, oldest first.
    pub fn queued(&self) -> &[String] {
        &self.queued
    }

    pub(crate) fn sent_with(&self, key: &str) -> Option<&SentMessage> {
        self.keys.get(key)
    }

    /// True if a server owes an answer. If no process has the session open, the server was killed.
    pub fn is_promised(&self) -> bool {
        let is_open = self.promised == self.turn && self.is_left();
        self.promised > 0 && (is_open || !self.queued.is_empty())
    }

    /// True if the last turn has no end, or got a decision while parked. A process that continues
    /// it has the session open.
    pub(crate) fn is_left(&self) -> bool {
        self.end
            .is_none_or(|end| end.cause == Some(Cause::Parked) && self.waiting_calls().is_empty())
    }
}
