//! `ktx mcp`.

mod background;
mod desk;
mod reloading;
mod review;
mod server;

use std::sync::Arc;

use ktx_config::DEFAULT_CLIENT;
use ktx_context_tools::{ReloadedContext, ToolProfile};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_mcp_server::{Renewal, RenewedTools, ServedTools};
use ktx_memory::{NoteQueue, desk_tools};
use ktx_tool_descriptors::ToolDescriptor;
use ktx_vocabulary::Backend;

use crate::call_log::CallLog;
use crate::cli::{McpArgs, McpCommand, McpOfferArgs, McpTools, OutputArgs};
use crate::compose;
use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};
use reloading::Who;

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
    let context = reloading::context(invocation, &project, Who::Default)?;
    with_desk(invocation, &project, |desk| {
        let served = served(&context, desk, profile(offer), (DEFAULT_CLIENT, &project));
        compose::block_on(|cancel| async move {
            ktx_mcp_server::serve_stdio(served, cancel)
                .await
                .map_err(|error| Failure::from_error(Code::McpServer, &error))
        })
    })?;
    compose::was_served();
    Ok(Exit::Success)
}

const fn profile(offer: &McpOfferArgs) -> ToolProfile {
    match offer.tools {
        McpTools::Full => ToolProfile::Full,
        McpTools::Core => ToolProfile::Core,
    }
}

fn served(
    context: &ReloadedContext,
    desk: Vec<ToolDescriptor>,
    usual: ToolProfile,
    (client, project): (&str, &OpenProject),
) -> ServedTools<'static> {
    let (versioned, renewed) = (context.clone(), context.clone());
    let (dir, environment) = (project.dir.clone(), project.store.environment().clone());
    // Reads proposals when a client asks for tools, to keep the start fast.
    let at_start = reloading::tools(context, &desk, usual, &review::may_be_for_everyone);
    let renewal = Renewal {
        version: Arc::new(move || versioned.offered().0),
        tools: Arc::new(move || {
            let is_open = |name: &str| review::is_for_everyone(name, &dir, &environment);
            reloading::tools(&renewed, &desk, usual, &is_open)
        }),
    };
    let RenewedTools {
        more,
        profile,
        only,
    } = at_start;
    ServedTools {
        context: Arc::new(context.clone()),
        more,
        profile,
        only,
        renewal: Some(renewal),
        observer: Some(Arc::new(CallLog::new(&project.store, client))),
        wrap: |tools| ktx_observability::traced_calls(&tools),
        version: env!("CARGO_PKG_VERSION"),
    }
}

fn with_desk<T>(
    invocation: &Invocation,
    project: &OpenProject,
    serve: impl FnOnce(Vec<ToolDescriptor>) -> Outcome<T>,
) -> Outcome<T> {
    let desk = (project.config.llm.backend != Backend::None)
        .then(|| Arc::new(desk::NoteDesk::new(invocation.clone(), project.dir.clone())));
    let mut more = desk.as_ref().map_or_else(Vec::new, |desk| {
        let desk: Arc<dyn NoteQueue> = Arc::<desk::NoteDesk>::clone(desk);
        desk_tools(&desk)
    });
    more.extend(review::tools(invocation, project));
    let served = serve(more);
    // Captures accepted notes, unless the program must end.
    if let Some(desk) = desk {
        desk.close();
    }
    served
}

/// Tools of some projects or clients, for reference pages.
pub(crate) fn further_tools() -> Vec<ToolDescriptor> {
    let mut tools = desk_tools(&(Arc::new(desk::ClosedDesk) as Arc<dyn NoteQueue>));
    tools.extend(review::described_tools());
    tools
}
