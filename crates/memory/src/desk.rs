//! `memory_ingest` and `memory_ingest_status`: agents submit notes and query their status.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, WriteEffect, schema_for,
};
use ktx_vocabulary::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::length;

/// A queue of notes. Both calls return at once.
pub trait NoteQueue: Send + Sync {
    /// Queues a note and returns the id of its run. Notes are captured in order.
    fn take(&self, content: String, connection: Option<String>) -> Result<RunId, ToolError>;

    /// Returns the status of a run, including runs that another server accepted.
    fn status(&self, run: &str) -> Result<NoteStatus, ToolError>;
}

/// What a capture has written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// Pages that were written or removed, by key.
    pub wiki: Vec<String>,
    /// Sources that were written, by name.
    pub sl: Vec<String>,
    /// References from those pages to sources.
    pub xrefs: Vec<String>,
}

/// How far a note is, in the shape of KTX 0.12.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoteStatus {
    /// The run.
    pub run_id: String,
    /// `running`, `done` or `error`.
    pub status: String,
    /// `queued`, `ingesting`, `done` or `error`.
    pub stage: String,
    /// Whether it is over.
    pub done: bool,
    /// What was written.
    pub captured: Written,
    /// Why it failed; then ktx wrote nothing.
    pub error: Option<String>,
    /// The commit; none when there was nothing worth keeping.
    pub commit_hash: Option<String>,
    /// What a person should know, such as that the model was stopped before its end.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Always empty: instructions are part of the program.
    pub skills_loaded: Vec<String>,
    /// Whether the note taught anything.
    pub signal_detected: bool,
}

impl NoteStatus {
    /// Returns the status of a queued note.
    pub fn queued(run: &RunId) -> Self {
        Self {
            run_id: run.to_string(),
            status: "running".to_owned(),
            stage: "queued".to_owned(),
            done: false,
            captured: Written::default(),
            error: None,
            commit_hash: None,
            warnings: Vec::new(),
            skills_loaded: Vec::new(),
            signal_detected: false,
        }
    }

    /// Returns this status for a note that a model is reading.
    #[must_use]
    pub fn ingesting(self) -> Self {
        Self {
            stage: "ingesting".to_owned(),
            ..self
        }
    }

    /// Returns this status for a captured note.
    #[must_use]
    pub fn written(self, captured: Written, commit_hash: Option<String>) -> Self {
        Self {
            status: "done".to_owned(),
            stage: "done".to_owned(),
            done: true,
            signal_detected: commit_hash.is_some(),
            captured,
            commit_hash,
            ..self
        }
    }

    /// Returns this status for a failed note.
    #[must_use]
    pub fn failed(self, error: String) -> Self {
        Self {
            status: "error".to_owned(),
            stage: "error".to_owned(),
            done: true,
            error: Some(error),
            ..self
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct IngestInput {
    /// What was learned: definitions, rules, caveats, measures, in words.
    #[schemars(length(min = 1))]
    content: String,
    /// The warehouse that it is about; without one only wiki pages are written.
    connection_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StatusInput {
    /// What `memory_ingest` gave.
    run_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct QueuedNote {
    /// The id to ask `memory_ingest_status` with.
    run_id: String,
}

/// Returns the two tools over a desk.
pub fn desk_tools(desk: &Arc<dyn NoteQueue>) -> Vec<ToolDescriptor> {
    vec![
        ToolDescriptor {
            name: "memory_ingest".to_owned(),
            title: "Memory Ingest".to_owned(),
            description: "Keep what was learned for good: a model writes it into the project's wiki and, with \
                          `connectionId`, its semantic layer, as a commit. Answers at once with `runId`. Hand in \
                          facts that the user has stated or confirmed, no results of queries."
                .to_owned(),
            input_schema: schema_for::<IngestInput>(),
            output_schema: Some(schema_for::<QueuedNote>()),
            effect: WriteEffect::Writes,
            handler: Arc::new(Ingest(Arc::clone(desk))),
        },
        ToolDescriptor {
            name: "memory_ingest_status".to_owned(),
            title: "Memory Ingest Status".to_owned(),
            description: "Ask what became of a note that `memory_ingest` has taken: the pages and sources that were \
                          written, or why it failed."
                .to_owned(),
            input_schema: schema_for::<StatusInput>(),
            output_schema: Some(schema_for::<NoteStatus>()),
            effect: WriteEffect::ReadOnly,
            handler: Arc::new(Status(Arc::clone(desk))),
        },
    ]
}

struct Ingest(Arc<dyn NoteQueue>);

#[async_trait]
impl ToolHandler for Ingest {
    async fn call(&self, arguments: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        let input: IngestInput = read(arguments)?;
        // Checked before queueing, so that the queue never holds a note that a capture would
        // refuse.
        if let Some(length) = length::beyond_limit(&input.content) {
            return Err(ToolError::new(length::too_long(length)));
        }
        let run_id = self.0.take(input.content, input.connection_id)?;
        to_output(&QueuedNote {
            run_id: run_id.to_string(),
        })
    }
}

struct Status(Arc<dyn NoteQueue>);

#[async_trait]
impl ToolHandler for Status {
    async fn call(&self, arguments: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        let input: StatusInput = read(arguments)?;
        to_output(&self.0.status(&input.run_id)?)
    }
}

fn read<T: serde::de::DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| ToolError::new(error.to_string()))
}

/// Returns a value as structured data and as compact JSON text, the format of all tools of the
/// server.
fn to_output(value: &impl Serialize) -> Result<ToolOutput, ToolError> {
    let value = serde_json::to_value(value).map_err(|error| ToolError::new(error.to_string()))?;
    Ok(ToolOutput::new(value.to_string(), value))
}
