//! Captures notes one after another, one commit each.

use std::fmt::Write as _;
use std::sync::Arc;

use ktx_context_tools::ProjectContext;
use ktx_llm_runtime::{LlmRuntime, LoopStep, ProbeRequest};
use ktx_memory::{CaptureRequest, STEPS, TranscriptStore as _, capture};
use ktx_sql::Dialect;
use ktx_vocabulary::{ConnectionId, RunId};
use sha2::{Digest as _, Sha256};
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::error::{Failed, IngestError};
use crate::run_store::{Committed, RunStore};
use crate::transcripts::TranscriptFile;
use crate::work_item::{Truncation, WorkItem, WorkKind};

const NO_WAREHOUSE: &str = "notes";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub label: String,
    pub text: String,
}

impl Note {
    pub fn subject(&self) -> String {
        one_line(&self.label)
    }

    /// Returns whether the text cannot teach anything: it has no letters, or only a few words such
    /// as thanks.
    pub fn is_worthless(&self) -> bool {
        let words = self.text.split(|letter: char| !letter.is_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let is_empty = |word: &&str| {
            let word = word.to_lowercase();
            EMPTY_WORDS.contains(&word.as_str())
        };
        let has_letters = self.text.chars().any(char::is_alphabetic);
        !has_letters || words.len() <= FEW_WORDS && words.iter().all(is_empty)
    }
}

const EMPTY_WORDS: &[&str] = &[
    "danke", "done", "fine", "gut", "hallo", "hello", "hey", "hi", "ja", "moin", "nein", "no",
    "ok", "okay", "please", "sure", "test", "testing", "thanks", "thank", "thx", "yes", "you",
];

const FEW_WORDS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    Continue,
    Stop,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteEvent {
    /// From 1.
    pub position: usize,
    pub count: usize,
    pub label: String,
    pub progress: NoteProgress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteProgress {
    Started,
    Continued(usize),
    Turn { index: u32, budget: u32 },
}

pub struct NotesRequest<'a> {
    pub run_store: &'a RunStore,
    pub context: Arc<dyn ProjectContext>,
    pub runtime: Arc<dyn LlmRuntime>,
    /// The backend and model. An interrupted capture continues only with the same text.
    pub model_name: String,
    /// Without a warehouse, the notes can only write pages.
    pub connection: Option<(ConnectionId, Dialect)>,
    pub author: String,
    pub run_id: RunId,
    pub events: Arc<dyn Fn(NoteEvent) + Send + Sync>,
    pub after_failure: AfterFailure,
    pub cancel: CancellationToken,
}

impl std::fmt::Debug for NotesRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NotesRequest")
            .field("connection", &self.connection)
            .field("run_id", &self.run_id)
            .field("after_failure", &self.after_failure)
            .finish_non_exhaustive()
    }
}

/// Captures notes on one runtime, under the project's lock. Notes after the last result were not
/// tried. Probes the model before the first note that an earlier run has not captured.
pub async fn capture_notes(
    request: &NotesRequest<'_>,
    notes: &[Note],
) -> Result<Vec<Result<Committed, Failed>>, IngestError> {
    let results = capture_each(request, notes).await;
    // After Ctrl-C, do not wait any more.
    let settling = request.runtime.settle();
    settling.with_cancellation_token(&request.cancel).await;
    results
}

async fn capture_each(
    request: &NotesRequest<'_>,
    notes: &[Note],
) -> Result<Vec<Result<Committed, Failed>>, IngestError> {
    let mut results = Vec::new();
    let mut is_usable = false;
    for (index, note) in notes.iter().enumerate() {
        let item = work_item(request, note)?;
        let result = match request.run_store.find_committed(&item) {
            Ok(Some(committed)) => Ok(committed),
            Err(error) => Err(error),
            Ok(None) if note.is_worthless() && !note.text.trim().is_empty() => {
                Ok(Committed::nothing())
            }
            Ok(None) => {
                if !is_usable {
                    require_usable(request).await?;
                    is_usable = true;
                }
                let event = NoteEvent {
                    position: index + 1,
                    count: notes.len(),
                    label: note.label.clone(),
                    progress: NoteProgress::Started,
                };
                capture_one(request, note, &item, event).await
            }
        };
        let result = result.map_err(Failed::from);
        let is_last = result.as_ref().is_err_and(|failed| {
            request.after_failure == AfterFailure::Stop || failed.stop.is_some()
        });
        results.push(result);
        if is_last {
            break;
        }
    }
    Ok(results)
}

async fn require_usable(request: &NotesRequest<'_>) -> Result<(), IngestError> {
    let probe = ProbeRequest::of(&request.run_id).patient();
    let probe = probe.cancelled_by(request.cancel.clone());
    let probed = request.runtime.probe(probe).await;
    probed.map(|_| ()).map_err(IngestError::Probe)
}

async fn capture_one(
    request: &NotesRequest<'_>,
    note: &Note,
    item: &WorkItem,
    started: NoteEvent,
) -> Result<Committed, IngestError> {
    let run_store = request.run_store;
    let base = run_store.begin()?;
    let reporter = |event: &NoteEvent| {
        let (events, event) = (Arc::clone(&request.events), event.clone());
        move |progress| {
            events(NoteEvent {
                progress,
                ..event.clone()
            });
        }
    };
    let (on_continue, on_turn) = (reporter(&started), reporter(&started));
    (request.events)(started);
    let transcript = TranscriptFile::open(
        run_store.store(),
        &item.owner,
        &item.key,
        None,
        move |turns| {
            on_continue(NoteProgress::Continued(turns));
        },
    )?;
    let warehouse = request.connection.as_ref().map(|(id, _)| id);
    let captured = capture(CaptureRequest {
        label: note.label.clone(),
        note: note.text.clone(),
        connection: request.connection.clone(),
        files: run_store.files(&base, warehouse)?,
        context: Arc::clone(&request.context),
        runtime: Arc::clone(&request.runtime),
        run_id: request.run_id.clone(),
        on_step: Some(Arc::new(move |LoopStep { index, budget }| {
            on_turn(NoteProgress::Turn { index, budget });
            Ok(())
        })),
        kept: Some(transcript.kept_loop(request.model_name.clone(), request.runtime.describe())),
        cancel: request.cancel.clone(),
    })
    .await?;
    let truncation = captured.truncated.then_some(Truncation::Turns(STEPS));
    let committed = run_store.commit_item(item, &base, &captured.made, truncation)?;
    transcript.clear();
    Ok(committed)
}

fn work_item(request: &NotesRequest<'_>, note: &Note) -> Result<WorkItem, IngestError> {
    let warehouse = request.connection.as_ref().map(|(id, _)| id.clone());
    let mut hash = Sha256::new();
    hash.update(warehouse.as_ref().map_or("", |id| id.as_str()).as_bytes());
    hash.update([0]);
    hash.update(note.text.as_bytes());
    let input = hash.finalize().iter().fold(String::new(), |mut key, byte| {
        let _ = write!(key, "{byte:02x}");
        key
    });
    Ok(WorkItem {
        owner: match warehouse {
            Some(id) => id,
            None => ConnectionId::parse(NO_WAREHOUSE)?,
        },
        key: input.clone(),
        kind: WorkKind::Note,
        input,
        former_input: None,
        content: String::new(),
        title: format!("ktx ingest: {}", note.subject()),
        closing: vec![format!("noted by: {}", one_line(&request.author))],
        files: Vec::new(),
    })
}

fn one_line(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}
