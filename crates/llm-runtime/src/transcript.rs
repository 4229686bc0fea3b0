//! The transcript of a loop, which lets a later loop continue an interrupted one.

use crate::Message;

/// Stores the messages of a loop after its prompt. A backend whose
/// [`crate::BackendInfo::continues_loops`] is set begins with the earlier messages and records each
/// new one.
pub trait Transcript: Send + Sync {
    /// Returns the messages of the loop to continue, oldest first; empty if there is none. The last
    /// one may be an answer whose tool calls have no results yet.
    fn earlier(&self) -> Vec<Message>;

    /// Stores an answer as soon as it is billed, or the results of its tool calls.
    fn record(&self, message: &Message);
}
