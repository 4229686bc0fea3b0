//! Local records of runs: plans, results, transcripts and open notes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use ktx_diagnostics::{Code, Failure};
use ktx_ingest::Note;
use ktx_llm_runtime::LlmRuntime;
use ktx_observability::{RecordSink, RecordedRuntime};
use ktx_project_store::{
    FileError, RunFile, RunStatus, Store, append_line, read_optional, remove, write_privately,
};
use ktx_scan::ScanMode;
use ktx_vocabulary::{ConnectionId, RunId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::invocation::{CommandContext, Invocation, OpenProject};
use crate::report::{Outcome, Report as _};
use crate::scanning::ScanResult;
use crate::telemetry::Telemetry;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RunPlan {
    pub(crate) warehouses: Vec<String>,
    pub(crate) sources: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) note_runs: Vec<String>,
    pub(crate) is_structural: bool,
    pub(crate) is_facts_only: bool,
    pub(crate) reads_query_history: bool,
    pub(crate) connection_id: Option<String>,
    /// The owner of personal pages.
    pub(crate) user: Option<String>,
    pub(crate) retry_of: Option<String>,
}

impl RunPlan {
    pub(crate) fn of_scan<'a>(
        connections: impl Iterator<Item = &'a ConnectionId>,
        mode: ScanMode,
    ) -> Self {
        Self {
            warehouses: connections.map(ToString::to_string).collect(),
            is_structural: mode == ScanMode::Structural,
            ..Self::default()
        }
    }

    pub(crate) fn detail(&self) -> Value {
        json!({ "plan": self })
    }

    /// Empty for runs of an older `ktx`.
    pub(crate) fn of_detail(detail: &Value) -> Self {
        let plan = detail.get("plan").cloned();
        let plan = plan.and_then(|plan| serde_json::from_value(plan).ok());
        plan.unwrap_or_default()
    }
}

pub(crate) fn with_part(mut detail: Value, name: &str, part: Value) -> Value {
    if !detail.is_object() {
        detail = json!({});
    }
    if let Some(detail) = detail.as_object_mut() {
        detail.insert(name.to_owned(), part);
    }
    detail
}

pub(crate) fn combined(first: RunStatus, second: RunStatus) -> RunStatus {
    if first == second {
        first
    } else {
        RunStatus::Partial
    }
}

pub(crate) fn warehouse_parts(
    plan: &RunPlan,
    results: &[(ConnectionId, Outcome<ScanResult>)],
) -> Value {
    let parts = plan.warehouses.iter().map(|id| {
        let result = results.iter().find(|(known, _)| known.as_str() == id);
        match result {
            Some((_, result)) => warehouse_part(id, result),
            None => json!({ "connectionId": id, "status": "not-run" }),
        }
    });
    Value::Array(parts.collect())
}

fn warehouse_part(id: &str, result: &Outcome<ScanResult>) -> Value {
    match result {
        Ok(scanned) => {
            let outcome = &scanned.outcome;
            let warnings = &outcome.report.warnings;
            let is_short = warnings
                .iter()
                .any(|warning| warning.code == "enrichment_failed");
            let status = match (&outcome.paused, &outcome.stopped) {
                (Some(_), _) => "paused",
                (None, Some(_)) => "stopped",
                (None, None) if is_short => "partial",
                (None, None) => "done",
            };
            let warnings = warnings.iter().map(|warning| warning.message.as_str());
            let published = scanned.published.as_ref();
            json!({
                "connectionId": id,
                "status": status,
                "commitHash": published.and_then(|published| published.commit.as_deref()),
                "modelCalls": outcome.model_calls,
                "error": outcome.paused.as_ref().map(|paused| paused.error.message.as_str()),
                "warnings": warnings.collect::<Vec<_>>(),
            })
        }
        Err(failure) => json!({
            "connectionId": id,
            "status": "failed",
            "error": failure.message,
            "errorCode": failure.code.as_str(),
            "hints": failure.hints,
        }),
    }
}

/// Records conversations in the run's file, which begins with the first call.
pub(crate) fn recorded(
    runtime: Arc<dyn LlmRuntime>,
    invocation: &Invocation,
    project: &OpenProject,
) -> Arc<dyn LlmRuntime> {
    let sink = RunTranscript {
        store: project.store.clone(),
        run: invocation.run_id.clone(),
        telemetry: invocation.telemetry.clone(),
        is_begun: Mutex::default(),
        has_warned: AtomicBool::new(false),
    };
    Arc::new(RecordedRuntime::new(runtime, Arc::new(sink)))
}

