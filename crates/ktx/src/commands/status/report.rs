//! The report of `ktx status`, with its JSON form.

use indexmap::IndexMap;
use ktx_diagnostics::{Code, Diagnostic, Failure, Hint};
use ktx_project_store::SyncRound;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::compose::BudgetReport;
use crate::proposals::ProposalReport;

/// In the order of the JSON form.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusReport {
    pub project_name: Option<String>,
    pub project_dir: String,
    pub config: ConfigStatus,
    pub llm: ModelStatus,
    pub embeddings: Embeddings,
    pub storage: Storage,
    pub connections: Vec<ConnectionStatus>,
    pub query_history: Vec<HistoryStatus>,
    pub capabilities: Capabilities,
    pub pipeline: Pipeline,
    pub warnings: Vec<Warning>,
    pub local_stats: LocalStats,
    pub work_units: WorkUnits,
    pub relationships_detail: RelationshipsDetail,
    pub git: CheckResult,
    pub local_state: CheckResult,
    pub sources: SourcesStatus,
    pub proposals: Vec<ProposalReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<SyncStatus>,
    pub not_looked_at: Vec<SkippedCheck>,
    #[serde(flatten)]
    pub verdict: StatusVerdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Health {
    Ok,
    Warn,
    Fail,
    Skipped,
    Off,
}

#[derive(Debug, Serialize)]
pub(super) struct ConfigStatus {
    pub status: Health,
    pub detail: String,
    pub issues: Vec<Issue>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SyncStatus {
    pub last: Option<SyncRound>,
    pub next: Option<String>,
    pub detail: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Issue {
    pub path: Option<String>,
    pub message: String,
    pub severity: String,
    pub fix: Option<Hint>,
}

impl From<&Diagnostic> for Issue {
    fn from(diagnostic: &Diagnostic) -> Self {
        Self {
            path: diagnostic.location.as_ref().map(ToString::to_string),
            message: diagnostic.message.clone(),
            severity: diagnostic.severity.to_string(),
            fix: diagnostic.hints.first().cloned(),
        }
    }
}

/// `facts` and `warnings` only if usable, `trouble` only if not.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelStatus {
    pub backend: &'static str,
    pub model: Option<String>,
    pub status: Health,
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<IndexMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
    #[serde(flatten)]
    pub trouble: Option<ModelTrouble>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetReport>,
}

#[derive(Debug, Serialize)]
pub(super) struct ModelTrouble {
    pub code: Code,
    pub fix: Option<Hint>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RateLimit {
    pub window: String,
    pub standing: &'static str,
    /// The used share of the window, 0 to 1.
    pub utilization: Option<f64>,
    pub resets_at: Option<String>,
    pub observed_at: String,
    pub detail: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Embeddings {
    pub backend: &'static str,
    pub model: Option<String>,
    pub dimensions: u64,
    pub status: Health,
    pub detail: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Storage {
    pub state: &'static str,
    pub search: &'static str,
    pub git_author: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct ConnectionStatus {
    pub name: String,
    pub driver: &'static str,
    pub status: Health,
    pub detail: String,
    pub fix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<ScannedScope>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScannedScope {
    pub schemas: Vec<ScannedSchema>,
    pub left_out: Vec<OmittedSchema>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct ScannedSchema {
    pub name: String,
    pub tables: usize,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct OmittedSchema {
    pub name: String,
    /// `not_named` or `not_granted`.
    pub reason: String,
}

#[derive(Debug, Serialize)]
pub(super) struct HistoryStatus {
    pub connection: String,
    pub driver: &'static str,
    pub dialect: Option<&'static str>,
    pub status: Health,
    pub detail: String,
    pub fix: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Capabilities {
    pub query: Capability,
    pub scan: Capability,
    pub search: Capability,
    pub serve: Capability,
    pub ingest: Capability,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Capability {
    pub able: Availability,
    pub reason: String,
}

impl Capability {
    pub(super) fn new(able: Availability, reason: impl Into<String>) -> Self {
        Self {
            able,
            reason: reason.into(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Availability {
    Yes,
    No,
    Unknown,
}

impl Availability {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the switches of ktx.yaml, as the JSON form shows them"
)]
pub(super) struct Pipeline {
    pub adapters: Vec<String>,
    pub enrichment_mode: &'static str,
    pub relationships_enabled: bool,
    pub relationships_llm_proposals: bool,
    pub relationships_validation_required: bool,
    pub agent_enabled: bool,
    pub agent_tools: Vec<String>,
    pub agent_max_iterations: u64,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Warning {
    pub message: String,
    pub fix: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LocalStats {
    pub wiki_pages: Vec<WikiPages>,
    pub semantic_layer: Vec<SourceFiles>,
}

#[derive(Debug, Serialize)]
pub(super) struct WikiPages {
    pub scope: &'static str,
    pub count: FileCount,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceFiles {
    pub connection_id: String,
    pub source_count: FileCount,
    pub shard_count: FileCount,
}

/// Null in JSON if unreadable.
#[derive(Debug)]
pub(super) enum FileCount {
    Files(usize),
    Unreadable(Warning),
}

impl FileCount {
    pub(super) const fn warning(&self) -> Option<&Warning> {
        match self {
            Self::Files(_) => None,
            Self::Unreadable(warning) => Some(warning),
        }
    }
}

impl Serialize for FileCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Files(files) => files.serialize(serializer),
            Self::Unreadable(_) => Value::Null.serialize(serializer),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkUnits {
    pub step_budget: u64,
    pub max_concurrency: u64,
    pub failure_mode: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RelationshipsDetail {
    pub accept_threshold: f64,
    pub review_threshold: f64,
    pub max_llm_tables_per_batch: u64,
    pub validation_concurrency: u64,
}

#[derive(Debug, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub(super) enum CheckResult {
    Skipped { detail: &'static str },
    Ok { detail: &'static str },
    Fail { detail: String, fix: Option<Hint> },
}

impl CheckResult {
    pub(super) fn new(check: Option<&Result<(), Failure>>) -> Self {
        match check {
            None => Self::Skipped {
                detail: "not checked (--fast)",
            },
            Some(Ok(())) => Self::Ok { detail: "usable" },
            Some(Err(failure)) => Self::Fail {
                detail: with_causes(failure),
                fix: failure.hints.first().cloned(),
            },
        }
    }
}

pub(super) fn with_causes(failure: &Failure) -> String {
    std::iter::once(&failure.message)
        .chain(&failure.causes)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(": ")
}

#[derive(Debug, Serialize)]
pub(super) struct SourcesStatus {
    pub status: Health,
    pub detail: String,
    pub issues: Vec<Issue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct SkippedCheck {
    pub what: &'static str,
    pub command: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusVerdict {
    #[serde(rename = "verdict")]
    pub readiness: Readiness,
    #[serde(rename = "verdictReason")]
    pub reason: String,
    pub next_actions: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Readiness {
    Ready,
    Partial,
    Blocked,
}

impl Readiness {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Partial => "partial",
            Self::Blocked => "blocked",
        }
    }
}
