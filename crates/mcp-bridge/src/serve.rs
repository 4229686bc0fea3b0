//! The life cycle of one MCP session.

use std::sync::Arc;

use rmcp::service::{QuitReason, ServerInitializeError, ServiceExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::bridge::Bridge;
use crate::content::ServerContent;
use crate::lazy::LazyTools;
use crate::observer::CallObserver;
use crate::wire::Wire;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerIdentity {
    /// The name by which clients key their settings.
    pub name: String,
    pub title: String,
    pub version: String,
    pub instructions: String,
}

#[derive(Clone)]
pub struct Offer {
    pub tools: Arc<LazyTools>,
    pub content: Option<Arc<dyn ServerContent>>,
    pub observer: Option<Arc<dyn CallObserver>>,
}

impl From<LazyTools> for Offer {
    fn from(tools: LazyTools) -> Self {
        Self {
            tools: Arc::new(tools),
            content: None,
            observer: None,
        }
    }
}

impl std::fmt::Debug for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Offer")
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    InputClosed,
    Shutdown,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the MCP client did not begin a session")]
    Handshake {
        #[source]
        source: Box<ServerInitializeError>,
    },
    #[error("the MCP session broke")]
    Session {
        #[source]
        source: tokio::task::JoinError,
    },
}

/// Serves until the client leaves or `shutdown` is canceled. No other code may write to standard
/// output meanwhile.
pub async fn serve_stdio(
    offer: Offer,
    identity: ServerIdentity,
    shutdown: CancellationToken,
) -> Result<Ended, ServeError> {
    let (reader, writer) = rmcp::transport::io::stdio_pipes();
    serve_stream(
        offer,
        identity,
        Box::new(reader),
        Box::new(writer),
        shutdown,
    )
    .await
}

/// One JSON-RPC message per line.
pub async fn serve_stream(
    offer: Offer,
    identity: ServerIdentity,
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    shutdown: CancellationToken,
) -> Result<Ended, ServeError> {
    let left = CancellationToken::new();
    let bridge = Bridge::new(offer, identity, left.clone());
    let session = match bridge
        .serve_with_ct(Wire::new(reader, writer, left), shutdown)
        .await
    {
        Ok(session) => session,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(Ended::InputClosed),
        Err(ServerInitializeError::Cancelled) => return Ok(Ended::Shutdown),
        Err(source) => {
            return Err(ServeError::Handshake {
                source: Box::new(source),
            });
        }
    };
    match session.waiting().await {
        Ok(QuitReason::Closed) => Ok(Ended::InputClosed),
        Ok(QuitReason::Cancelled) => Ok(Ended::Shutdown),
        Ok(QuitReason::JoinError(source)) | Err(source) => Err(ServeError::Session { source }),
        // The enum is non-exhaustive.
        Ok(_) => Ok(Ended::InputClosed),
    }
}
