//! The port itself.

use crate::{
    Abilities, LlmError, LoopOutcome, LoopRequest, ObjectOutcome, ObjectRequest, ProbeRequest,
    RunHandle, RunRequest, TextOutcome, TextRequest,
};
use async_trait::async_trait;
use ktx_vocabulary::ModelRole;

/// The identity of a backend and what it ignores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackendInfo {
    /// The value of `llm.provider.backend`.
    pub name: &'static str,
    /// Who pays, for display, such as `your Claude subscription through the local Claude Code
    /// session`.
    pub payer: String,
    /// Configured fields that the backend ignores, by full key (KTX-81).
    pub ignored_fields: Vec<String>,
    /// Whether a loop can continue an earlier one from its [`crate::Transcript`].
    pub continues_loops: bool,
    /// Whether a run's [`crate::TurnHook`] is asked before each step.
    pub between_steps: bool,
}

/// The report of a probe that found the backend usable (KTX-83).
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
    /// Generates text. The model sees no tools.
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError>;

    /// Generates an object that is valid under the request's schema, or fails.
    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError>;

    /// Runs model turns and tool calls until the model is done or the budget is used up.
    async fn run_agent_loop(&self, request: LoopRequest) -> LoopOutcome;

    /// Starts a run and returns at once; see [`RunHandle`].
    fn start_run(&self, request: RunRequest) -> RunHandle;

    /// Proves with one isolated turn that the backend can be used now. The turn belongs to the
    /// request's run; its usage is reported even if it is canceled.
    async fn probe(&self, request: ProbeRequest) -> Result<ProbeReport, LlmError>;

    /// Describes the backend.
    fn describe(&self) -> BackendInfo;

    /// Returns what the model of a role takes from its caller, by which
    /// [`CallSettings`](crate::CallSettings) that are not sent become known. Without a model of
    /// this role: nothing.
    fn abilities(&self, role: ModelRole) -> Abilities {
        let _ = role;
        Abilities::default()
    }

    /// Waits for the remainder of calls that have answered, such as processes that still write
    /// their own files. Meant for the end of a program, but calls may follow.
    async fn settle(&self) {}
}
