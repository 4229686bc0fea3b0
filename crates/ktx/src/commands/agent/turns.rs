//! Runs and shows one turn of a session.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_agent_session::{
    Agent, AgentBackend, AgentSession, Channels, Delegation, Equipment, ExecutionResult, OnAsk,
    Session, SessionSettings, Sessions, ToolsRequest, TurnStart,
};
use ktx_diagnostics::Failure;
use ktx_llm_runtime::{Deltas, LlmRuntime};
use ktx_tool_descriptors::ToolSet;
use ktx_usage_ledger::{Limits, Money, ReportGroup, ReportWindow};
use ktx_vocabulary::ModelRole;
use tokio_util::sync::CancellationToken;

use super::agents::{Colleagues, Toolbox, with_model};
use super::display::{Display, Telling};
use super::failures::{answer_failure, backend_failure};
use crate::cli::WhenAsked;
use crate::compose::{self, LedgerSink, RecordingSink, Spending};
use crate::invocation::{CommandContext, OpenProject};
use crate::report::Outcome;
use crate::totals::read_report;

pub(super) const STAGE: &str = "research";

pub(super) struct TurnRunner<'a> {
    pub(super) context: CommandContext<'a>,
    pub(super) agent: Agent,
    pub(super) tools: Arc<Toolbox>,
    pub(super) on_ask: OnAsk,
    pub(super) telling: Telling,
    pub(super) channels: Channels,
    pub(super) delegation: Option<Delegation>,
}

pub(super) fn lower_limits(flags: Limits, agent: &Agent) -> Limits {
    let spending = agent.spending;
    let cost = spending.usd.map(Money::from_dollars);
    let time = spending.minutes.map(|minutes| minutes * 60.0);
    let time = time.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Limits {
        cost: flags.cost.into_iter().chain(cost).min(),
        tokens: flags.tokens.into_iter().chain(spending.tokens).min(),
        time: flags.time.into_iter().chain(time).min(),
    }
}

pub(super) fn delegation(
    context: CommandContext<'_>,
    sessions: &Sessions,
    limits: Limits,
    sink: &Arc<LedgerSink>,
) -> Delegation {
    Delegation {
        sessions: sessions.clone(),
        delegates: Arc::new(Colleagues {
            invocation: context.invocation.clone(),
            dir: context.project.dir.clone(),
            printer: context.printer.clone(),
            limits,
            sink: Arc::clone(sink) as Arc<dyn RecordingSink>,
        }),
        level: 0,
    }
}

impl From<WhenAsked> for OnAsk {
    fn from(chosen: WhenAsked) -> Self {
        match chosen {
            WhenAsked::Deny => Self::Deny,
            WhenAsked::Park => Self::Park,
            WhenAsked::Fail => Self::Fail,
        }
    }
}

impl<'a> TurnRunner<'a> {
    pub(super) fn backend(
        &self,
        limits: Limits,
        sink: &Arc<LedgerSink>,
    ) -> Outcome<AgentBackend<'a>> {
        let backend = AgentBackend::new(ProjectEquipment {
            context: self.context,
            agent: self.agent.clone(),
            tools: Arc::clone(&self.tools),
            limits,
            sink: Arc::clone(sink),
        });
        backend.initialize().map_err(backend_failure)?;
        Ok(backend)
    }

    pub(super) fn conversation(
        &self,
        backend: &AgentBackend<'a>,
        kept: Arc<Session>,
    ) -> Outcome<AgentSession<'a>> {
        let settings = SessionSettings {
            agent: self.agent.clone(),
            on_ask: self.on_ask.clone(),
            deltas: match self.telling {
                Telling::Live | Telling::Chat | Telling::Events => Deltas::AsTheyCome,
                Telling::Whole | Telling::Result => Deltas::ByTurn,
            },
            stage: STAGE.to_owned(),
            run_id: self.context.invocation.run_id.clone(),
            delegation: self.delegation.clone(),
            previews: self.tools.previews(),
        };
        backend
            .create_session(kept, settings)
            .map_err(backend_failure)
    }

    /// A printing error is reported after the paid turn ends.
    pub(super) async fn turn(
        &self,
        session: &AgentSession<'_>,
        start: TurnStart<'_>,
        cancel: &CancellationToken,
    ) -> Outcome<ExecutionResult> {
        let id = session.kept().id();
        let failed = |error| answer_failure(error, id);
        let exchange = session.send_streaming(start, self.channels.clone(), cancel);
        let mut exchange = exchange.map_err(failed)?;
        let mut display = Display::new(self.context.printer, self.telling, id);
        let mut printed = Ok(());
        while let Some(record) = exchange.next_record().await {
            printed = printed.and_then(|()| display.show(&record));
        }
        printed = printed.and_then(|()| display.end_line());
        let result = exchange.finish().await.map_err(failed)?;
        printed.map(|()| result)
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.telling, Telling::Live | Telling::Chat)
    }

    /// US dollars at list prices; `None` if unknown.
    pub(super) fn cost_usd(&self) -> Option<f64> {
        let window = ReportWindow {
            run_id: Some(self.context.invocation.run_id.to_string()),
            since: None,
        };
        let report = read_report(self.context.project, ReportGroup::All, &window).ok()?;
        let total = report.total;
        (total.facts() > 0 && total.cost_is_known()).then(|| total.cost.dollars())
    }
}

struct ProjectEquipment<'a> {
    context: CommandContext<'a>,
    agent: Agent,
    tools: Arc<Toolbox>,
    limits: Limits,
    sink: Arc<LedgerSink>,
}

#[async_trait]
impl Equipment for ProjectEquipment<'_> {
    fn model(&self) -> Result<Arc<dyn LlmRuntime>, Failure> {
        let spending = Spending {
            limits: self.limits,
            roles: &[ModelRole::Default],
        };
        let CommandContext {
            invocation,
            project,
            ..
        } = self.context;
        let open = |project: &OpenProject| {
            compose::llm(invocation, project, &self.sink, spending)?
                .ok_or_else(|| compose::no_model("an agent needs a model"))
        };
        let runtime = open(project)?;
        self.warn_about_settings(runtime.as_ref());
        self.tools
            .open_models(&|model| open(&with_model(model, self.context)?))?;
        Ok(runtime)
    }

    async fn tools(&self, turn: &ToolsRequest<'_>) -> Result<ToolSet, Failure> {
        self.tools.offered(self.context, turn).await
    }

    async fn close(&self) {
        self.tools.close().await;
    }
}

impl ProjectEquipment<'_> {
    /// Warns about settings that the model ignores, unless the backend ignores all of them.
    fn warn_about_settings(&self, runtime: &dyn LlmRuntime) {
        let config = &self.context.project.config;
        let (Some(file), Some(model)) = (&self.agent.file, config.model(ModelRole::Default)) else {
            return;
        };
        if !config.llm.backend.takes_sampling() {
            return;
        }
        let abilities = runtime.abilities(ModelRole::Default);
        for key in self.agent.settings.refused(&abilities) {
            self.context.printer.note(&format!(
                "warning: {file}: {key} is not sent: `{model}` does not take it"
            ));
        }
    }
}
