//! When the provider of vectors is asked: one request for passages at a time, and after a failure
//! not at once again.

use crate::embedding::Pause;

/// What a context remembers of its provider.
#[derive(Debug, Default)]
pub(super) struct Provider {
    /// Held from listing passages until their vectors are kept, so that no text is paid for twice.
    pub(super) turn: tokio::sync::Mutex<()>,
    pub(super) queries: Pause,
    pub(super) passages: Pause,
}
