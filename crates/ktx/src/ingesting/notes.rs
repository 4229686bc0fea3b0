//! Captures notes of users and agents.

mod personal;
mod prefilter;

use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use ktx_diagnostics::{Code, Failure};
use ktx_ingest::{
    AfterFailure, Committed, Note, NoteEvent, NoteProgress, NotesRequest, Origin, RunStore,
    capture_notes,
};
use ktx_llm_runtime::LlmRuntime;
use ktx_memory::{LONGEST_NOTE, NoteStatus, ROLE, worthless};
use ktx_project_store::{RunStatus, StateDatabase};
use ktx_sql::Dialect;
use ktx_usage_ledger::Limits;
use ktx_vocabulary::{ConnectionId, ModelRole, RunId};
use ktx_wiki::UserId;
use serde_json::{Value, json};
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
use crate::run_records::{OpenNotes, RunPlan, with_part};
use crate::scanning::{check_machine, state_failure};

/// Also names the runs.
pub(crate) const COMMAND: &str = "ktx ingest --text";

const NAME: usize = 50;

/// Longer notes are certainly too long.
pub(crate) const MOST_BYTES: u64 = 4 * LONGEST_NOTE as u64;

pub(crate) struct Submission<'a> {
    pub(crate) notes: &'a [Note],
    pub(crate) connection: Option<(ConnectionId, Dialect)>,
    /// Writes this user's pages; `None` means everyone's.
    pub(crate) user: Option<UserId>,
    pub(crate) author: &'a str,
    pub(crate) after_failure: AfterFailure,
    pub(crate) limits: Limits,
    pub(crate) retry_of: Option<&'a str>,
    /// Ids of notes; empty if the run's id applies.
    pub(crate) runs: &'a [RunId],
}

impl Submission<'_> {
    fn plan(&self) -> RunPlan {
        RunPlan {
            notes: self.notes.iter().map(Note::subject).collect(),
            note_runs: self.runs.iter().map(ToString::to_string).collect(),
            connection_id: self.connection.as_ref().map(|(id, _)| id.to_string()),
            retry_of: self.retry_of.map(str::to_owned),
            user: self.user.as_ref().map(ToString::to_string),
            ..RunPlan::default()
        }
    }

    fn keep_open(&self, results: &[Outcome<Committed>], context: CommandContext<'_>) {
        let open = self.notes.iter().enumerate();
        let open = open.filter(|(index, _)| !results.get(*index).is_some_and(is_whole));
        let connection = self.connection.as_ref().map(|(id, _)| id);
        let notes = open.map(|(_, note)| note);
        let kept = OpenNotes::new(notes, connection, self.author, context.invocation);
        let user = self.user.as_ref().map(ToString::to_string);
        OpenNotes { user, ..kept }.keep(context);
    }
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

pub(crate) struct QueuedNote {
    pub(crate) run: RunId,
    pub(crate) content: String,
}

/// Captures notes in one run, with a status per id.
pub(crate) fn capture_queued(
    queued: &[QueuedNote],
    connection_id: Option<&str>,
    context: CommandContext<'_>,
) -> Vec<NoteStatus> {
    let notes: Vec<Note> = queued.iter().map(|note| of_text(&note.content)).collect();
    let begun = |note: &QueuedNote| NoteStatus::queued(&note.run).ingesting();
    let failed = |note: &QueuedNote, failure: &Failure| {
        begun(note).failed(failure.to_text().trim_end().to_owned())
    };
    let checks: Vec<Outcome<()>> = notes.iter().map(check).collect();
    let sound = queued.iter().zip(&notes).zip(&checks);
    let sound = sound.filter(|(_, check)| check.is_ok());
    let (runs, sound): (Vec<RunId>, Vec<Note>) = sound
        .map(|((queued, note), _)| (queued.run.clone(), note.clone()))
        .unzip();
    let captured = || {
        let connection =
            connection_id.map(|id| warehouse_with_dialect(&context.project.config, id));
        let submission = Submission {
            notes: &sound,
            connection: connection.transpose()?,
            user: None,
            author: "mcp",
            after_failure: AfterFailure::Continue,
            limits: Limits::default(),
            retry_of: None,
            runs: &runs,
        };
        capture_all(&submission, context)
    };
    let results = if sound.is_empty() {
        Ok(Vec::new())
    } else {
        captured()
    };
    let mut tried = results
        .as_ref()
        .map_or(&[][..], |all| all.as_slice())
        .iter();
    let mut last: Option<Failure> = results.as_ref().err().cloned();
    let statuses = queued.iter().zip(&notes).zip(checks);
    let statuses = statuses.map(|((queued, note), check)| {
        if let Err(failure) = check {
            return failed(queued, &failure);
        }
        match tried.next() {
            Some(Ok(committed)) => note_status(begun(queued), note, committed),
            Some(Err(failure)) => {
                last = Some(failure.clone());
                failed(queued, failure)
            }
            None => match &last {
                Some(failure) => failed(queued, failure),
                None => begun(queued).failed("the note was not tried".to_owned()),
            },
        }
    });
    statuses.collect()
}

/// Uses the agent's model and budget. `go` runs the work.
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
        user: None,
        author,
        after_failure: AfterFailure::Stop,
        limits: Limits::default(),
        retry_of: None,
        runs: &[],
    };
    let mut results = prefilter::prefiltered(&submission, capture)?;
    let missing = || Failure::new(Code::Internal, "the note has no result");
    results.pop().unwrap_or_else(|| Err(missing()))
}

