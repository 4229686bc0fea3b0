//! Sub-agents: an agent asks another one, whose work is a session of its own (KODE-70).
//!
//! The session of the other agent remembers which call it belongs to. A call that is begun again after it was parked
//! therefore continues that session, and its model is not asked twice.

mod child;

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ktx_llm_runtime::LlmRuntime;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
};
use ktx_vocabulary::RunId;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::Agent;
use crate::approvals::OnAsk;
use crate::event::Call;
use crate::previews::Previews;
use crate::session::Session;
use crate::sessions::Sessions;
use crate::turn::{Turn, WaitingCall};
use child::Child;

/// The tool that asks another agent.
pub const ASK_AGENT: &str = "ask_agent";

/// How many agents may ask each other in a row, after the first one.
pub const MOST_LEVELS: u32 = 2;

/// An agent that may be asked, ready for a turn.
pub struct Delegate {
    pub agent: Agent,
    /// The agent's tools.
    pub tools: ToolSet,
    /// The agent's model, within the rest of the asking agent's budget.
    pub runtime: Arc<dyn LlmRuntime>,
    /// Knows what calls of the tools would change.
    pub previews: Option<Arc<dyn Previews>>,
    /// How it reaches the agents that it asks in turn; as the agent that asks if absent.
    pub delegates: Option<Arc<dyn Delegates>>,
    /// Frees what the tools hold.
    pub release: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl std::fmt::Debug for Delegate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delegate")
            .field("agent", &self.agent.name)
            .finish_non_exhaustive()
    }
}

/// The agents of a project.
#[async_trait]
pub trait Delegates: Send + Sync {
    /// Makes an agent ready for a turn. `recorded` is the agent as its session keeps it, if it has begun before.
    ///
    /// # Errors
    /// Why it cannot be asked, for the model that asks.
    async fn ready(&self, name: &str, recorded: Option<Agent>) -> Result<Delegate, String>;
}

/// How an agent reaches others.
#[derive(Clone)]
pub struct Delegation {
    /// Where the sessions of the others are kept.
    pub sessions: Sessions,
    pub delegates: Arc<dyn Delegates>,
    /// How many agents have asked each other in a row before this one: none for the first.
    pub level: u32,
}

impl std::fmt::Debug for Delegation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delegation")
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}

/// What came of asking another agent.
pub(crate) enum Asked {
    Over(Result<ToolOutput, ToolError>),
    /// A call of the other agent waits for a decision.
    Waits,
}

/// The other agents of one turn.
pub(crate) struct Others {
    session: Arc<Session>,
    delegation: Delegation,
    names: Vec<String>,
    most_at_once: Semaphore,
    on_ask: OnAsk,
    stage: String,
    run_id: RunId,
    stop: CancellationToken,
    running: TaskTracker,
    waiting: Mutex<Vec<WaitingCall>>,
}

impl Others {
    /// The agents that the turn's agent may ask; `None` without any.
    pub(crate) fn of(
        session: &Arc<Session>,
        turn: &Turn,
        stop: &CancellationToken,
    ) -> Option<Arc<Self>> {
        let delegation = turn.delegation.clone()?;
        if turn.agent.agents.is_empty() || delegation.level >= MOST_LEVELS {
            return None;
        }
        Some(Arc::new(Self {
            session: Arc::clone(session),
            delegation,
            names: turn.agent.agents.clone(),
            most_at_once: Semaphore::new(turn.agent.max_parallel.max(1)),
            on_ask: turn.on_ask.clone(),
            stage: turn.stage.clone(),
            run_id: turn.run_id.clone(),
            stop: stop.clone(),
            running: TaskTracker::new(),
            waiting: Mutex::default(),
        }))
    }

    /// The tool for the model. Calls of it are begun by [`Self::ask`], which knows their records.
    pub(crate) fn tool(&self) -> ToolDescriptor {
        ToolDescriptor {
            name: ASK_AGENT.to_owned(),
            title: "Ask an Agent".to_owned(),
            description: format!(
                "Gives a task to another agent and returns its answer. It sees your message and nothing else of this \
                 conversation. Agents: {}.",
                self.names.join(", ")
            ),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "agent": { "type": "string", "enum": self.names },
                    "message": { "type": "string", "description": "The whole task." },
                },
                "required": ["agent", "message"],
                "additionalProperties": false,
            }),
            output_schema: None,
            effect: WriteEffect::ReadOnly,
            handler: Arc::new(Unrecorded),
        }
    }

    /// Asks the agent that a call names, or continues what it has begun.
    pub(crate) async fn ask(self: &Arc<Self>, call: &Call) -> Asked {
        let Ok(_permit) = self.most_at_once.acquire().await else {
            return Asked::Over(Err(ToolError::broke_down()));
        };
        let child = Child {
            others: Arc::clone(self),
            call: call.clone(),
        };
        // The turn of the other agent records its end even if this call is dropped.
        let work = self.running.spawn(begun(child));
        match work.await {
            Ok(asked) => asked,
            Err(_) => Asked::Over(Err(ToolError::broke_down())),
        }
    }

    /// Returns the calls of other agents that wait for a decision.
    pub(crate) fn waiting(&self) -> Vec<WaitingCall> {
        let waiting = self.waiting.lock();
        waiting.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn wait_for(&self, calls: impl IntoIterator<Item = WaitingCall>) {
        let waiting = self.waiting.lock();
        waiting
            .unwrap_or_else(PoisonError::into_inner)
            .extend(calls);
    }

    /// Waits until every other agent has recorded the end of its turn.
    pub(crate) async fn settle(&self) {
        self.running.close();
        self.running.wait().await;
    }
}

/// Asks; boxed, because agents ask each other.
fn begun(child: Child) -> Pin<Box<dyn Future<Output = Asked> + Send>> {
    Box::pin(child.ask())
}

/// Stands in a set of tools; the calls of a turn never reach it.
struct Unrecorded;

#[async_trait]
impl ToolHandler for Unrecorded {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::broke_down())
    }
}
