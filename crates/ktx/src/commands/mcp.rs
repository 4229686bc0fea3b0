//! `ktx mcp`: the project for agents.

mod background;
mod desk;
mod server;

use std::sync::Arc;

use ktx_context_tools::{ProjectContext, ToolProfile};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_mcp_server::ServedTools;
use ktx_memory::{NoteQueue, desk_tools};
use ktx_tool_descriptors::ToolDescriptor;
use ktx_vocabulary::Backend;

use crate::cli::{McpArgs, McpCommand, McpOfferArgs, McpTools, OutputArgs};
use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};
use crate::{compose, context};

pub(crate) fn run(args: &McpArgs, invocation: &Invocation) -> Outcome {
    match &args.command {
        Some(McpCommand::Stdio { offer }) => stdio(offer, invocation),
        Some(McpCommand::Start(start)) => background::start(start, invocation),
        Some(McpCommand::Stop) => background::stop(invocation),
        Some(McpCommand::Status { output }) => background::status(output, invocation),
        Some(McpCommand::Logs { follow }) => background::logs(*follow, invocation),
        Some(McpCommand::Inner(start)) => background::inner(start, invocation),
        None => background::status(&OutputArgs::default(), invocation),
    }
}

fn stdio(offer: &McpOfferArgs, invocation: &Invocation) -> Outcome {
    let dir = invocation.project_dir()?;
    let project = crate::invocation::load(&dir, &invocation.environment)?;
    with_desk(invocation, &project, |context, more| {
        compose::block_on(|cancel| async move {
            let served = ServedTools {
                context,
                more,
                profile: profile(offer),
                version: env!("CARGO_PKG_VERSION"),
            };
            ktx_mcp_server::serve_stdio(served, cancel)
                .await
                .map_err(|error| Failure::from_error(Code::McpServer, &error))
        })
    })?;
    compose::was_served();
    Ok(Exit::Success)
}

/// Returns the profile that a command line asks for.
const fn profile(offer: &McpOfferArgs) -> ToolProfile {
    match offer.tools {
        McpTools::Full => ToolProfile::Full,
        McpTools::Core => ToolProfile::Core,
    }
}

/// Serves the project with the note-taking tools, if there is a model to capture notes.
fn with_desk<T>(
    invocation: &Invocation,
    project: &OpenProject,
    serve: impl FnOnce(Arc<dyn ProjectContext>, Vec<ToolDescriptor>) -> Outcome<T>,
) -> Outcome<T> {
    let context = context::open_for_agent(invocation, project)?;
    let desk = (project.config.llm.backend != Backend::None)
        .then(|| Arc::new(desk::NoteDesk::new(invocation.clone(), project.dir.clone())));
    let more = desk.as_ref().map_or_else(Vec::new, |desk| {
        let desk: Arc<dyn NoteQueue> = Arc::<desk::NoteDesk>::clone(desk);
        desk_tools(&desk)
    });
    let served = serve(context, more);
    // Accepted notes are captured, unless the program was asked to end.
    if let Some(desk) = desk {
        desk.close();
    }
    served
}

/// Returns the note-taking tools, for the reference page.
pub(crate) fn memory_tools() -> Vec<ToolDescriptor> {
    desk_tools(&(Arc::new(desk::Closed) as Arc<dyn NoteQueue>))
}
