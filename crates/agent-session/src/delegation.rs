//! Sub-agents: an agent asks another one, which works in its own session (KODE-70).
//!
//! That session remembers its call. A parked call continues it, so its model is not asked twice.

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

pub const ASK_AGENT: &str = "ask_agent";

/// Maximum depth after the first agent.
pub const MOST_LEVELS: u32 = 2;

pub struct Delegate {
    pub agent: Agent,
    pub tools: ToolSet,
    /// The agent's model, within the rest of the asking agent's budget.
    pub runtime: Arc<dyn LlmRuntime>,
    pub previews: Option<Arc<dyn Previews>>,
    /// By default the asking agent's.
    pub delegates: Option<Arc<dyn Delegates>>,
    pub release: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl std::fmt::Debug for Delegate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delegate")
            .field("agent", &self.agent.name)
            .finish_non_exhaustive()
    }
}

#[async_trait]
pub trait Delegates: Send + Sync {
    /// Prepares an agent for a turn. `recorded` is the snapshot of its session, if it has begun.
    /// The error is for the asking model.
    async fn ready(&self, name: &str, recorded: Option<Agent>) -> Result<Delegate, String>;
}

#[derive(Clone)]
pub struct Delegation {
    pub sessions: Sessions,
    pub delegates: Arc<dyn Delegates>,
    /// Depth of this agent; 0 for the first.
    pub level: u32,
}

impl std::fmt::Debug for Delegation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delegation")
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}

pub(crate) enum Delegated {
    Over(Result<ToolOutput, ToolError>),
    Waits,
}

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

    /// Returns the tool for the model. [`Self::ask`] begins its calls.
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

    pub(crate) async fn ask(self: &Arc<Self>, call: &Call) -> Delegated {
        let Ok(_permit) = self.most_at_once.acquire().await else {
            return Delegated::Over(Err(ToolError::broke_down()));
        };
        let child = Child {
            others: Arc::clone(self),
            call: call.clone(),
        };
        // Spawned, so that the turn records its end even if this call is dropped.
        let work = self.running.spawn(begun(child));
        match work.await {
            Ok(asked) => asked,
            Err(_) => Delegated::Over(Err(ToolError::broke_down())),
        }
    }

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

    /// Waits until every sub-agent has recorded its end.
    pub(crate) async fn settle(&self) {
        self.running.close();
        self.running.wait().await;
    }
}

/// Boxed, because agents ask each other recursively.
fn begun(child: Child) -> Pin<Box<dyn Future<Output = Delegated> + Send>> {
    Box::pin(child.ask())
}

/// Placeholder handler; never called.
struct Unrecorded;

#[async_trait]
impl ToolHandler for Unrecorded {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::broke_down())
    }
}
