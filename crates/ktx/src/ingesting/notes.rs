//! Captures notes of people and agents, with the model, its ledger and the project's lock.

use std::pin::Pin;
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
use tokio_util::sync::CancellationToken;

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

/// Also the command of its runs.
pub(crate) const COMMAND: &str = "ktx ingest --text";

const NAME: usize = 50;

/// A note with more bytes is certainly too long.
pub(crate) const MOST_BYTES: u64 = 4 * LONGEST_NOTE as u64;

pub(crate) struct Submission<'a> {
    pub(crate) notes: &'a [Note],
    pub(crate) connection: Option<(ConnectionId, Dialect)>,
    pub(crate) author: &'a str,
    pub(crate) after_failure: AfterFailure,
    pub(crate) limits: Limits,
}

pub(crate) fn of_text(text: &str) -> Note {
    let short: String = text.chars().take(NAME).collect();
    let words: Vec<&str> = short.split_whitespace().collect();
    Note {
        label: format!("\"{}\"", words.join(" ")),
        text: text.to_owned(),
    }
}

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
                "the note {label} has {length} characters; a note may have at most {LONGEST_NOTE}"
            ),
        )
        .hint("split it, and give each part with a `--file` of its own"));
    }
    Ok(())
}

pub(crate) fn capture(
    content: &str,
    connection_id: Option<&str>,
    context: CommandContext<'_>,
) -> Outcome<Committed> {
    only(content, connection_id, "mcp", context, |submission| {
        capture_all(submission, context)
    })
}

/// As [`capture`], for an agent: with its model, within its budget. `go` runs the work.
pub(crate) fn capture_with<F>(
    content: &str,
    connection_id: Option<&str>,
    context: CommandContext<'_>,
    runtime: Arc<dyn LlmRuntime>,
    go: F,
) -> Outcome<Committed>
where
    F: FnOnce(Work<'_>) -> Outcome<Vec<Outcome<Committed>>>,
{
    only(content, connection_id, "agent", context, |submission| {
        recorded(submission, runtime, context, go)
    })
}

/// The work of a capture. The caller polls it until it ends or is cancelled.
pub(crate) type Work<'a> = Box<
    dyn FnOnce(
            CancellationToken,
        ) -> Pin<Box<dyn Future<Output = Outcome<Vec<Outcome<Committed>>>> + 'a>>
        + 'a,
>;

fn only(
    content: &str,
    connection_id: Option<&str>,
    author: &str,
    context: CommandContext<'_>,
    capture: impl FnOnce(&Submission<'_>) -> Outcome<Vec<Outcome<Committed>>>,
) -> Outcome<Committed> {
    let note = of_text(content);
    check(&note)?;
    let submission = Submission {
        notes: std::slice::from_ref(&note),
        connection: connection_id
            .map(|id| warehouse_with_dialect(&context.project.config, id))
            .transpose()?,
        author,
        after_failure: AfterFailure::Stop,
        limits: Limits::default(),
    };
    let mut results = capture(&submission)?;
    let missing = || Failure::new(Code::Internal, "the note has no result");
    results.pop().unwrap_or_else(|| Err(missing()))
}

/// Notes after the last result were not tried.
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
        ..
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
    recorded(submission, runtime, context, |work| compose::block_on(work))
}

/// Does the work of a capture under the project's lock, and records its run.
fn recorded(
    submission: &Submission<'_>,
    runtime: Arc<dyn LlmRuntime>,
    context: CommandContext<'_>,
    go: impl FnOnce(Work<'_>) -> Outcome<Vec<Outcome<Committed>>>,
) -> Outcome<Vec<Outcome<Committed>>> {
    let CommandContext {
        invocation,
        project,
        printer,
    } = context;
    // Before any cost.
    let _held = lock(project, COMMAND)?;
    look_at_machine(project, printer)?;
    let run_store = RunStore::open(&project.store, invocation.now);
    let run_store = run_store.map_err(|error| cause(&error, &project.dir))?;
    begin(run_store.state(), invocation)?;
    let work: Work<'_> =
        Box::new(|cancel| Box::pin(asked(submission, runtime, &run_store, context, cancel)));
    let results = go(work);
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

async fn asked(
    submission: &Submission<'_>,
    runtime: Arc<dyn LlmRuntime>,
    run_store: &RunStore,
    context: CommandContext<'_>,
    cancel: CancellationToken,
) -> Outcome<Vec<Outcome<Committed>>> {
    let CommandContext {
        invocation,
        project,
        printer,
    } = context;
    let printer = printer.clone();
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

fn detail(invocation: &Invocation, results: &Outcome<Vec<Outcome<Committed>>>) -> Value {
    let status = NoteStatus::queued(&invocation.run_id);
    let status = match results.as_ref().map(Vec::as_slice) {
        Ok([Ok(committed)]) => note_status(status, committed),
        Ok([Err(failure)]) | Err(failure) => status.failed(failure.to_text()),
        Ok(_) => return Value::Null,
    };
    serde_json::to_value(status).unwrap_or_default()
}

pub(crate) fn is_whole(result: &Outcome<Committed>) -> bool {
    let committed = result.as_ref();
    committed.is_ok_and(|committed| committed.truncation.is_none())
}

pub(crate) fn note_status(status: NoteStatus, committed: &Committed) -> NoteStatus {
    let status = status.written(committed.written.clone(), committed.commit.clone());
    NoteStatus {
        warnings: note_warnings(committed),
        ..status
    }
}

pub(crate) fn note_warnings(committed: &Committed) -> Vec<String> {
    match committed.origin {
        Origin::ThisRun => warnings(committed),
        Origin::EarlierRun => {
            vec!["captured before; ktx did not ask the model again".to_owned()]
        }
    }
}
