//! The transcript of a continued loop.

use crate::Message;

/// Stores a loop's messages after its prompt, for backends with
/// [`crate::BackendInfo::continues_loops`].
pub trait Transcript: Send + Sync {
    /// Returns the messages of earlier loops, oldest first. The last tool calls may have no results
    /// yet.
    fn earlier(&self) -> Vec<Message>;

    /// Stores a billed answer, or the results of its calls.
    fn record(&self, message: &Message);
}
