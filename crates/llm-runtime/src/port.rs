//! The port itself.

use crate::{
    LlmError, LoopOutcome, LoopRequest, ObjectOutcome, ObjectRequest, ProbeRequest, RunHandle,
    RunRequest, TextOutcome, TextRequest,
};
use async_trait::async_trait;

/// What a backend is and what it ignores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackendInfo {
    /// The value of `llm.provider.backend`.
    pub name: &'static str,
    /// Who pays, in words, such as `your Claude subscription through the local Claude Code session`.
    pub payer: String,
    /// Configured fields that the backend ignores, by full key (KTX-81).
    pub ignored_fields: Vec<String>,
    /// Whether a loop can continue an earlier one by its [`crate::Transcript`].
    pub continues_loops: bool,
}

/// The answer of a probe that found the backend usable (KTX-83).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// Facts for people, in order: `(label, value)`.
    pub facts: Vec<(String, String)>,
    /// What works but should be known, such as an untested version.
    pub warnings: Vec<String>,
}

/// The backend-neutral runtime. Object-safe; cheap to share behind an `Arc`.
#[async_trait]
pub trait LlmRuntime: Send + Sync {
    /// Generates text. Exposes no tools.
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError>;

    /// Generates an object that is valid under the request's schema, or fails.
    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError>;

    /// Runs model turns and tool calls until the model is done or the budget is used up.
    async fn run_agent_loop(&self, request: LoopRequest) -> LoopOutcome;

    /// Starts a run and returns at once; see [`RunHandle`].
    fn start_run(&self, request: RunRequest) -> RunHandle;

    /// Proves with one isolated turn that the backend can be used now. The turn belongs to the request's run;
    /// what it used is told also when it is cancelled.
    async fn probe(&self, request: ProbeRequest) -> Result<ProbeReport, LlmError>;

    /// Says what the backend is.
    fn describe(&self) -> BackendInfo;

    /// Waits until nothing is left of the calls that have answered, such as processes that put their own
    /// files in order. For the end of a program; calls may follow.
    async fn settle(&self) {}
}
