//! Messages that were sent and wait for their turn.

use super::History;
use crate::event::Cause;

/// A message that was sent with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SentMessage {
    pub(crate) text: String,
    /// Its record.
    pub(crate) seq: u64,
    /// The turn that answers it.
    pub(crate) turn: u32,
}

impl History {
    /// Returns the messages that wait, oldest first.
    pub fn queued(&self) -> &[String] {
        &self.queued
    }

    /// Returns the message that was sent with a key.
    pub(crate) fn sent_with(&self, key: &str) -> Option<&SentMessage> {
        self.keys.get(key)
    }

    /// Whether a server has taken a message whose turn is not over. If no process has the session open, the server was
    /// killed.
    pub fn is_promised(&self) -> bool {
        let is_open = self.promised == self.turn && self.is_left();
        self.promised > 0 && (is_open || !self.queued.is_empty())
    }

    /// Whether the last turn has no end, or was decided about since it was parked. A process that continues it has the
    /// session open.
    pub(crate) fn is_left(&self) -> bool {
        self.end
            .is_none_or(|end| end.cause == Some(Cause::Parked) && self.waiting_calls().is_empty())
    }
}
