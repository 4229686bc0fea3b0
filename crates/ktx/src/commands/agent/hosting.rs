//! Hosts agents in a session pool. Each turn has its own run, budget, model and tools.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use ktx_agent_session::{Agent, Host, PoolError, Ready};
use ktx_diagnostics::{Code, Failure};
use ktx_session_log::SessionId;
use ktx_usage_ledger::Limits;

use super::agents::{self, Place, equipped};
use super::failures::{ask_failure, session_failure};
use super::session_store;
use super::turns::{STAGE, delegation, lower_limits};
use crate::compose::LedgerSink;
use crate::invocation::{CommandContext, Invocation, OpenProject, load};
use crate::printer::Printer;
use crate::report::Outcome;

/// Reads agent files at the start of each turn.
pub(super) struct ProjectHost {
    pub(super) invocation: Invocation,
    pub(super) dir: PathBuf,
    pub(super) printer: Printer,
    pub(super) limits: Limits,
}

impl ProjectHost {
    fn project(&self) -> Outcome<OpenProject> {
        load(&self.dir, &self.invocation.environment)
    }
}

#[async_trait]
impl Host for ProjectHost {
    fn agent(&self, name: Option<&str>) -> Result<Agent, Failure> {
        let project = self.project()?;
        let place = Place {
            invocation: &self.invocation,
            project: &project,
            printer: &self.printer,
        };
        agents::current(name, None, place)
    }

    async fn ready(&self, agent: &Agent) -> Result<Ready, Failure> {
        let mut project = self.project()?;
        agents::use_model(&mut project, agent);
        let limits = lower_limits(self.limits, agent);
        let invocation = self.invocation.next_run()?.ending_after(limits.time);
        let sink = LedgerSink::new(&invocation, &project, self.printer.clone());
        let sink = Arc::new(sink);
        let context = CommandContext {
            invocation: &invocation,
            project: &project,
            printer: &self.printer,
        };
        let equipped = equipped(agent, context, limits, &sink).await?;
        let sessions = session_store::sessions(&invocation, &self.dir);
        Ok(Ready {
            tools: equipped.tools.clone(),
            runtime: Arc::clone(&equipped.runtime),
            delegation: Some(delegation(context, &sessions, limits, &sink)),
            run_id: invocation.run_id.clone(),
            stage: STAGE.to_owned(),
            previews: equipped.previews.clone(),
            release: Box::pin(async move {
                equipped.release().await;
                sink.finish();
            }),
        })
    }

    fn new_id(&self, topic: &str) -> Result<SessionId, Failure> {
        session_store::new_id(&self.invocation.next_run()?, topic)
    }
}

pub(super) fn pool_failure(error: PoolError) -> Failure {
    let text = error.to_string();
    match error {
        PoolError::Full { .. } => Failure::new(Code::PoolFull, text)
            .hint("delete a session, or start the server with a larger `--max-agents`"),
        PoolError::Closing => Failure::new(Code::ServerEnding, text),
        PoolError::Working { .. } => Failure::new(Code::SessionBusy, text)
            .hint("interrupt its turn first, or wait for its end"),
        PoolError::OtherAgent { .. } => {
            Failure::new(Code::AgentChanged, text).hint("leave `agent` out, or use another id")
        }
        PoolError::KeyUsed => {
            Failure::new(Code::KeyUsed, text).hint("use another `Idempotency-Key`")
        }
        PoolError::Ask(error) => match SessionId::parse("session") {
            Ok(id) => ask_failure(error, &id),
            Err(_) => Failure::new(Code::Internal, text),
        },
        PoolError::Incomplete(_) => Failure::new(Code::LlmMaxTurns, text),
        PoolError::Session(error) => session_failure(error),
        PoolError::Host(failure) => *failure,
    }
}
