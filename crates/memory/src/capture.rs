//! Runs one capture: reads a note and returns the changes of a draft.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_context_tools::ProjectContext;
use ktx_diagnostics::Failure;
use ktx_llm_runtime::{CallLabel, LlmError, LlmRuntime, LoopRequest, StepCallback, StopReason};
use ktx_project_store::ProjectPath;
use ktx_sql::Dialect;
use ktx_tool_descriptors::ToolSet;
use ktx_vocabulary::{ConnectionId, ModelRole, RunId};
use ktx_wiki::UserId;
use tokio_util::sync::CancellationToken;

use crate::transcript::{KeptLoop, begin_loop};
use crate::workspace::{Changeset, DraftWorkspace};
use crate::{length, prompts};

pub const ROLE: ModelRole = ModelRole::CandidateExtraction;

pub const STEPS: u32 = 30;

pub struct CaptureRequest {
    pub label: String,
    pub note: String,
    pub connection: Option<(ConnectionId, Dialect)>,
    pub files: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
    pub context: Arc<dyn ProjectContext>,
    pub runtime: Arc<dyn LlmRuntime>,
    pub run_id: RunId,
    pub on_step: Option<StepCallback>,
    pub kept: Option<KeptLoop>,
    pub cancel: CancellationToken,
}

impl std::fmt::Debug for CaptureRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CaptureRequest")
            .field("label", &self.label)
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub struct CaptureResult {
    pub made: Changeset,
    pub truncated: bool,
    pub words: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("the note is empty")]
    Empty,
    #[error("{}", length::too_long(*length))]
    TooLong { length: usize },
    #[error("the project cannot be read")]
    Project(#[source] Failure),
    #[error("the model failed")]
    Model(#[source] LlmError),
    #[error("the tools of the capture cannot be built")]
    Tools(#[source] ktx_tool_descriptors::ToolSetError),
}

/// The runtime waits for the account's limits.
pub async fn capture(request: CaptureRequest) -> Result<CaptureResult, CaptureError> {
    captured(request, None).await
}

/// Writes pages of one user. The files and the context of the request are those of the user.
pub async fn capture_for_user(
    request: CaptureRequest,
    user: UserId,
) -> Result<CaptureResult, CaptureError> {
    captured(request, Some(user)).await
}

async fn captured(
    request: CaptureRequest,
    user: Option<UserId>,
) -> Result<CaptureResult, CaptureError> {
    if request.note.trim().is_empty() {
        return Err(CaptureError::Empty);
    }
    if let Some(length) = length::beyond_limit(&request.note) {
        return Err(CaptureError::TooLong { length });
    }
    let connection = request.connection.as_ref().map(|(id, _)| id.clone());
    let workspace = match user {
        None => DraftWorkspace::new(request.context, request.connection, request.files).await,
        Some(user) => DraftWorkspace::of_user(request.context, user, request.files).await,
    };
    let workspace = workspace.map_err(CaptureError::Project)?;
    let prompt = prompts::task(&request.label, &request.note, &workspace.known_names());
    let tools = workspace.tools().and_then(ToolSet::new);
    let asked = LoopRequest {
        system: prompts::SYSTEM.to_owned(),
        prompt,
        tools: tools.map_err(CaptureError::Tools)?,
        step_budget: STEPS,
        on_step: request.on_step,
        transcript: None,
        cancel: request.cancel,
        label: CallLabel {
            run_id: request.run_id,
            stage: "memory".to_owned(),
            unit: Some(request.label),
            connection,
        },
        role: ModelRole::CandidateExtraction,
    };
    let begun = begin_loop(&workspace, asked, request.kept).await;
    let (asked, begun) = begun.map_err(CaptureError::Tools)?;
    let outcome = request.runtime.run_agent_loop(asked).await;
    begun.end(&outcome);
    if let Some(error) = outcome.error {
        return Err(CaptureError::Model(error));
    }
    Ok(CaptureResult {
        made: workspace.made(),
        truncated: outcome.stop_reason == StopReason::Budget,
        words: outcome.text,
    })
}
