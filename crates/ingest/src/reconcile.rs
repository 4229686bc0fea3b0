//! Reconciliation: resolves duplicates and contradictions between what the units of a source wrote.

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

/// Maximum assistant turns for one reconciliation.
pub(crate) const RECONCILE_STEPS: u32 = 60;

/// The input of a reconciliation.
pub(crate) struct ReconcileRequest<'a> {
    /// What units wrote since the last reconciliation.
    pub(crate) written: &'a [Artifacts],
    /// What units wrote from files that have since been removed.
    pub(crate) gone: &'a [Artifacts],
    /// The committed project files that may be changed.
    pub(crate) files: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
    /// Called after every turn.
    pub(crate) on_step: Option<StepCallback>,
    /// Stores the turns until the reconciliation is done.
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

/// Lets a model find duplicates, contradictions and content from removed files.
///
/// # Errors
///
/// [`IngestError`]; no change was made.
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
