//! Reconciliation: resolves duplicates and contradictions between the results of a source's units.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_llm_runtime::{LoopRequest, StepCallback};
use ktx_memory::{KeptLoop, begin_loop};
use ktx_project_store::ProjectPath;
use ktx_tool_descriptors::ToolSet;
use ktx_vocabulary::ModelRole;

use crate::artifacts::Artifacts;
use crate::error::IngestError;
use crate::prompts;
use crate::unit::{LoopContext, LoopResult, worked};

pub(crate) const RECONCILE_STEPS: u32 = 60;

pub(crate) struct ReconcileRequest<'a> {
    pub(crate) written: &'a [Artifacts],
    pub(crate) gone: &'a [Artifacts],
    pub(crate) files: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
    pub(crate) on_step: Option<StepCallback>,
    pub(crate) kept: Option<KeptLoop>,
}

impl std::fmt::Debug for ReconcileRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReconcileRequest")
            .field("written", &self.written)
            .field("gone", &self.gone)
            .finish_non_exhaustive()
    }
}

pub(crate) async fn reconcile(
    run: &LoopContext,
    request: ReconcileRequest<'_>,
) -> Result<LoopResult, IngestError> {
    let workspace = run.workspace(run.warehouse.clone(), request.files).await?;
    let tools = workspace.tools().and_then(ToolSet::new);
    let (written, gone) = (request.written, request.gone);
    let asked = LoopRequest {
        system: prompts::RECONCILE.to_owned(),
        prompt: prompts::reconcile(&workspace.known_names(), run.source.as_str(), written, gone),
        tools: tools.map_err(IngestError::Tools)?,
        step_budget: RECONCILE_STEPS,
        transcript: None,
        on_step: request.on_step,
        cancel: run.cancel.clone(),
        label: run.label("reconcile", None),
        role: ModelRole::Reconcile,
    };
    let begun = begin_loop(&workspace, asked, request.kept).await;
    let (asked, begun) = begun.map_err(IngestError::Tools)?;
    let outcome = run.runtime.run_agent_loop(asked).await;
    begun.end(&outcome);
    worked(&workspace, outcome)
}
