//! Runs one turn of a session and shows it.

use std::sync::Arc;
use std::time::Duration;

use ktx_agent_session::{Agent, Channels, ExecutionResult, OnAsk, Session, Turn, ask, go_on};
use ktx_llm_runtime::{Deltas, LlmRuntime};
use ktx_tool_descriptors::ToolSet;
use ktx_usage_ledger::{Group, Limits, Money, Window};
use ktx_vocabulary::ModelRole;
use tokio_util::sync::CancellationToken;

use super::display::{Display, Telling};
use super::failures::{ask_failure, session_failure};
use crate::cli::WhenAsked;
use crate::compose::{self, LedgerSink, Spending};
use crate::invocation::CommandContext;
use crate::report::Outcome;
use crate::totals::read_report;

/// The stage for accounting the calls of a question.
const STAGE: &str = "research";

/// What a turn begins with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Opening<'a> {
    Question(&'a str),
    /// The turn has begun before.
    Nothing,
}

/// Everything that the turns of one command share.
pub(super) struct Work<'a> {
    pub(super) context: CommandContext<'a>,
    pub(super) agent: Agent,
    pub(super) tools: ToolSet,
    pub(super) on_ask: OnAsk,
    pub(super) telling: Telling,
    pub(super) channels: Channels,
}

/// The smaller of a command's limits and its agent's.
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

impl From<WhenAsked> for OnAsk {
    fn from(chosen: WhenAsked) -> Self {
        match chosen {
            WhenAsked::Deny => Self::Deny,
            WhenAsked::Park => Self::Park,
            WhenAsked::Fail => Self::Fail,
        }
    }
}

impl Work<'_> {
    /// Opens the model that every turn asks.
    pub(super) fn model(
        &self,
        limits: Limits,
        sink: &Arc<LedgerSink>,
    ) -> Outcome<Arc<dyn LlmRuntime>> {
        let spending = Spending {
            limits,
            roles: &[ModelRole::Default],
        };
        let CommandContext {
            invocation,
            project,
            ..
        } = self.context;
        compose::llm(invocation, project, sink, spending)?
            .ok_or_else(|| compose::no_model("an agent needs a model"))
    }

    /// Runs a turn and shows it. A printing error does not end a run that is being billed; it is reported afterwards.
    pub(super) async fn turn(
        &self,
        session: &Arc<Session>,
        runtime: &dyn LlmRuntime,
        opening: Opening<'_>,
        cancel: &CancellationToken,
    ) -> Outcome<ExecutionResult> {
        let turn = Turn {
            agent: self.agent.clone(),
            tools: self.tools.clone(),
            on_ask: self.on_ask.clone(),
            deltas: match self.telling {
                Telling::Live | Telling::Chat | Telling::Events => Deltas::AsTheyCome,
                Telling::Whole | Telling::Result => Deltas::ByTurn,
            },
            stage: STAGE.to_owned(),
            run_id: self.context.invocation.run_id.clone(),
            cancel: cancel.clone(),
        };
        let mut heard = session
            .subscribe(self.channels.clone(), session.last())
            .map_err(session_failure)?;
        let mut display = Display::new(self.context.printer, self.telling, session.id());
        let mut printed = Ok(());
        let asked = async {
            match opening {
                Opening::Question(message) => ask(session, runtime, turn, message).await,
                Opening::Nothing => go_on(session, runtime, turn).await,
            }
        };
        tokio::pin!(asked);
        let result = loop {
            tokio::select! {
                result = &mut asked => break result,
                Ok(Some(record)) = heard.next_record() => {
                    printed = printed.and_then(|()| display.show(&record));
                }
            }
        };
        while let Ok(Some(record)) = heard.next_written() {
            printed = printed.and_then(|()| display.show(&record));
        }
        printed = printed.and_then(|()| display.end_line());
        let result = result.map_err(|error| ask_failure(error, session.id()))?;
        printed.map(|()| result)
    }

    /// Whether people see the answer while it is written.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.telling, Telling::Live | Telling::Chat)
    }

    /// What the command has cost so far, in dollars at list prices; none if that is not known.
    pub(super) fn cost_usd(&self) -> Option<f64> {
        let window = Window {
            run_id: Some(self.context.invocation.run_id.to_string()),
            since: None,
        };
        let report = read_report(self.context.project, Group::All, &window).ok()?;
        let total = report.total;
        (total.facts() > 0 && total.cost_is_known()).then(|| total.cost.dollars())
    }
}
