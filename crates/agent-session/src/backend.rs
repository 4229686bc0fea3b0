//! Answers the questions of an agent, in conversations that end with their child (HOLO-32, HOLO-33, HOLO-35, HOLO-36).

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

/// What an agent works with, as its project has it.
#[async_trait]
pub trait Equipment: Send + Sync {
    /// Opens the model. Asks it nothing.
    ///
    /// # Errors
    /// Settings that name no model, or one that cannot be used.
    fn model(&self) -> Result<Arc<dyn LlmRuntime>, Failure>;

    /// Returns the tools of a turn. What they need is started with the first one.
    ///
    /// # Errors
    /// Tools that cannot be had.
    async fn tools(&self, turn: &ToolsRequest<'_>) -> Result<ToolSet, Failure>;

    /// Ends what was started for the tools.
    async fn close(&self);
}

/// The turn that tools are for.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a model has none")]
pub struct ToolsRequest<'r> {
    pub session: &'r SessionId,
    /// The run that calls of models belong to.
    pub run_id: &'r RunId,
    /// The model of the agent.
    pub runtime: &'r Arc<dyn LlmRuntime>,
}

/// How a session's questions are answered.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    /// Who answers.
    pub agent: Agent,
    /// What happens to calls that need a decision.
    pub on_ask: OnAsk,
    /// Whether the answer is wanted while it is written.
    pub deltas: Deltas,
    /// The stage that the calls are accounted to, such as `research`.
    pub stage: String,
    /// The run that the calls belong to.
    pub run_id: RunId,
    /// How the agent reaches others.
    pub delegation: Option<Delegation>,
    /// Knows what calls would change.
    pub previews: Option<Arc<dyn Previews>>,
}

/// A conversation that begins with its only question.
#[derive(Debug)]
pub struct Fresh<'a> {
    pub sessions: &'a Sessions,
    /// The id of the new session.
    pub id: SessionId,
    pub settings: SessionSettings,
}

/// Why a backend or a session of it has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentSessionError {
    /// The backend is not in a state for this.
    #[error("the backend of the agent {0}")]
    Backend(IllegalMove),
    /// The session is not in a state for this.
    #[error("the session {0}")]
    Move(IllegalMove),
    /// The process of the model ended in an earlier turn.
    #[error("the session is closed: the process of the model ended during its last turn")]
    Crashed,
    /// The model or a tool cannot be had.
    #[error(transparent)]
    Equipment(Box<Failure>),
    /// The turn has no answer.
    #[error(transparent)]
    Ask(#[from] AskError),
}

impl From<SessionError> for AgentSessionError {
    fn from(error: SessionError) -> Self {
        Self::Ask(AskError::Session(error))
    }
}

impl AgentSessionError {
    /// A failure that [`Equipment`] reports.
    fn of_equipment(failure: Failure) -> Self {
        Self::Equipment(Box::new(failure))
    }

    /// A turn that was stopped before it began.
    fn cancelled() -> Self {
        Self::Ask(AskError::Model(LlmError::cancelled()))
    }

    /// Whether the process of the model ended during the turn.
    fn is_crash(&self) -> bool {
        matches!(self, Self::Ask(AskError::Model(error)) if error.kind == LlmErrorKind::Crashed)
    }
}

/// The one way to ask an agent, whatever runs its model. Clones share everything.
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
    /// Present from `initialize` to `teardown`.
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
    /// A backend that has yet to be initialized.
    pub fn new(equipment: impl Equipment + 'a) -> Self {
        Self {
            inner: Arc::new(Inner {
                equipment: Box::new(equipment),
                state: Mutex::default(),
            }),
        }
    }

    /// Opens the model.
    ///
    /// # Errors
    /// [`AgentSessionError::Equipment`], and [`AgentSessionError::Backend`] the second time.
    pub fn initialize(&self) -> Result<(), AgentSessionError> {
        let mut state = self.lock();
        let next = state.stage.after(AgentMove::Open);
        let next = next.map_err(AgentSessionError::Backend)?;
        let runtime = self.inner.equipment.model();
        state.runtime = Some(runtime.map_err(AgentSessionError::of_equipment)?);
        state.stage = next;
        Ok(())
    }

    /// Returns where the backend is in its life.
    pub fn stage(&self) -> AgentStage {
        self.lock().stage
    }

    /// Describes what runs the model.
    ///
    /// # Errors
    /// [`AgentSessionError::Backend`] unless it is initialized.
    pub fn describe(&self) -> Result<BackendInfo, AgentSessionError> {
        Ok(self.runtime()?.describe())
    }

    /// Returns a conversation over a session's log, a new or an earlier one.
    ///
    /// # Errors
    /// [`AgentSessionError::Backend`] unless it is initialized.
    pub fn create_session(
        &self,
        kept: Arc<Session>,
        settings: SessionSettings,
    ) -> Result<AgentSession<'a>, AgentSessionError> {
        self.runtime()?;
        Ok(AgentSession::new(self.clone(), kept, settings))
    }

    /// Begins a conversation of its own.
    ///
    /// # Errors
    /// As [`Self::create_session`], and [`SessionError::Log`].
    pub fn begin_session(&self, fresh: Fresh<'_>) -> Result<AgentSession<'a>, AgentSessionError> {
        self.runtime()?;
        let kept = fresh.sessions.create(&fresh.id, &fresh.settings.agent)?;
        self.create_session(Arc::new(kept), fresh.settings)
    }

    /// Asks one question in a conversation of its own.
    ///
    /// # Errors
    /// As [`Self::create_session`] and [`AgentSession::send`].
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

    /// Ends what runs in the background, and the tools. Conversations cannot go on afterwards. The second time changes
    /// nothing.
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
