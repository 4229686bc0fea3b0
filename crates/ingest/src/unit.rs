//! Runs one work unit: a model reads some files of a source and writes to a draft.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ktx_context_sources::{Snapshot, Unit};
use ktx_context_tools::ProjectContext;
use ktx_llm_runtime::{CallLabel, LlmRuntime, LoopOutcome, LoopRequest, StepCallback, StopReason};
use ktx_memory::{Changeset, DraftWorkspace, KeptLoop, Quota, begin_loop};
use ktx_project_store::ProjectPath;
use ktx_sql::Dialect;
use ktx_tool_descriptors::ToolSet;
use ktx_vocabulary::{ConnectionId, ModelRole, RunId};
use tokio_util::sync::CancellationToken;

use crate::error::IngestError;
use crate::prompts;
use crate::raw::read_raw_file;
use ktx_context_sources::LONGEST_UNIT;

#[derive(Clone)]
pub(crate) struct LoopContext {
    pub(crate) source: ConnectionId,
    /// Without a warehouse, only pages can be written.
    pub(crate) warehouse: Option<(ConnectionId, Dialect)>,
    pub(crate) context: Arc<dyn ProjectContext>,
    pub(crate) runtime: Arc<dyn LlmRuntime>,
    pub(crate) run_id: RunId,
    pub(crate) cancel: CancellationToken,
}

impl std::fmt::Debug for LoopContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopContext")
            .field("source", &self.source)
            .field("warehouse", &self.warehouse)
            .finish_non_exhaustive()
    }
}

impl LoopContext {
    pub(crate) async fn workspace(
        &self,
        warehouse: Option<(ConnectionId, Dialect)>,
        files: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
    ) -> Result<DraftWorkspace, IngestError> {
        let workspace = DraftWorkspace::new(Arc::clone(&self.context), warehouse, files);
        workspace.await.map_err(IngestError::Project)
    }

    pub(crate) fn label(&self, stage: &str, unit: Option<&str>) -> CallLabel {
        CallLabel {
            run_id: self.run_id.clone(),
            stage: stage.to_owned(),
            unit: unit.map(str::to_owned),
            connection: Some(self.source.clone()),
        }
    }
}

pub(crate) struct UnitRequest<'a> {
    pub(crate) unit: &'a Unit,
    pub(crate) snapshot: &'a Arc<Snapshot>,
    pub(crate) files: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
    pub(crate) step_budget: u32,
    pub(crate) quota: Option<Quota>,
    pub(crate) on_step: Option<StepCallback>,
    pub(crate) kept: Option<KeptLoop>,
}

impl std::fmt::Debug for UnitRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UnitRequest")
            .field("unit", &self.unit.key)
            .field("step_budget", &self.step_budget)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(crate) struct LoopResult {
    pub(crate) made: Changeset,
    /// The model reached its turn limit and may have had more to write.
    pub(crate) truncated: bool,
    pub(crate) quota_reached: bool,
    pub(crate) used: Quota,
}

/// Lets a model read one unit. The runtime waits for the account's limits. An error means that
/// nothing has changed.
pub(crate) async fn work_unit(
    run: &LoopContext,
    request: UnitRequest<'_>,
) -> Result<LoopResult, IngestError> {
    let UnitRequest { unit, snapshot, .. } = request;
    let lengths = unit
        .files
        .iter()
        .filter_map(|path| snapshot.files.get(path));
    let length: usize = lengths.map(|text| text.chars().count()).sum();
    if length > LONGEST_UNIT {
        return Err(IngestError::TooLong {
            unit: unit.key.clone(),
            length,
        });
    }
    let warehouse = run.warehouse.clone().filter(|_| unit.writes_sources);
    let workspace = run.workspace(warehouse, request.files).await?;
    if let Some(quota) = request.quota {
        workspace.limit(quota);
    }
    let allowed = unit
        .files
        .iter()
        .chain(&unit.dependencies)
        .chain(&unit.peers);
    let allowed: BTreeSet<String> = allowed.cloned().collect();
    let mut tools = workspace.tools().map_err(IngestError::Tools)?;
    tools.push(read_raw_file(snapshot, allowed));
    let texts: Vec<&str> = unit
        .files
        .iter()
        .filter_map(|path| snapshot.files.get(path).map(String::as_str))
        .collect();
    let asked = LoopRequest {
        system: prompts::UNIT.to_owned(),
        prompt: prompts::unit(
            &workspace.known_names_near(&texts.join("\n")),
            run.source.as_str(),
            unit,
            snapshot,
        ),
        tools: ToolSet::new(tools).map_err(IngestError::Tools)?,
        step_budget: request.step_budget,
        transcript: None,
        on_step: request.on_step,
        cancel: run.cancel.clone(),
        label: run.label("work-unit", Some(&unit.key)),
        role: ModelRole::CandidateExtraction,
    };
    let begun = begin_loop(&workspace, asked, request.kept).await;
    let (asked, begun) = begun.map_err(IngestError::Tools)?;
    let outcome = run.runtime.run_agent_loop(asked).await;
    begun.end(&outcome);
    worked(&workspace, outcome)
}

pub(crate) fn worked(
    workspace: &DraftWorkspace,
    outcome: LoopOutcome,
) -> Result<LoopResult, IngestError> {
    match outcome.error {
        Some(error) => Err(IngestError::Model(error)),
        None => Ok(LoopResult {
            made: workspace.made(),
            truncated: outcome.stop_reason == StopReason::Budget,
            quota_reached: workspace.quota_reached(),
            used: workspace.used(),
        }),
    }
}
