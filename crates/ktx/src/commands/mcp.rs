//! `ktx mcp`: the project for agents.

mod desk;

use std::sync::Arc;

use ktx_config::Backend;
use ktx_memory::{Desk, desk_tools};
use ktx_tool_descriptors::ToolDescriptor;

use crate::cli::{McpArgs, McpCommand};
use crate::context;
use crate::exit::Exit;
use crate::report::{Failure, Outcome};
use crate::session::Session;

/// Serves the project.
pub(crate) fn run(args: &McpArgs, session: &Session) -> Outcome {
    match &args.command {
        McpCommand::Stdio => stdio(session),
        McpCommand::Start(_) => Err(absent("start", "no server is put into the background")),
        McpCommand::Logs(_) => Err(absent("logs", "no server runs in the background")),
        McpCommand::Stop(_) | McpCommand::Status(_) => nothing_runs(session),
    }
}

fn stdio(session: &Session) -> Outcome {
    let dir = session.project_dir()?;
    let opened = crate::session::load(&dir, &session.environment)?;
    let context = context::open(session, &opened)?;
    let desk = (opened.config.llm.backend != Backend::None)
        .then(|| Arc::new(desk::NoteDesk::new(session.clone(), dir)));
    let more = desk.as_ref().map_or_else(Vec::new, |desk| {
        let desk: Arc<dyn Desk> = Arc::<desk::NoteDesk>::clone(desk);
        desk_tools(&desk)
    });
    let served = crate::compose::block_on(|cancel| async move {
        ktx_mcp_server::serve_stdio(context, more, env!("CARGO_PKG_VERSION"), cancel)
            .await
            .map_err(|error| Failure::from_error(Exit::Failure, "mcp_server", &error))
    });
    // Notes that were taken are captured, unless the program was asked to end.
    if let Some(desk) = desk {
        desk.close();
    }
    served?;
    crate::compose::was_served();
    Ok(Exit::Success)
}

/// The tools that take notes, for the reference page.
pub(crate) fn memory_tools() -> Vec<ToolDescriptor> {
    desk_tools(&(Arc::new(desk::Closed) as Arc<dyn Desk>))
}

/// A command of KTX 0.12 that is not there.
fn absent(word: &str, reason: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        "not_available",
        format!(
            "`ktx mcp {word}` is not in this version: {reason}, each agent starts its own over stdio"
        ),
    )
    .hint("`ktx setup --agents --target claude-code` writes the settings of an agent")
    .hint("any MCP client can start `ktx --project-dir <folder> mcp stdio`")
}

/// What `mcp stop` and `mcp status` say, and what KTX 0.12 may have left.
fn nothing_runs(session: &Session) -> Outcome {
    let dir = session.project_dir()?;
    let opened = crate::session::load(&dir, &session.environment)?;
    crate::printer::stdout(
        "stopped: nothing runs in the background; each agent starts its own `ktx mcp stdio`\n",
    )?;
    if opened.store.layout().mcp_state().is_file() {
        crate::printer::stderr_line(
            "note: `.ktx/mcp.json` is of a server of KTX 0.12; if it still runs, stop it with that version",
        );
    }
    Ok(Exit::Success)
}
