//! Captures notes of people and agents, with the model, its ledger and the project's lock.

use std::sync::Arc;

use jiff::Timestamp;
use ktx_diagnostics::{Code, Failure};
use ktx_ingest::{
    AfterFailure, Committed, Note, NoteEvent, NoteProgress, NotesRequest, Origin, RunStore,
    capture_notes,
};
use ktx_llm_runtime::LlmRuntime;
use ktx_memory::{LONGEST_NOTE, NoteStatus, ROLE};
use ktx_project_store::{RunStatus, StateDatabase};
use ktx_sql::Dialect;
use ktx_usage_ledger::Limits;
use ktx_vocabulary::{ConnectionId, ModelRole};
use serde_json::Value;

use super::committed::warnings;
use super::failures::{cause, failure};
use super::{continues, model_name};
use crate::compose::{self, LedgerSink, Spending};
use crate::connections::warehouse_with_dialect;
use crate::invocation::{CommandContext, Invocation};
use crate::locking::lock;
use crate::printer::Mode;
use crate::report::{Outcome, Report as _};
use crate::scanning::{look_at_machine, state_failure};

/// The holder's name in the project's lock, and the command of its runs.
pub(crate) const COMMAND: &str = "ktx ingest --text";

/// Number of characters of a text that form its name.
const NAME: usize = 50;

/// A note with more bytes is certainly too long.
pub(crate) const MOST_BYTES: u64 = 4 * LONGEST_NOTE as u64;

/// Notes that are captured in one run.
pub(crate) struct Submission<'a> {
    pub(crate) notes: &'a [Note],
    /// The warehouse that they are about.
    pub(crate) connection: Option<(ConnectionId, Dialect)>,
    pub(crate) author: &'a str,
    pub(crate) after_failure: AfterFailure,
    pub(crate) limits: Limits,
}

/// Makes a note that is named after its beginning.
pub(crate) fn of_text(text: &str) -> Note {
    let short: String = text.chars().take(NAME).collect();
    let words: Vec<&str> = short.split_whitespace().collect();
    Note {
        label: format!("\"{}\"", words.join(" ")),
        text: text.to_owned(),
    }
}

/// Refuses notes that no model needs to see.
pub(crate) fn check(note: &Note) -> Outcome<()> {
    let label = &note.label;
    if note.text.trim().is_empty() {
        return Err(Failure::new(
            Code::EmptyNote,
            format!("the note {label} is empty"),
        ));
    }
    let length = note.text.chars().count();
    if length > LONGEST_NOTE {
        let length = if note.text.len() as u64 > MOST_BYTES {
            format!("more than {length}")
        } else {
            length.to_string()
        };
        return Err(Failure::new(
            Code::LongNote,
            format!(
                "the note {label} has {length} characters, at most {LONGEST_NOTE} are taken at once"
            ),
        )
        .hint("split it, and give each part with a `--file` of its own"));
    }
    Ok(())
}

/// Captures the note of an agent.
pub(crate) fn capture(
    content: &str,
    connection_id: Option<&str>,
    context: CommandContext<'_>,
) -> Outcome<Committed> {
    let note = of_text(content);
    check(&note)?;
    let submission = Submission {
        notes: std::slice::from_ref(&note),
        connection: connection_id
            .map(|id| warehouse_with_dialect(&context.project.config, id))
            .transpose()?,
        author: "mcp",
        after_failure: AfterFailure::Stop,
        limits: Limits::default(),
    };
    let mut results = capture_all(&submission, context)?;
    let missing = || Failure::new(Code::Internal, "the note has no result");
    results.pop().unwrap_or_else(|| Err(missing()))
}

/// Captures notes; their cost is in the ledger at the end. Notes after the last result were not
/// tried.
pub(crate) fn capture_all(
    submission: &Submission<'_>,
    context: CommandContext<'_>,
) -> Outcome<Vec<Outcome<Committed>>> {
    let CommandContext {
        invocation,
        project,
        printer,
    } = context;
    let sink = Arc::new(LedgerSink::new(invocation, project, printer.clone()));
    let results = with_sink(submission, context, &sink);
    sink.finish();
    results
}

