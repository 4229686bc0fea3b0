//! The client that waits for the answer to an HTTP request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::Extensions;
use tokio_util::sync::CancellationToken;

/// Inert without HTTP.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    gone: CancellationToken,
    has_called: Arc<AtomicBool>,
}

impl Caller {
    /// `gone` is canceled when the client stops waiting.
    pub(crate) fn new(gone: CancellationToken, has_called: Arc<AtomicBool>) -> Self {
        Self { gone, has_called }
    }

    pub(crate) fn of(extensions: &Extensions) -> Self {
        let parts = extensions.get::<http::request::Parts>();
        let caller = parts.and_then(|parts| parts.extensions.get());
        caller.cloned().unwrap_or_default()
    }

    pub(crate) fn token(&self) -> CancellationToken {
        self.gone.clone()
    }

    pub(crate) fn calls(&self) {
        self.has_called.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    pub(crate) async fn gone(&self) {
        self.gone.cancelled().await;
    }
}
