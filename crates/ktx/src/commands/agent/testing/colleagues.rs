//! Agents that the tested agent asks, with the arm's view and the test's budget.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use ktx_agent_session::{Agent, Delegate, Delegates, ToolsRequest};
use ktx_diagnostics::{Code, Failure};
use ktx_session_log::SessionId;
use ktx_usage_ledger::Limits;

use super::arms::{Arm, ArmPlan};
use super::execution::open_model;
use crate::commands::agent::agents::{self, AgentSink, Place, limits_beside};
use crate::compose::RecordingSink;
use crate::invocation::{CommandContext, Invocation, OpenProject, load};
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};

pub(super) struct TestColleagues {
    pub(super) invocation: Invocation,
    pub(super) dir: PathBuf,
    pub(super) printer: Printer,
    pub(super) limits: Limits,
    pub(super) sink: Arc<dyn RecordingSink>,
    pub(super) plan: ArmPlan,
}

#[async_trait]
impl Delegates for TestColleagues {
    async fn ready(&self, name: &str, recorded: Option<Agent>) -> Result<Delegate, String> {
        self.open(name, recorded)
            .await
            .map_err(|failure| failure.message)
    }
}

impl TestColleagues {
    async fn open(&self, name: &str, recorded: Option<Agent>) -> Outcome<Delegate> {
        let mut project = load(&self.dir, &self.invocation.environment)?;
        let place = Place {
            invocation: &self.invocation,
            project: &project,
            printer: &self.printer,
        };
        let agent = match recorded {
            Some(agent) => agent,
            None => agents::load(name, place)?,
        };
        agents::use_model(&mut project, &agent);
        let limits = limits_beside(self.limits, &agent);
        let sink = AgentSink::new(&agent, Arc::clone(&self.sink));
        let open = |project: &OpenProject| {
            let what = "an agent needs a model";
            open_model(&self.invocation, project, &sink, limits, what)
        };
        let context = CommandContext {
            invocation: &self.invocation,
            project: &project,
            printer: &self.printer,
        };
        let runtime = open(&project)?;
        let arm = Arm::open(&self.plan, &agent, &self.invocation, &project)?;
        arm.toolbox
            .open_models(&|model| open(&agents::with_model(model, context)?))?;
        let session = SessionId::parse("turn")
            .map_err(|error| Failure::from_error(Code::Internal, &error))?;
        let request = ToolsRequest {
            session: &session,
            run_id: &self.invocation.run_id,
            runtime: &runtime,
        };
        let tools = arm.toolbox.offered(context, &request).await?;
        let settled = Arc::clone(&runtime);
        Ok(Delegate {
            delegates: Some(Arc::new(Self {
                invocation: self.invocation.clone(),
                dir: self.dir.clone(),
                printer: self.printer.clone(),
                limits,
                sink,
                plan: self.plan.clone(),
            })),
            agent: arm.agent.clone(),
            tools,
            runtime,
            previews: None,
            release: Box::pin(async move {
                settled.settle().await;
                arm.toolbox.close().await;
            }),
        })
    }
}
