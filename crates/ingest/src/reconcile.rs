//! Reconciliation: what the units of a source wrote, brought in line.

use std::collections::BTreeMap;

use ktx_llm_runtime::{LoopRequest, StepCallback};
use ktx_memory::{KeptLoop, begin_loop};
use ktx_project_store::ProjectPath;
use ktx_tool_descriptors::ToolSet;
use ktx_vocabulary::ModelRole;

use crate::prompts;
use crate::unit::{IngestError, Run, Worked, worked};

/// Assistant turns for one reconciliation.
pub const RECONCILE_STEPS: u32 = 60;

/// What a unit has written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Artifacts {
    /// The unit.
    pub unit: String,
    /// Pages, by key.
    pub wiki: Vec<String>,
    /// Semantic sources, by name.
    pub sl: Vec<String>,
    /// Files of the unit that are gone.
    pub files: Vec<String>,
}

/// What is to be brought in line.
pub struct ReconcileRequest<'a> {
    /// What was written since the last reconciliation.
    pub written: &'a [Artifacts],
    /// What was written from files that are gone by now.
    pub gone: &'a [Artifacts],
    /// The files of the project that can be changed, as they are committed.
    pub files: BTreeMap<ProjectPath, Vec<u8>>,
    /// Told of every turn.
    pub on_step: Option<StepCallback>,
    /// Where the turns are kept until the reconciliation is done.
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

/// Lets a model find duplicates and contradictions, and what belongs to files that are gone.
///
/// # Errors
/// [`IngestError`]; nothing was made then.
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
