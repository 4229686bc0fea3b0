//! The life cycle of the server.

use std::sync::Arc;

use ktx_context_tools::{ProjectContext, ToolProfile, context_tools, listed_in_core};
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

/// The tools that a server offers.
pub struct ServedTools<'a> {
    /// The project that they read.
    pub context: Arc<dyn ProjectContext>,
    /// Further tools, such as those that take notes.
    pub more: Vec<ToolDescriptor>,
    /// Which of them it offers.
    pub profile: ToolProfile,
    /// The version of ktx.
    pub version: &'a str,
}

impl std::fmt::Debug for ServedTools<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServedTools")
            .field("more", &self.more)
            .field("profile", &self.profile)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl ServedTools<'_> {
    pub(crate) fn identity(&self) -> ServerIdentity {
        let takes_notes = self.more.iter().any(|tool| tool.name == "memory_ingest");
        let notes = if takes_notes {
            NoteIntake::Enabled
        } else {
            NoteIntake::Disabled
        };
        ServerIdentity {
            name: "ktx".to_owned(),
            title: "ktx".to_owned(),
            version: self.version.to_owned(),
            instructions: instructions(self.profile, notes),
        }
    }

    pub(crate) fn tools(self) -> LazyTools {
        let Self {
            context,
            more,
            profile,
            ..
        } = self;
        let tools = LazyTools::new(move || {
            let reads = context_tools(&context)?;
            let all = reads.iter().cloned().chain(more);
            ToolSet::new(all.filter(|tool| profile.has(&tool.name)).collect())
        });
        match profile {
            ToolProfile::Full => tools,
            ToolProfile::Core => tools.listed_by(listed_in_core),
        }
    }
}

/// Serves tools on standard input and output until the client leaves or `shutdown` is canceled. No
/// other code may write to standard output meanwhile.
pub async fn serve_stdio(
    served: ServedTools<'_>,
    shutdown: CancellationToken,
) -> Result<Ended, ServeError> {
    let identity = served.identity();
    let ended = ktx_mcp_bridge::serve_stdio(served.tools(), identity, shutdown).await;
    ended.map_err(|source| ServeError::Session { source })
}

/// As [`serve_stdio`], on any pair of byte streams.
pub async fn serve_stream(
    served: ServedTools<'_>,
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    shutdown: CancellationToken,
) -> Result<Ended, ServeError> {
    let identity = served.identity();
    let ended =
        ktx_mcp_bridge::serve_stream(served.tools(), identity, reader, writer, shutdown).await;
    ended.map_err(|source| ServeError::Session { source })
}
