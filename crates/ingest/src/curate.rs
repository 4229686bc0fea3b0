//! Curation: decides about the candidates that light readings found.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ktx_context_sources::Snapshot;
use ktx_llm_runtime::{LoopRequest, StepCallback};
use ktx_memory::{DraftWorkspace, KeptLoop, LoopStart, Quota, begin_loop, fenced, one_line};
use ktx_project_store::ProjectPath;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
    schema_for,
};
use ktx_vocabulary::ModelRole;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::documents::Candidate;
use crate::error::IngestError;
use crate::raw::read_raw_file;
use crate::unit::{LoopContext, LoopResult, worked};

const SYSTEM: &str = include_str!("prompts/curate.system.md");

/// Maximum assistant turns for one pass.
pub(crate) const CURATE_STEPS: u32 = 60;

/// Maximum candidates for one pass.
pub(crate) const CURATE_BATCH: usize = 8;

/// Maximum characters shown of a candidate's sections.
const WORDS: usize = 1500;

/// What became of a candidate.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// It has a new page.
    Promoted,
    /// The page says it already.
    Merged,
    /// It contradicts the page, which says so now.
    Conflict,
    /// It is not kept.
    Rejected,
}

/// A curator's decision about a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The outcome.
    pub fate: Fate,
    /// The page that now contains the statement; `None` if it was rejected.
    pub page: Option<String>,
    /// The reason, as one sentence.
    pub reason: String,
}

/// A candidate and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenCandidate {
    /// Its name, unique among all open candidates.
    pub(crate) id: String,
    pub(crate) candidate: Candidate,
    pub(crate) words: String,
    /// The file that it was found in.
    pub(crate) file: String,
}

/// The input of one pass over candidates.
pub(crate) struct CurateRequest<'a> {
    /// At most [`CURATE_BATCH`] candidates.
    pub(crate) open: &'a [OpenCandidate],
    pub(crate) snapshot: &'a Arc<Snapshot>,
    /// The committed project files that the pass may change.
    pub(crate) files: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
    pub(crate) quota: Quota,
    /// Called after every turn.
    pub(crate) on_step: Option<StepCallback>,
    /// Stores the turns until the pass is done.
    pub(crate) kept: Option<KeptLoop>,
}

impl std::fmt::Debug for CurateRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CurateRequest")
            .field("open", &self.open.len())
            .field("quota", &self.quota)
            .finish_non_exhaustive()
    }
}

/// The result of a pass.
#[derive(Debug)]
pub(crate) struct CurationResult {
    pub(crate) worked: LoopResult,
    /// The decisions by candidate name. Candidates without one stay open.
    pub(crate) decisions: BTreeMap<String, Decision>,
}

/// Lets a model decide about candidates (role `curator`).
///
/// # Errors
///
/// [`IngestError`]; no change and no decision was made.
pub(crate) async fn curate(
    run: &LoopContext,
    request: CurateRequest<'_>,
) -> Result<CurationResult, IngestError> {
    let CurateRequest { open, snapshot, .. } = request;
    let workspace = Arc::new(run.workspace(run.warehouse.clone(), request.files).await?);
    workspace.limit(request.quota);
    let decided = SharedDecisions::default();
    let mut tools = workspace.tools().map_err(IngestError::Tools)?;
    let allowed: BTreeSet<String> = open.iter().map(|open| open.file.clone()).collect();
    tools.push(read_raw_file(snapshot, allowed));
    let ids = open.iter().map(|open| open.id.clone()).collect();
    tools.push(candidate_decide(&workspace, &decided, ids));
    let asked = LoopRequest {
        role: ModelRole::Curator,
        system: SYSTEM.to_owned(),
        prompt: prompt(&workspace.known_names(), run.source.as_str(), open),
        tools: ToolSet::new(tools).map_err(IngestError::Tools)?,
        step_budget: CURATE_STEPS,
        transcript: None,
        on_step: request.on_step,
        cancel: run.cancel.clone(),
        label: run.label("curate", None),
    };
    let begun = begin_loop(&workspace, asked, request.kept).await;
    let (mut asked, begun) = begun.map_err(IngestError::Tools)?;
    match begun.start() {
        // A replay that failed midway has reset the draft, but not the decisions.
        LoopStart::Fresh => locked(&decided).clear(),
        LoopStart::Resumed => {}
        LoopStart::Restarted => asked.prompt.push_str(&already_decided(&locked(&decided))),
    }
    let outcome = run.runtime.run_agent_loop(asked).await;
    begun.end(&outcome);
    let worked = worked(&workspace, outcome)?;
    let decisions = std::mem::take(&mut *locked(&decided));
    Ok(CurationResult { worked, decisions })
}