struct RunTranscript {
    store: Store,
    run: RunId,
    telemetry: Telemetry,
    is_begun: Mutex<bool>,
    has_warned: AtomicBool,
}

impl RunTranscript {
    fn put(&self, line: &str) -> Result<(), FileError> {
        let mut is_begun = self.is_begun.lock().unwrap_or_else(PoisonError::into_inner);
        let path = if *is_begun {
            self.store.run_file(&self.run, RunFile::Transcript)
        } else {
            self.store.new_run_file(&self.run, RunFile::Transcript)?
        };
        *is_begun = true;
        append_line(&path, line.as_bytes())
    }
}

impl RecordSink for RunTranscript {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn redact(&self, text: &str) -> String {
        self.telemetry.redact(text)
    }

    /// Warns once on failure.
    fn append(&self, line: &str) {
        if let Err(error) = self.put(line)
            && !self.has_warned.swap(true, Ordering::Relaxed)
        {
            let reason = ktx_diagnostics::chain(&error).join(": ");
            tracing::warn!(reason, "the transcript of this run is not complete");
        }
    }
}

/// `None` without a local transcript.
pub(crate) fn transcript(run: &RunId, project: &OpenProject) -> Outcome<Option<Vec<Value>>> {
    let path = project.store.run_file(run, RunFile::Transcript);
    let bytes = read_optional(&path).map_err(|error| {
        Failure::from_error(Code::TranscriptFailed, &error).seen_from(&project.dir)
    })?;
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    // A killed run can leave a partial line.
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    Ok(Some(lines.collect()))
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenNotes {
    pub(crate) connection_id: Option<String>,
    #[serde(default)]
    pub(crate) user: Option<String>,
    pub(crate) author: String,
    pub(crate) notes: Vec<OpenNote>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenNote {
    pub(crate) label: String,
    pub(crate) text: String,
}

impl OpenNotes {
    /// Redacts likely secrets, which no model sees either.
    pub(crate) fn new<'a>(
        notes: impl Iterator<Item = &'a Note>,
        connection: Option<&ConnectionId>,
        author: &str,
        invocation: &Invocation,
    ) -> Self {
        let kept = notes.map(|note| OpenNote {
            label: invocation.telemetry.redact(&note.label),
            text: invocation.telemetry.redact(&note.text),
        });
        Self {
            connection_id: connection.map(ToString::to_string),
            user: None,
            author: author.to_owned(),
            notes: kept.collect(),
        }
    }

    /// Keeps notes for a retry, or removes the file if there are none. Only warns on failure.
    pub(crate) fn keep(
        &self,
        CommandContext {
            invocation,
            project,
            ..
        }: CommandContext<'_>,
    ) {
        let run = &invocation.run_id;
        let kept = if self.notes.is_empty() {
            let path = project.store.run_file(run, RunFile::Notes);
            remove(&path).map(drop)
        } else {
            let text = serde_json::to_string(self).unwrap_or_default();
            let path = project.store.new_run_file(run, RunFile::Notes);
            path.and_then(|path| write_privately(&path, text.as_bytes()).map(drop))
        };
        if let Err(error) = kept {
            let reason = ktx_diagnostics::chain(&error).join(": ");
            tracing::warn!(reason, "the notes of this run are not kept for a retry");
        }
    }

    /// `None` if there are none.
    pub(crate) fn of(run: &RunId, project: &OpenProject) -> Outcome<Option<Self>> {
        let path = project.store.run_file(run, RunFile::Notes);
        let bytes = read_optional(&path).map_err(|error| {
            Failure::from_error(Code::UnreadableNote, &error).seen_from(&project.dir)
        })?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct RetryScope {
    pub(crate) run: String,
    pub(crate) warehouses: BTreeSet<String>,
    pub(crate) sources: Vec<SourceScope>,
    pub(crate) notes: Vec<OpenNote>,
    pub(crate) report: Value,
}

#[derive(Debug, Clone)]
pub(crate) struct SourceScope {
    pub(crate) connection: String,
    pub(crate) units: UnitScope,
}

#[derive(Debug, Clone)]
pub(crate) enum UnitScope {
    /// Everything, because the source was unreadable.
    All,
    /// By key.
    Named(BTreeSet<String>),
}

impl RetryScope {
    /// `None` skips the connection.
    pub(crate) fn units(&self, connection: &ConnectionId) -> Option<&UnitScope> {
        let found = self
            .sources
            .iter()
            .find(|scope| scope.connection == connection.as_str());
        found.map(|scope| &scope.units)
    }
}