/// Notes after the last result were not tried.
pub(crate) fn capture_all(
    submission: &Submission<'_>,
    context: CommandContext<'_>,
) -> Outcome<Vec<Outcome<Committed>>> {
    prefilter::prefiltered(submission, |useful| with_ledger(useful, context))
}

fn with_ledger(
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
    check_machine(project, printer)?;
    let run_store = RunStore::open(&project.store, invocation.now);
    let run_store = run_store.map_err(|error| cause(&error, &project.dir))?;
    let plan = submission.plan();
    begin(run_store.state(), &plan, invocation)?;
    submission.keep_open(&[], context);
    let runtime = crate::run_records::recorded(runtime, invocation, project);
    let work: Work<'_> =
        Box::new(|cancel| Box::pin(asked(submission, runtime, &run_store, context, cancel)));
    let results = go(work);
    let status = match &results {
        Ok(results) if results.iter().all(is_whole) => RunStatus::Done,
        Ok(results) if results.iter().any(Result::is_ok) => RunStatus::Partial,
        _ => RunStatus::Failed,
    };
    if let Ok(results) = &results {
        submission.keep_open(results, context);
    }
    let finished = run_store.state().finish_run(
        &invocation.run_id,
        status,
        Timestamp::now(),
        &detail(submission, &plan, invocation, &results),
    );
    finished.map_err(|error| state_failure(&error))?;
    results
}

fn begin(state: &StateDatabase, plan: &RunPlan, invocation: &Invocation) -> Outcome<()> {
    state
        .interrupt_runs(COMMAND, invocation.now)
        .and_then(|()| state.begin_run(&invocation.run_id, COMMAND, invocation.now, &plan.detail()))
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
    if let Some(user) = &submission.user {
        let captures = personal::Captures {
            submission,
            user,
            runtime,
            context,
            cancel,
        };
        return captures.all().await;
    }
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

/// The status of a single note outlives the server.
fn detail(
    submission: &Submission<'_>,
    plan: &RunPlan,
    invocation: &Invocation,
    results: &Outcome<Vec<Outcome<Committed>>>,
) -> Value {
    let status = NoteStatus::queued(&invocation.run_id);
    let status = match results.as_ref().map(Vec::as_slice) {
        Ok([Ok(committed)]) => {
            let note = submission.notes.first();
            note.map_or(status.clone(), |note| note_status(status, note, committed))
        }
        Ok([Err(failure)]) | Err(failure) => status.failed(failure.to_text()),
        Ok(_) => return with_notes(plan.detail(), submission, invocation, results),
    };
    let detail = serde_json::to_value(status).unwrap_or_default();
    let detail = with_part(detail, "plan", json!(plan));
    with_notes(detail, submission, invocation, results)
}

fn with_notes(
    detail: Value,
    submission: &Submission<'_>,
    invocation: &Invocation,
    results: &Outcome<Vec<Outcome<Committed>>>,
) -> Value {
    let notes = submission.notes.iter().enumerate();
    let items = notes.map(|(index, note)| {
        let run = submission.runs.get(index).unwrap_or(&invocation.run_id);
        let run = run.as_str();
        match results {
            Ok(results) => note_item(note, run, results.get(index)),
            Err(failure) => note_item(note, run, Some(&Err(failure.clone()))),
        }
    });
    with_part(detail, "notes", Value::Array(items.collect()))
}

/// The JSON result; `None` if not tried.
pub(crate) fn note_item(note: &Note, run: &str, result: Option<&Outcome<Committed>>) -> Value {
    let (status, done, error) = match result {
        Some(Ok(done)) => (status_name(note, done), Some(done), None),
        Some(Err(failure)) => ("error", None, Some(failure)),
        None => ("not-run", None, None),
    };
    let captured = done.map(|done| done.written.clone()).unwrap_or_default();
    json!({
        "label": note.label,
        "runId": run,
        "status": status,
        "captured": { "wiki": captured.wiki, "sl": captured.sl, "xrefs": captured.xrefs },
        "commitHash": done.and_then(|done| done.commit.as_deref()),
        "error": error.map(|failure| failure.message.as_str()),
        "errorCode": error.map(|failure| failure.code.as_str()),
        "hints": error.map(|failure| failure.hints.as_slice()).unwrap_or_default(),
        "warnings": done.map(|done| note_warnings(note, done)).unwrap_or_default(),
    })
}

pub(crate) fn status_name(note: &Note, committed: &Committed) -> &'static str {
    if committed.truncation.is_some() {
        "partial"
    } else if worthless(&note.text).is_some() {
        "skipped"
    } else {
        "done"
    }
}

pub(crate) fn is_whole(result: &Outcome<Committed>) -> bool {
    let committed = result.as_ref();
    committed.is_ok_and(|committed| committed.truncation.is_none())
}

pub(crate) fn note_status(status: NoteStatus, note: &Note, committed: &Committed) -> NoteStatus {
    let status = status.written(committed.written.clone(), committed.commit.clone());
    NoteStatus {
        warnings: note_warnings(note, committed),
        ..status
    }
}

pub(crate) fn note_warnings(note: &Note, committed: &Committed) -> Vec<String> {
    if let Some(warning) = prefilter::warning(note) {
        return vec![warning];
    }
    match committed.origin {
        Origin::ThisRun => warnings(committed),
        Origin::EarlierRun => {
            vec!["captured before; ktx did not ask the model again".to_owned()]
        }
    }
}
