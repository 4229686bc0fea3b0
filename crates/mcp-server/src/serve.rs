//! The life cycle of the server.

use std::sync::Arc;

use ktx_context_tools::{ProjectContext, context_tools};
use ktx_mcp_bridge::{Ended, LazyTools, ServerIdentity};
use ktx_tool_descriptors::{ToolDescriptor, ToolSet};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::instructions::{NoteIntake, instructions};

/// Why the server failed.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The session did not begin, or broke.
    #[error("the MCP session ended early")]
    Session {
        /// The cause.
        #[source]
        source: ktx_mcp_bridge::ServeError,
    },
}

/// Serves the project's tools, and `more` that accept input, on standard input and output until the
/// client leaves or `shutdown` is canceled. No other code may write to standard output meanwhile.
pub async fn serve_stdio(
    context: Arc<dyn ProjectContext>,
    more: Vec<ToolDescriptor>,
    version: &str,
    shutdown: CancellationToken,
) -> Result<Ended, ServeError> {
    let identity = identity(version, &more);
    let served = ktx_mcp_bridge::serve_stdio(tools(context, more), identity, shutdown).await;
    served.map_err(|source| ServeError::Session { source })
}

/// As [`serve_stdio`], on any pair of byte streams.
pub async fn serve_stream(
    context: Arc<dyn ProjectContext>,
    version: &str,
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    shutdown: CancellationToken,
) -> Result<Ended, ServeError> {
    let (tools, identity) = (tools(context, Vec::new()), identity(version, &[]));
    let served = ktx_mcp_bridge::serve_stream(tools, identity, reader, writer, shutdown).await;
    served.map_err(|source| ServeError::Session { source })
}

pub(crate) fn tools(context: Arc<dyn ProjectContext>, more: Vec<ToolDescriptor>) -> LazyTools {
    LazyTools::new(move || {
        let reads = context_tools(&context)?;
        ToolSet::new(reads.iter().cloned().chain(more).collect())
    })
}

pub(crate) fn identity(version: &str, more: &[ToolDescriptor]) -> ServerIdentity {
    let notes = if more.iter().any(|tool| tool.name == "memory_ingest") {
        NoteIntake::Enabled
    } else {
        NoteIntake::Disabled
    };
    ServerIdentity {
        name: "ktx".to_owned(),
        title: "ktx".to_owned(),
        version: version.to_owned(),
        instructions: instructions(notes),
    }
}
