//! The life cycle of the server.

use std::sync::Arc;

use ktx_context_tools::{ProjectContext, ToolProfile, context_tools, listed_in_core};
use ktx_mcp_bridge::{CallObserver, Ended, LazyTools, Offer, ServerContent, ServerIdentity};
use ktx_tool_descriptors::{ToolDescriptor, ToolSet};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::content::ProjectContent;
use crate::instructions::{NoteIntake, instructions};

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the MCP session ended early")]
    Session {
        #[source]
        source: ktx_mcp_bridge::ServeError,
    },
}

pub struct ServedTools<'a> {
    pub context: Arc<dyn ProjectContext>,
    pub more: Vec<ToolDescriptor>,
    pub profile: ToolProfile,
    /// If present, limits the tools to these and removes resources and prompts.
    pub only: Option<Vec<String>>,
    /// Absent if the tools never change.
    pub renewal: Option<Renewal>,
    pub observer: Option<Arc<dyn CallObserver>>,
    /// Wraps the tools, such as for tracing.
    pub wrap: fn(ToolSet) -> ToolSet,
    pub version: &'a str,
}

impl std::fmt::Debug for Renewal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renewal").finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub struct RenewedTools {
    pub more: Vec<ToolDescriptor>,
    pub profile: ToolProfile,
    pub only: Option<Vec<String>>,
}

/// Reports changes of the tools.
#[derive(Clone)]
pub struct Renewal {
    pub version: Arc<dyn Fn() -> u64 + Send + Sync>,
    pub tools: Arc<dyn Fn() -> RenewedTools + Send + Sync>,
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

    pub(crate) fn offer(self) -> Offer {
        let Self {
            context,
            more,
            profile,
            only,
            renewal,
            observer,
            wrap,
            ..
        } = self;
        let has_content = only.is_none();
        let project = Arc::clone(&context);
        let renewed = renewal.clone();
        let tools = LazyTools::new(move || {
            let now = renewed.as_ref().map(|renewed| (renewed.tools)());
            let reads = context_tools(&context)?;
            let (more, profile, only) = match &now {
                Some(now) => (&now.more, now.profile, &now.only),
                None => (&more, profile, &only),
            };
            let all = reads.iter().cloned().chain(more.iter().cloned());
            let is_offered = |tool: &ToolDescriptor| {
                let listed = |only: &Vec<String>| only.contains(&tool.name);
                profile.has(&tool.name) && only.as_ref().is_none_or(listed)
            };
            ToolSet::new(all.filter(is_offered).collect()).map(wrap)
        });
        let tools = match renewal {
            Some(renewal) => tools.renewed_by(move || (renewal.version)()),
            None => tools,
        };
        let tools = Arc::new(match profile {
            ToolProfile::Full => tools,
            ToolProfile::Core => tools.listed_by(listed_in_core),
        });
        Offer {
            content: has_content.then(|| {
                let content = ProjectContent::new(project, Arc::clone(&tools));
                Arc::new(content) as Arc<dyn ServerContent>
            }),
            tools,
            observer,
        }
    }
}

/// Serves until the client leaves or `shutdown` is canceled. No other code may write to standard
/// output meanwhile.
pub async fn serve_stdio(
    served: ServedTools<'_>,
    shutdown: CancellationToken,
) -> Result<Ended, ServeError> {
    let identity = served.identity();
    let ended = ktx_mcp_bridge::serve_stdio(served.offer(), identity, shutdown).await;
    ended.map_err(|source| ServeError::Session { source })
}

/// Like [`serve_stdio`], on any pair of byte streams.
pub async fn serve_stream(
    served: ServedTools<'_>,
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    shutdown: CancellationToken,
) -> Result<Ended, ServeError> {
    let identity = served.identity();
    let ended =
        ktx_mcp_bridge::serve_stream(served.offer(), identity, reader, writer, shutdown).await;
    ended.map_err(|source| ServeError::Session { source })
}
