//! One conversation with an agent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::exchange::Exchange;
use super::lifecycle::{AgentMove, AgentStage};
use super::{AgentBackend, AgentSessionError, SessionSettings, ToolsRequest};
use crate::execution::ExecutionResult;
use crate::session::{Channels, Session};
use crate::turn::{Question, Turn, ask, go_on};

#[derive(Debug, Clone, Copy)]
pub enum TurnStart<'a> {
    Question(Question<'a>),
    /// The turn was begun earlier.
    Resumed,
}

impl<'a> From<&'a str> for TurnStart<'a> {
    fn from(text: &'a str) -> Self {
        Self::Question(text.into())
    }
}

/// A conversation with an agent. It takes one question at a time and closes if the model's process
/// ends during a turn. A later conversation can continue it from the session's log.
pub struct AgentSession<'a> {
    backend: AgentBackend<'a>,
    kept: Arc<Session>,
    settings: SessionSettings,
    life: Mutex<Life>,
}

#[derive(Default)]
struct Life {
    stage: AgentStage,
    has_crashed: bool,
}

impl std::fmt::Debug for AgentSession<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentSession")
            .field("id", self.kept.id())
            .field("stage", &self.stage())
            .finish_non_exhaustive()
    }
}

impl<'a> AgentSession<'a> {
    pub(super) fn new(
        backend: AgentBackend<'a>,
        kept: Arc<Session>,
        settings: SessionSettings,
    ) -> Self {
        Self {
            backend,
            kept,
            settings,
            life: Mutex::default(),
        }
    }

    pub const fn kept(&self) -> &Arc<Session> {
        &self.kept
    }

    pub fn stage(&self) -> AgentStage {
        self.lock().stage
    }

    /// Asks and returns the whole answer. Later questions are possible unless the model's process
    /// ended.
    pub async fn send(
        &self,
        start: TurnStart<'_>,
        cancel: &CancellationToken,
    ) -> Result<ExecutionResult, AgentSessionError> {
        self.begin(AgentMove::Send)?;
        self.answer(start, cancel.clone()).await
    }

    /// Asks and streams the answer.
    pub fn send_streaming<'s>(
        &'s self,
        start: TurnStart<'s>,
        channels: Channels,
        cancel: &CancellationToken,
    ) -> Result<Exchange<'s>, AgentSessionError> {
        let heard = self.kept.subscribe(channels, self.kept.last())?;
        self.begin(AgentMove::Stream)?;
        let answered = self.answer(start, cancel.clone());
        Ok(Exchange::new(Box::pin(answered), heard))
    }

    /// Closes the conversation; fails while a turn runs. Idempotent.
    pub fn close(&self) -> Result<(), AgentSessionError> {
        let mut life = self.lock();
        life.stage = life
            .stage
            .after(AgentMove::Close)
            .map_err(AgentSessionError::Move)?;
        Ok(())
    }

    /// Starts a turn; the first one opens the conversation.
    fn begin(&self, wanted: AgentMove) -> Result<(), AgentSessionError> {
        let mut life = self.lock();
        if life.has_crashed {
            return Err(AgentSessionError::Crashed);
        }
        self.backend.runtime()?;
        let mut stage = life.stage;
        if stage == AgentStage::Created {
            stage = stage
                .after(AgentMove::Open)
                .map_err(AgentSessionError::Move)?;
        }
        life.stage = stage.after(wanted).map_err(AgentSessionError::Move)?;
        Ok(())
    }

    fn answer(
        &self,
        start: TurnStart<'_>,
        cancel: CancellationToken,
    ) -> impl Future<Output = Result<ExecutionResult, AgentSessionError>> + Send {
        // Created before the first poll: dropping an unpolled future also ends the turn.
        let mut taken = Taken {
            session: self,
            ended_by: AgentMove::End,
        };
        async move {
            let result = self.ask(start, cancel).await;
            if result.as_ref().is_err_and(AgentSessionError::is_crash) {
                taken.ended_by = AgentMove::Crash;
            }
            drop(taken);
            result
        }
    }

    async fn ask(
        &self,
        start: TurnStart<'_>,
        cancel: CancellationToken,
    ) -> Result<ExecutionResult, AgentSessionError> {
        let runtime = self.backend.runtime()?;
        let wanted = ToolsRequest {
            session: self.kept.id(),
            run_id: &self.settings.run_id,
            runtime: &runtime,
        };
        let tools = self.backend.equipment().tools(&wanted);
        let tools = tools.with_cancellation_token(&cancel).await;
        let tools = tools
            .ok_or_else(AgentSessionError::cancelled)?
            .map_err(AgentSessionError::of_equipment)?;
        let SessionSettings {
            agent,
            on_ask,
            deltas,
            stage,
            run_id,
            delegation,
            previews,
        } = self.settings.clone();
        let turn = Turn {
            agent,
            tools,
            on_ask,
            deltas,
            stage,
            run_id,
            cancel,
            delegation,
            previews,
            room: None,
        };
        let answered = match start {
            TurnStart::Question(question) => {
                ask(&self.kept, runtime.as_ref(), turn, question).await
            }
            TurnStart::Resumed => go_on(&self.kept, runtime.as_ref(), turn).await,
        };
        Ok(answered?)
    }

    fn lock(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A started turn; dropping it ends the turn.
struct Taken<'s, 'a> {
    session: &'s AgentSession<'a>,
    ended_by: AgentMove,
}

impl Drop for Taken<'_, '_> {
    fn drop(&mut self) {
        let mut life = self.session.lock();
        life.has_crashed |= self.ended_by == AgentMove::Crash;
        if let Ok(stage) = life.stage.after(self.ended_by) {
            life.stage = stage;
        }
    }
}
