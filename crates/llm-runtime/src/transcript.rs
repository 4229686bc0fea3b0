//! The transcript of a loop, so that a later loop can continue one that was cut off.

use crate::Message;

/// Keeps what was said in a loop after its prompt. A backend whose [`crate::BackendInfo::continues_loops`] is set
/// begins with the earlier messages and records each message that follows.
pub trait Transcript: Send + Sync {
    /// The messages of the loop that this one continues, oldest first; empty when it continues none. The last one
    /// may be an answer whose tool calls have no results yet.
    fn earlier(&self) -> Vec<Message>;

    /// Keeps an answer, as soon as it is paid for, or the results of its tool calls.
    fn record(&self, message: &Message);
}
