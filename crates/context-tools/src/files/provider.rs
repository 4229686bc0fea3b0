//! Limits requests to the provider of vectors.

use crate::embedding::Pause;

#[derive(Debug, Default)]
pub(super) struct Provider {
    /// Held until listed passages have vectors, so that no text is paid for twice.
    pub(super) turn: tokio::sync::Mutex<()>,
    pub(super) queries: Pause,
    pub(super) passages: Pause,
}