fn prompt(known: &str, source: &str, open: &[OpenCandidate]) -> String {
    let mut text = format!("{known}\nCandidates of the source {source}:\n");
    for open in open {
        let Candidate {
            key,
            topic,
            assertion,
            rationale,
            page,
            ..
        } = &open.candidate;
        let _ = write!(
            text,
            "\nCandidate {}, from the file {}\n",
            one_line(&open.id),
            one_line(&open.file)
        );
        let mut said = format!(
            "key: {}\ntopic: {}\nstatement: {}\nneeded for: {}\n",
            one_line(key),
            one_line(topic),
            one_line(assertion),
            one_line(rationale)
        );
        if let Some(page) = page {
            let _ = writeln!(said, "suggested page: {}", one_line(page));
        }
        let words: String = open.words.chars().take(WORDS).collect();
        let _ = write!(said, "its sections:\n{words}");
        text.push_str(&fenced("What was found", &said));
    }
    text
}

/// Lists the decisions of an interrupted pass, for a model that no longer has the conversation.
fn already_decided(decided: &BTreeMap<String, Decision>) -> String {
    if decided.is_empty() {
        return "It had decided about none of the candidates.\n".to_owned();
    }
    let names: Vec<String> = decided.keys().map(|id| one_line(id)).collect();
    format!(
        "It had decided about these candidates, and the decisions hold: {}. Decide about the others.\n",
        names.join(", ")
    )
}

type SharedDecisions = Arc<Mutex<BTreeMap<String, Decision>>>;

fn locked(decided: &SharedDecisions) -> MutexGuard<'_, BTreeMap<String, Decision>> {
    decided.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The name of the candidate, as listed.
    candidate: String,
    /// What became of it.
    decision: Fate,
    /// The key of the page that says it now. Required unless it is rejected.
    page: Option<String>,
    /// Why, in one short sentence.
    reason: String,
}

struct DecisionHandler {
    workspace: Arc<DraftWorkspace>,
    decided: SharedDecisions,
    ids: BTreeSet<String>,
}

fn candidate_decide(
    workspace: &Arc<DraftWorkspace>,
    decided: &SharedDecisions,
    ids: BTreeSet<String>,
) -> ToolDescriptor {
    ToolDescriptor {
        name: "candidate_decide".to_owned(),
        title: "Decide About A Candidate".to_owned(),
        description: "Say what became of one candidate of the task, after the write that it led to. A later call about \
                      the same candidate replaces an earlier one."
            .to_owned(),
        input_schema: schema_for::<Input>(),
        output_schema: None,
        effect: WriteEffect::Writes,
        handler: Arc::new(DecisionHandler {
            workspace: Arc::clone(workspace),
            decided: Arc::clone(decided),
            ids,
        }),
    }
}

#[async_trait]
impl ToolHandler for DecisionHandler {
    async fn call(&self, arguments: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        let input: Input =
            serde_json::from_value(arguments).map_err(|error| ToolError::new(error.to_string()))?;
        if !self.ids.contains(&input.candidate) {
            return Err(ToolError::new(format!(
                "`{}` is none of the candidates of this task",
                input.candidate
            )));
        }
        let page = self.page(&input)?;
        let decision = Decision {
            fate: input.decision,
            page,
            reason: one_line(&input.reason),
        };
        let mut decided = locked(&self.decided);
        decided.insert(input.candidate.clone(), decision);
        let left = self.ids.len() - decided.len();
        Ok(ToolOutput::new(
            format!("noted; {left} candidates are left"),
            json!({ "candidate": input.candidate, "left": left }),
        ))
    }
}

impl DecisionHandler {
    /// Returns the page of a decision and checks that it exists as claimed.
    fn page(&self, input: &Input) -> Result<Option<String>, ToolError> {
        let Some(page) = &input.page else {
            return if input.decision == Fate::Rejected {
                Ok(None)
            } else {
                Err(ToolError::new("`page` is missing: which page says it now?"))
            };
        };
        if input.decision == Fate::Rejected {
            return Ok(None);
        }
        if !self.workspace.pages().contains(page) {
            return Err(ToolError::new(format!("there is no page `{page}`")));
        }
        let needs_write = matches!(input.decision, Fate::Promoted | Fate::Conflict);
        if needs_write && !self.workspace.made().wiki.contains(page) {
            return Err(ToolError::new(format!(
                "`{page}` was not written in this task: write what the candidate says first, or decide `merged` when \
                 it is there already"
            )));
        }
        Ok(Some(page.clone()))
    }
}
