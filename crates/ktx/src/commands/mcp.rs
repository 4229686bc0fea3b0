//! `ktx mcp`: the project for agents.

use crate::cli::{McpArgs, McpCommand};
use crate::context;
use crate::exit::Exit;
use crate::report::{Failure, Outcome};
use crate::session::Session;

/// Serves the project.
pub(crate) fn run(args: &McpArgs, session: &Session) -> Outcome {
    match args.command {
        McpCommand::Stdio => stdio(session),
    }
}

fn stdio(session: &Session) -> Outcome {
    let dir = session.project_dir()?;
    let opened = crate::session::load(&dir, &session.environment)?;
    let context = context::open(session, &opened)?;
    crate::compose::block_on(|cancel| async move {
        ktx_mcp_server::serve_stdio(context, env!("CARGO_PKG_VERSION"), cancel)
            .await
            .map_err(|error| Failure::from_error(Exit::Failure, "mcp_server", &error))
    })?;
    Ok(Exit::Success)
}