fn with_sink(
    submission: &Submission<'_>,
    context: CommandContext<'_>,
    sink: &Arc<LedgerSink>,
) -> Outcome<Vec<Outcome<Committed>>> {
    let CommandContext {
        invocation,
        project,
        printer,
    } = context;
    let spending = Spending {
        limits: submission.limits,
        roles: &[ModelRole::Default, ROLE],
    };
    let Some(runtime) = compose::llm(invocation, project, sink, spending)? else {
        return Err(compose::no_model(
            "a note can only be captured with a model",
        ));
    };
    // Before any cost.
    let _held = lock(project, COMMAND)?;
    look_at_machine(project, printer)?;
    let run_store = RunStore::open(&project.store, invocation.now);
    let run_store = run_store.map_err(|error| cause(&error, &project.dir))?;
    begin(run_store.state(), invocation)?;
    let results = run(submission, runtime, &run_store, context);
    let status = match &results {
        Ok(results) if results.iter().all(is_whole) => RunStatus::Done,
        Ok(results) if results.iter().any(Result::is_ok) => RunStatus::Partial,
        _ => RunStatus::Failed,
    };
    let finished = run_store.state().finish_run(
        &invocation.run_id,
        status,
        Timestamp::now(),
        &detail(invocation, &results),
    );
    finished.map_err(|error| state_failure(&error))?;
    results
}

fn begin(state: &StateDatabase, invocation: &Invocation) -> Outcome<()> {
    state
        .interrupt_runs(COMMAND, invocation.now)
        .and_then(|()| state.begin_run(&invocation.run_id, COMMAND, invocation.now, &Value::Null))
        .map_err(|error| state_failure(&error))
}

fn run(
    submission: &Submission<'_>,
    runtime: Arc<dyn LlmRuntime>,
    run_store: &RunStore,
    context: CommandContext<'_>,
) -> Outcome<Vec<Outcome<Committed>>> {
    let CommandContext {
        invocation,
        project,
        printer,
    } = context;
    let printer = printer.clone();
    compose::block_on(|cancel| async move {
        let request = NotesRequest {
            run_store,
            context: crate::context::open_for_agent(invocation, project)?,
            runtime,
            model_name: model_name(&project.config, ROLE),
            connection: submission.connection.clone(),
            author: submission.author.to_owned(),
            run_id: invocation.run_id.clone(),
            events: Arc::new(move |event| {
                if printer.mode != Mode::Json {
                    printer.note(&line(&event));
                }
            }),
            after_failure: submission.after_failure,
            cancel,
        };
        let results = capture_notes(&request, submission.notes).await;
        let results = results.map_err(|error| cause(&error, &project.dir))?;
        let results = results.into_iter();
        Ok(results
            .map(|result| result.map_err(|failed| failure(&failed, &project.dir)))
            .collect())
    })
}

fn line(event: &NoteEvent) -> String {
    let NoteEvent {
        position,
        count,
        label,
        progress,
    } = event;
    let note = format!("[{position}/{count}] {label}");
    match progress {
        NoteProgress::Started => note,
        NoteProgress::Continued(turns) => format!("{note} · {}", continues(*turns)),
        NoteProgress::Turn { index, budget } => format!("{note} · turn {index} of {budget}"),
    }
}

/// Returns the status of a single note, for queries about the run.
fn detail(invocation: &Invocation, results: &Outcome<Vec<Outcome<Committed>>>) -> Value {
    let status = NoteStatus::queued(&invocation.run_id);
    let status = match results.as_ref().map(Vec::as_slice) {
        Ok([Ok(committed)]) => note_status(status, committed),
        Ok([Err(failure)]) | Err(failure) => status.failed(failure.to_text()),
        Ok(_) => return Value::Null,
    };
    serde_json::to_value(status).unwrap_or_default()
}

/// Returns whether a note was captured to its end.
pub(crate) fn is_whole(result: &Outcome<Committed>) -> bool {
    let committed = result.as_ref();
    committed.is_ok_and(|committed| committed.truncation.is_none())
}

/// Returns the status of a captured note.
pub(crate) fn note_status(status: NoteStatus, committed: &Committed) -> NoteStatus {
    let status = status.written(committed.written.clone(), committed.commit.clone());
    NoteStatus {
        warnings: note_warnings(committed),
        ..status
    }
}

/// Returns what the user should know about a captured note.
pub(crate) fn note_warnings(committed: &Committed) -> Vec<String> {
    match committed.origin {
        Origin::ThisRun => warnings(committed),
        Origin::EarlierRun => {
            vec!["captured before, the model was not asked again".to_owned()]
        }
    }
}
