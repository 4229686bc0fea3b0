//! `ktx mcp`: the project for agents.

mod background;
mod desk;
mod server;

use std::sync::Arc;

use ktx_context_tools::ProjectContext;
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_memory::{NoteQueue, desk_tools};
use ktx_tool_descriptors::ToolDescriptor;
use ktx_vocabulary::Backend;

use crate::cli::{McpArgs, McpCommand, OutputArgs};
use crate::report::{Outcome, Report as _};
use crate::session::{Opened, Session};
use crate::{compose, context};

pub(crate) fn run(args: &McpArgs, session: &Session) -> Outcome {
    match &args.command {
        Some(McpCommand::Stdio) => stdio(session),
        Some(McpCommand::Start(start)) => background::start(start, session),
        Some(McpCommand::Stop) => background::stop(session),
        Some(McpCommand::Status { output }) => background::status(output, session),
        Some(McpCommand::Logs { follow }) => background::logs(*follow, session),
        Some(McpCommand::Inner(start)) => background::inner(start, session),
        None => background::status(&OutputArgs::default(), session),
    }
}

fn stdio(session: &Session) -> Outcome {
    let dir = session.project_dir()?;
    let opened = crate::session::load(&dir, &session.environment)?;
    with_desk(session, &opened, |context, more| {
        compose::block_on(|cancel| async move {
            ktx_mcp_server::serve_stdio(context, more, env!("CARGO_PKG_VERSION"), cancel)
                .await
                .map_err(|error| Failure::from_error(Code::McpServer, &error))
        })
    })?;
    compose::was_served();
    Ok(Exit::Success)
}

/// Serves the project with the note-taking tools, if there is a model to capture notes.
fn with_desk<T>(
    session: &Session,
    opened: &Opened,
    serve: impl FnOnce(Arc<dyn ProjectContext>, Vec<ToolDescriptor>) -> Outcome<T>,
) -> Outcome<T> {
    let context = context::open_for_agent(session, opened)?;
    let desk = (opened.config.llm.backend != Backend::None)
        .then(|| Arc::new(desk::NoteDesk::new(session.clone(), opened.dir.clone())));
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
