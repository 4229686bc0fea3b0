//! The way to the prompt.

/// When the prompt is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptAt {
    /// As soon as the account is checked.
    Once,
    /// When the account is checked and [`super::Conversation::release`] was called.
    Release,
}

/// How far the way to the prompt is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// `initialize` is not answered.
    Opening,
    /// The account is the user's own, and this is who pays; the prompt waits.
    Ready(String),
    /// The prompt is written.
    Prompted,
}
