//! The runtime port.

use std::sync::Arc;

use crate::{
    Abilities, EventSink, ListenerRegistration, LlmError, LoopOutcome, LoopRequest, ObjectOutcome,
    ObjectRequest, ProbeRequest, RunHandle, RunRequest, TextOutcome, TextRequest,
};
use async_trait::async_trait;
use ktx_vocabulary::ModelRole;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackendInfo {
    /// Value of `llm.provider.backend`.
    pub name: &'static str,
    /// For display: `your Claude subscription through the local Claude Code session`.
    pub payer: String,
    /// Full keys of ignored configuration fields (KTX-81).
    pub ignored_fields: Vec<String>,
    /// True if a loop can continue from its [`crate::Transcript`].
    pub continues_loops: bool,
}

/// A successful probe (KTX-83).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// `(label, value)` for display, in order.
    pub facts: Vec<(String, String)>,
    /// Harmless, such as an untested version.
    pub warnings: Vec<String>,
}

/// The backend-neutral runtime.
#[async_trait]
pub trait LlmRuntime: Send + Sync {
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError>;

    /// Generates an object that is valid under the request's schema.
    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError>;

    async fn run_agent_loop(&self, request: LoopRequest) -> LoopOutcome;

    /// Starts a run and returns at once.
    fn start_run(&self, request: RunRequest) -> RunHandle;

    /// Proves with one isolated turn that the backend is usable. Reports its usage even if
    /// canceled.
    async fn probe(&self, request: ProbeRequest) -> Result<ProbeReport, LlmError>;

    fn describe(&self) -> BackendInfo;

    /// Returns what a role's model accepts; empty without a model.
    fn abilities(&self, role: ModelRole) -> Abilities {
        let _ = role;
        Abilities::default()
    }

    /// Sends a listener the events of calls until the result is dropped. `None` if the runtime has
    /// no events.
    fn listen(&self, listener: Arc<dyn EventSink>) -> Option<ListenerRegistration> {
        drop(listener);
        None
    }

    /// Returns the same model for calls of a tool while a run waits for the tool: they must not
    /// wait for that run. `None` if this runtime can be used.
    fn beside_runs(&self) -> Option<Arc<dyn LlmRuntime>> {
        None
    }

    /// Waits for the cleanup of answered calls, such as processes that still write files. Meant for
    /// the end of a program.
    async fn settle(&self) {}
}
