//! Reconciliation: resolves duplicates and contradictions between what the units of a source wrote.

use std::collections::BTreeMap;

use ktx_llm_runtime::{LoopRequest, StepCallback};
use ktx_memory::{KeptLoop, begin_loop};
use ktx_project_store::ProjectPath;
use ktx_tool_descriptors::ToolSet;
use ktx_vocabulary::ModelRole;

use crate::prompts;
use crate::unit::{IngestError, Run, Worked, worked};

/// Maximum assistant turns for one reconciliation.
pub const RECONCILE_STEPS: u32 = 60;

/// What a unit wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Artifacts {
    /// The unit.
    pub unit: String,
    /// Keys of its pages.
    pub wiki: Vec<String>,
    /// Names of its semantic sources.
    pub sl: Vec<String>,
    /// Files of the unit that were removed.
    pub files: Vec<String>,
}

/// The input of a reconciliation.
pub struct ReconcileRequest<'a> {
    /// What units wrote since the last reconciliation.
    pub written: &'a [Artifacts],
    /// What units wrote from files that have since been removed.
    pub gone: &'a [Artifacts],
    /// The committed project files that may be changed.
    pub files: BTreeMap<ProjectPath, Vec<u8>>,
    /// Called after every turn.
    pub on_step: Option<StepCallback>,
    /// Stores the turns until the reconciliation is done.
    pub kept: Option<KeptLoop>,
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
pub async fn reconcile(run: &Run, request: ReconcileRequest<'_>) -> Result<Worked, IngestError> {
    let bench = run.bench(run.warehouse.clone(), request.files).await?;
    let tools = bench.tools().and_then(ToolSet::new);
    let (written, gone) = (request.written, request.gone);
    let asked = LoopRequest {
        system: prompts::RECONCILE.to_owned(),
        prompt: prompts::reconcile(&bench.known(), run.source.as_str(), written, gone),
        tools: tools.map_err(IngestError::Tools)?,
        step_budget: RECONCILE_STEPS,
        transcript: None,
        on_step: request.on_step,
        cancel: run.cancel.clone(),
        label: run.label("reconcile", None),
        role: ModelRole::Reconcile,
    };
    let begun = begin_loop(&bench, asked, request.kept).await;
    let (asked, begun) = begun.map_err(IngestError::Tools)?;
    let outcome = run.runtime.run_agent_loop(asked).await;
    begun.end(&outcome);
    worked(&bench, outcome)
}
