//! The transcript of a loop, from which a later loop continues.

use crate::Message;

/// Stores the messages of a loop after its prompt. A backend with
/// [`crate::BackendInfo::continues_loops`] begins with the earlier messages and records each new
/// one.
pub trait Transcript: Send + Sync {
    /// Oldest first; empty if there is no earlier loop. The last one may be an answer whose tool
    /// calls have no results yet.
    fn earlier(&self) -> Vec<Message>;

    /// Stores an answer as soon as it is billed, or the results of its tool calls.
    fn record(&self, message: &Message);
}
