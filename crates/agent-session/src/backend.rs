//! Agent backends and their conversations (HOLO-32, HOLO-33, HOLO-35, HOLO-36).

mod conversation;
mod exchange;
mod lifecycle;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ktx_diagnostics::Failure;
use ktx_llm_runtime::{BackendInfo, Deltas, LlmError, LlmErrorKind, LlmRuntime};
use ktx_session_log::SessionId;
use ktx_tool_descriptors::ToolSet;
use ktx_vocabulary::RunId;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::approvals::OnAsk;
use crate::delegation::Delegation;
use crate::execution::ExecutionResult;
use crate::previews::Previews;
use crate::session::{Session, SessionError};
use crate::sessions::Sessions;
use crate::turn::{AskError, Question};

pub use conversation::{AgentSession, TurnStart};
pub use exchange::Exchange;
pub use lifecycle::{AgentMove, AgentStage, IllegalMove};

/// What an agent needs from its project.
#[async_trait]
pub trait Equipment: Send + Sync {
    /// Opens the model without calling it.
    fn model(&self) -> Result<Arc<dyn LlmRuntime>, Failure>;

    /// Returns the tools of a turn, starting their servers.
    async fn tools(&self, turn: &ToolsRequest<'_>) -> Result<ToolSet, Failure>;

    async fn close(&self);
}

#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a model has none")]
pub struct ToolsRequest<'r> {
    pub session: &'r SessionId,
    /// Model calls are accounted to this run.
    pub run_id: &'r RunId,
    pub runtime: &'r Arc<dyn LlmRuntime>,
}

#[derive(Debug, Clone)]
pub struct SessionSettings {
    pub agent: Agent,
    pub on_ask: OnAsk,
    pub deltas: Deltas,
    /// Model calls are accounted to this stage, such as `research`.
    pub stage: String,
    pub run_id: RunId,
    pub delegation: Option<Delegation>,
    pub previews: Option<Arc<dyn Previews>>,
}

/// A new conversation of its own.
#[derive(Debug)]
pub struct Fresh<'a> {
    pub sessions: &'a Sessions,
    pub id: SessionId,
    pub settings: SessionSettings,
}

#[derive(Debug, thiserror::Error)]
pub enum AgentSessionError {
    #[error("the backend of the agent {0}")]
    Backend(IllegalMove),
    #[error("the session {0}")]
    Move(IllegalMove),
    /// The model's process ended in an earlier turn.
    #[error("the session is closed: the process of the model ended during its last turn")]
    Crashed,
    #[error(transparent)]
    Equipment(Box<Failure>),
    #[error(transparent)]
    Ask(#[from] AskError),
}

impl From<SessionError> for AgentSessionError {
    fn from(error: SessionError) -> Self {
        Self::Ask(AskError::Session(error))
    }
}

impl AgentSessionError {
    fn of_equipment(failure: Failure) -> Self {
        Self::Equipment(Box::new(failure))
    }

    fn cancelled() -> Self {
        Self::Ask(AskError::Model(LlmError::cancelled()))
    }

    fn is_crash(&self) -> bool {
        matches!(self, Self::Ask(AskError::Model(error)) if error.kind == LlmErrorKind::Crashed)
    }
}

/// Runs an agent's conversations on any model backend. Clones share all state.
#[derive(Clone)]
pub struct AgentBackend<'a> {
    inner: Arc<Inner<'a>>,
}

struct Inner<'a> {
    equipment: Box<dyn Equipment + 'a>,
    state: Mutex<BackendState>,
}

#[derive(Default)]
struct BackendState {
    stage: AgentStage,
    /// Set from `initialize` to `teardown`.
    runtime: Option<Arc<dyn LlmRuntime>>,
}

impl std::fmt::Debug for AgentBackend<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentBackend")
            .field("stage", &self.stage())
            .finish_non_exhaustive()
    }
}

impl<'a> AgentBackend<'a> {
    pub fn new(equipment: impl Equipment + 'a) -> Self {
        Self {
            inner: Arc::new(Inner {
                equipment: Box::new(equipment),
                state: Mutex::default(),
            }),
        }
    }

    /// Opens the model. Fails if it was initialized before.
    pub fn initialize(&self) -> Result<(), AgentSessionError> {
        let mut state = self.lock();
        let next = state.stage.after(AgentMove::Open);
        let next = next.map_err(AgentSessionError::Backend)?;
        let runtime = self.inner.equipment.model();
        state.runtime = Some(runtime.map_err(AgentSessionError::of_equipment)?);
        state.stage = next;
        Ok(())
    }

    pub fn stage(&self) -> AgentStage {
        self.lock().stage
    }

    /// Describes the model's backend.
    pub fn describe(&self) -> Result<BackendInfo, AgentSessionError> {
        Ok(self.runtime()?.describe())
    }

    /// Returns a conversation over a new or an earlier session.
    pub fn create_session(
        &self,
        kept: Arc<Session>,
        settings: SessionSettings,
    ) -> Result<AgentSession<'a>, AgentSessionError> {
        self.runtime()?;
        Ok(AgentSession::new(self.clone(), kept, settings))
    }

    pub fn begin_session(&self, fresh: Fresh<'_>) -> Result<AgentSession<'a>, AgentSessionError> {
        self.runtime()?;
        let kept = fresh.sessions.create(&fresh.id, &fresh.settings.agent)?;
        self.create_session(Arc::new(kept), fresh.settings)
    }

    /// Asks one question in a new conversation.
    pub async fn invoke_once(
        &self,
        fresh: Fresh<'_>,
        question: impl Into<Question<'_>>,
        cancel: &CancellationToken,
    ) -> Result<ExecutionResult, AgentSessionError> {
        let session = self.begin_session(fresh)?;
        let result = session
            .send(TurnStart::Question(question.into()), cancel)
            .await;
        session.close()?;
        result
    }

    /// Ends background work and closes the tools. Idempotent.
    pub async fn teardown(&self) {
        let runtime = {
            let mut state = self.lock();
            state.stage = AgentStage::Closed;
            state.runtime.take()
        };
        if let Some(runtime) = runtime {
            runtime.settle().await;
        }
        self.inner.equipment.close().await;
    }

    fn runtime(&self) -> Result<Arc<dyn LlmRuntime>, AgentSessionError> {
        let state = self.lock();
        let stage = state.stage;
        let runtime = state.runtime.clone();
        runtime.ok_or_else(|| AgentSessionError::Backend(stage.refusal(AgentMove::Send)))
    }

    fn equipment(&self) -> &dyn Equipment {
        self.inner.equipment.as_ref()
    }

    fn lock(&self) -> MutexGuard<'_, BackendState> {
        self.inner
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
