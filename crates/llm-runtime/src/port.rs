//! The runtime port.

use std::sync::Arc;

use crate::{
    Abilities, EventSink, Listening, LlmError, LoopOutcome, LoopRequest, ObjectOutcome,
    ObjectRequest, ProbeRequest, RunHandle, RunRequest, TextOutcome, TextRequest,
};
use async_trait::async_trait;
use ktx_vocabulary::ModelRole;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackendInfo {
    /// The value of `llm.provider.backend`.
    pub name: &'static str,
    /// Who pays, for display: `your Claude subscription through the local Claude Code session`.
    pub payer: String,
    /// Configured fields that the backend ignores, as full keys (KTX-81).
    pub ignored_fields: Vec<String>,
    /// Whether a loop can continue an earlier one from its [`crate::Transcript`].
    pub continues_loops: bool,
}

/// A probe that found the backend usable (KTX-83).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// Facts for display, in order: `(label, value)`.
    pub facts: Vec<(String, String)>,
    /// Harmless facts that the user should know, such as an untested version.
    pub warnings: Vec<String>,
}

/// The backend-neutral runtime. Object-safe; cheap to share in an `Arc`.
#[async_trait]
pub trait LlmRuntime: Send + Sync {
    /// The model sees no tools.
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError>;

    /// Generates an object that is valid under the request's schema, or fails.
    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError>;

    async fn run_agent_loop(&self, request: LoopRequest) -> LoopOutcome;

    /// Returns at once; see [`RunHandle`].
    fn start_run(&self, request: RunRequest) -> RunHandle;

    /// Proves with one isolated turn that the backend is usable now. The turn belongs to the
    /// request's run; its usage is reported even if it is canceled.
    async fn probe(&self, request: ProbeRequest) -> Result<ProbeReport, LlmError>;

    fn describe(&self) -> BackendInfo;

    /// What the model of a role accepts; decides which [`CallSettings`](crate::CallSettings) are
    /// sent. Empty without a model for the role.
    fn abilities(&self, role: ModelRole) -> Abilities {
        let _ = role;
        Abilities::default()
    }

    /// Sends a listener the events of calls, until the result is dropped. `None` if the runtime has no events.
    fn listen(&self, listener: Arc<dyn EventSink>) -> Option<Listening> {
        drop(listener);
        None
    }

    /// Returns the same model for calls that a tool makes while a run of this runtime waits for the tool: they must not
    /// wait for that run. None if they may be made here.
    fn beside_runs(&self) -> Option<Arc<dyn LlmRuntime>> {
        None
    }

    /// Waits for the cleanup of answered calls, such as processes that still write their own files.
    /// Meant for the end of a program, but calls may follow.
    async fn settle(&self) {}
}
