//! Agents that other agents ask.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use ktx_agent_session::{Agent, Delegate, Delegates, Previews, ToolsRequest};
use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::LlmRuntime;
use ktx_session_log::SessionId;
use ktx_tool_descriptors::ToolSet;
use ktx_usage_ledger::Limits;
use ktx_vocabulary::ModelRole;

use super::share::{AgentSink, limits_beside};
use super::{Place, Toolbox, from_file, use_model, with_model};
use crate::compose::{self, RecordingSink, Spending};
use crate::invocation::{CommandContext, Invocation, OpenProject, load};
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};

/// Stays within the remaining budget of the command.
pub(in crate::commands::agent) struct Colleagues {
    pub(in crate::commands::agent) invocation: Invocation,
    pub(in crate::commands::agent) dir: PathBuf,
    pub(in crate::commands::agent) printer: Printer,
    pub(in crate::commands::agent) limits: Limits,
    pub(in crate::commands::agent) sink: Arc<dyn RecordingSink>,
}

#[async_trait]
impl Delegates for Colleagues {
    async fn ready(&self, name: &str, recorded: Option<Agent>) -> Result<Delegate, String> {
        self.open(name, recorded)
            .await
            .map_err(|failure| failure.message)
    }
}

pub(in crate::commands::agent) struct Equipped {
    pub(in crate::commands::agent) runtime: Arc<dyn LlmRuntime>,
    pub(in crate::commands::agent) tools: ToolSet,
    pub(in crate::commands::agent) previews: Option<Arc<dyn Previews>>,
    toolbox: Toolbox,
}

pub(in crate::commands::agent) async fn equipped<S: RecordingSink + 'static>(
    agent: &Agent,
    context: CommandContext<'_>,
    limits: Limits,
    sink: &Arc<S>,
) -> Outcome<Equipped> {
    let CommandContext {
        invocation,
        project,
        ..
    } = context;
    let spending = Spending {
        limits,
        roles: &[ModelRole::Default],
    };
    let open = |project: &OpenProject| {
        compose::llm(invocation, project, sink, spending)?
            .ok_or_else(|| compose::no_model("an agent needs a model"))
    };
    let runtime = open(project)?;
    let toolbox = Toolbox::open(agent, invocation, project)?;
    toolbox.open_models(&|model| open(&with_model(model, context)?))?;
    let session =
        SessionId::parse("turn").map_err(|error| Failure::from_error(Code::Internal, &error))?;
    let request = ToolsRequest {
        session: &session,
        run_id: &invocation.run_id,
        runtime: &runtime,
    };
    let tools = toolbox.offered(context, &request).await?;
    Ok(Equipped {
        runtime,
        tools,
        previews: toolbox.previews(),
        toolbox,
    })
}

impl Equipped {
    pub(in crate::commands::agent) async fn release(self) {
        self.runtime.settle().await;
        self.toolbox.close().await;
    }
}

impl Colleagues {
    async fn open(&self, name: &str, recorded: Option<Agent>) -> Outcome<Delegate> {
        let mut project = load(&self.dir, &self.invocation.environment)?;
        let agent = match recorded {
            Some(agent) => agent,
            None => from_file::load(
                name,
                Place {
                    invocation: &self.invocation,
                    project: &project,
                    printer: &self.printer,
                },
            )?,
        };
        use_model(&mut project, &agent);
        let context = CommandContext {
            invocation: &self.invocation,
            project: &project,
            printer: &self.printer,
        };
        let limits = limits_beside(self.limits, &agent);
        let sink = AgentSink::new(&agent, Arc::clone(&self.sink));
        let equipped = equipped(&agent, context, limits, &sink).await?;
        Ok(Delegate {
            delegates: Some(Arc::new(Self {
                invocation: self.invocation.clone(),
                dir: self.dir.clone(),
                printer: self.printer.clone(),
                limits,
                sink,
            })),
            agent,
            tools: equipped.tools.clone(),
            runtime: Arc::clone(&equipped.runtime),
            previews: equipped.previews.clone(),
            release: Box::pin(equipped.release()),
        })
    }
}
