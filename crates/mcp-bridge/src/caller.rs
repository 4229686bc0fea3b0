//! Who waits for the answer to a request over HTTP, as far as the server can tell.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::Extensions;
use tokio_util::sync::CancellationToken;

/// Travels with a request to the tool that it calls. Without HTTP there is nobody to tell of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    gone: CancellationToken,
    has_called: Arc<AtomicBool>,
}

impl Caller {
    /// `gone` is fired when nobody hears the answer any more, `has_called` is set when a tool is called.
    pub(crate) fn new(gone: CancellationToken, has_called: Arc<AtomicBool>) -> Self {
        Self { gone, has_called }
    }

    /// The one of a request.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let parts = extensions.get::<http::request::Parts>();
        let caller = parts.and_then(|parts| parts.extensions.get());
        caller.cloned().unwrap_or_default()
    }

    /// Notes that a tool is called.
    pub(crate) fn calls(&self) {
        self.has_called.store(true, Ordering::Relaxed);
    }

    /// Waits until nobody hears the answer any more.
    pub(crate) async fn gone(&self) {
        self.gone.cancelled().await;
    }
}
