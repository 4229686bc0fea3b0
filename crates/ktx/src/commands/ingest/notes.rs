//! `ktx ingest --text` and `--file`: notes become wiki pages and semantic sources, one commit each.

mod input;
mod report;

use ktx_diagnostics::{Code, Failure};
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use ktx_ingest::{Committed, Origin, RunStore, TranscriptFile, Truncation, WorkItem, WorkKind};
use ktx_llm_runtime::LlmRuntime;
use ktx_memory::{CaptureError, CaptureRequest, NoteStatus, ROLE, STEPS, TranscriptStore as _};
use ktx_project_store::{RunStatus, StateDatabase};
use ktx_sql::Dialect;
use ktx_usage_ledger::Limits;
use ktx_vocabulary::{ConnectionId, ModelRole};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::cli::IngestArgs;
use crate::compose::{self, LedgerSink, Spending};
use crate::invocation::{Invocation, OpenProject};
use crate::locking::lock;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::scanning::{look_at_machine, state_failure, usable};
use crate::sources::target;

use super::committed::warnings;
use super::failures::{cause, stop};
use super::sources::continues;
use crate::invocation::CommandContext;
use input::Note;

pub(crate) const COMMAND: &str = "ktx ingest --text";

struct Handed<'a> {
    notes: &'a [Note],
    connection: Option<(ConnectionId, Dialect)>,
    user: &'a str,
    fail_fast: bool,
    limits: Limits,
}

/// State shared by all notes of one command.
struct Work<'a> {
    invocation: &'a Invocation,
    project: &'a OpenProject,
    printer: &'a Printer,
    connection: Option<(ConnectionId, Dialect)>,
    user: &'a str,
    runtime: Arc<dyn LlmRuntime>,
    run_store: RunStore,
}

pub(super) fn are_given(args: &IngestArgs) -> bool {
    !args.text.is_empty() || !args.file.is_empty()
}

/// Refuses options that only apply to notes, and partial runs of a single context source.
pub(super) fn check_absent(args: &IngestArgs, is_one_source: bool) -> Outcome<()> {
    let (flag, owners) = if args.fail_fast {
        ("--fail-fast", "`--text` and `--file`")
    } else if args.note_connection.is_some() && !is_one_source {
        let owners = "`--text`, `--file` and the ingest of a context source";
        ("--connection-id", owners)
    } else {
        return Ok(());
    };
    Err(
        Failure::new(Code::Usage, format!("`{flag}` belongs to {owners}"))
            .hint("name the warehouse to ingest without a flag: `ktx ingest <id>`"),
    )
}

/// Captures all notes, one after another; each is committed before the next one begins.
pub(super) fn run(
    args: &IngestArgs,
    limits: Limits,
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome {
    let connection = target::named(args.note_connection.as_deref(), project)?;
    let notes = input::notes(args, invocation)?;
    let handed = Handed {
        notes: &notes,
        connection,
        user: &args.user_id,
        fail_fast: args.fail_fast,
        limits,
    };
    let results = with_ledger(
        &handed,
        CommandContext {
            invocation,
            project,
            printer,
        },
    )?;
    report::finish(
        args,
        &notes,
        &results,
        CommandContext {
            invocation,
            project,
            printer,
        },
    )
}

pub(crate) fn capture(
    content: &str,
    connection_id: Option<&str>,
    CommandContext {
        invocation,
        project,
        printer,
    }: CommandContext<'_>,
) -> Outcome<Committed> {
    let note = Note::of_text(content);
    input::check(&note)?;
    let handed = Handed {
        notes: std::slice::from_ref(&note),
        connection: target::named(connection_id, project)?,
        user: "mcp",
        fail_fast: true,
        limits: Limits::default(),
    };
    let mut results = with_ledger(
        &handed,
        CommandContext {
            invocation,
            project,
            printer,
        },
    )?;
    let missing = || Failure::new(Code::Internal, "the note has no result");
    results.pop().unwrap_or_else(|| Err(missing()))
}

fn with_ledger(
    handed: &Handed<'_>,
    CommandContext {
        invocation,
        project,
        printer,
    }: CommandContext<'_>,
) -> Outcome<Vec<Outcome<Committed>>> {
    let sink = Arc::new(LedgerSink::new(invocation, project, printer.clone()));
    let results = worked(
        handed,
        CommandContext {
            invocation,
            project,
            printer,
        },
        &sink,
    );
    sink.finish();
    results
}

fn worked(
    handed: &Handed<'_>,
    CommandContext {
        invocation,
        project,
        printer,
    }: CommandContext<'_>,
    sink: &Arc<LedgerSink>,
) -> Outcome<Vec<Outcome<Committed>>> {
    let spending = Spending {
        limits: handed.limits,
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
    let work = Work {
        invocation,
        project,
        printer,
        connection: handed.connection.clone(),
        user: handed.user,
        runtime,
        run_store,
    };
    let results = all(&work, handed.notes, handed.fail_fast);
    let status = match &results {
        Ok(results) if results.iter().all(is_whole) => RunStatus::Done,
        Ok(results) if results.iter().any(Result::is_ok) => RunStatus::Partial,
        _ => RunStatus::Failed,
    };
    work.run_store
        .state()
        .finish_run(
            &invocation.run_id,
            status,
            Timestamp::now(),
            &detail(invocation, &results),
        )
        .map_err(|error| state_failure(&error))?;
    results
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

fn is_whole(result: &Outcome<Committed>) -> bool {
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

fn note_warnings(committed: &Committed) -> Vec<String> {
    match committed.origin {
        Origin::ThisRun => warnings(committed),
        Origin::EarlierRun => {
            vec!["captured before, the model was not asked again".to_owned()]
        }
    }
}

fn begin(state: &StateDatabase, invocation: &Invocation) -> Outcome<()> {
    state
        .interrupt_runs(COMMAND, invocation.now)
        .and_then(|()| state.begin_run(&invocation.run_id, COMMAND, invocation.now, &Value::Null))
        .map_err(|error| state_failure(&error))
}

/// Captures all notes on one runtime, so that a waiting child serves the next one.
fn all(work: &Work<'_>, notes: &[Note], fail_fast: bool) -> Outcome<Vec<Outcome<Committed>>> {
    compose::block_on(|cancel| async move {
        let results = each(work, notes, fail_fast, &cancel).await;
        // After Ctrl-C, do not wait any more.
        let settling = work.runtime.settle();
        settling.with_cancellation_token(&cancel).await;
        results
    })
}

async fn each(
    work: &Work<'_>,
    notes: &[Note],
    fail_fast: bool,
    cancel: &CancellationToken,
) -> Outcome<Vec<Outcome<Committed>>> {
    let mut results = Vec::new();
    let mut is_usable = false;
    for (index, note) in notes.iter().enumerate() {
        let item = work_item(work, note)?;
        let result = match work.run_store.known(&item) {
            Ok(Some(committed)) => Ok(committed),
            Err(error) => Err(cause(&error, &work.project.dir)),
            Ok(None) => {
                if !is_usable {
                    usable(&work.runtime, work.invocation, cancel).await?;
                    is_usable = true;
                }
                let place = format!("[{}/{}] {}", index + 1, notes.len(), note.label);
                one(work, (note, &item), place, cancel.clone()).await
            }
        };
        let is_over = |failure: &Failure| fail_fast || stop(failure).is_some();
        let stops = result.as_ref().is_err_and(is_over);
        results.push(result);
        if stops {
            break;
        }
    }
    Ok(results)
}

async fn one(
    work: &Work<'_>,
    (note, item): (&Note, &WorkItem),
    place: String,
    cancel: CancellationToken,
) -> Outcome<Committed> {
    let failed = |error| cause(&error, &work.project.dir);
    let base = work.run_store.begin().map_err(failed)?;
    let quiet = work.printer.mode == Mode::Json;
    let printer = work.printer.clone();
    if !quiet {
        printer.note(&place);
    }
    let warehouse = work.connection.as_ref().map(|(id, _)| id);
    let (continued, place_continued) = (work.printer.clone(), place.clone());
    let transcript =
        TranscriptFile::open(&work.project.store, &item.owner, &item.key, move |turns| {
            if !quiet {
                continued.note(&format!("{place_continued} · {}", continues(turns)));
            }
        })
        .map_err(failed)?;
    let model = super::model_name(&work.project.config, ROLE);
    let captured = ktx_memory::capture(CaptureRequest {
        label: note.label.clone(),
        note: note.text.clone(),
        connection: work.connection.clone(),
        files: work.run_store.files(&base, warehouse).map_err(failed)?,
        context: crate::context::open_for_agent(work.invocation, work.project)?,
        runtime: Arc::clone(&work.runtime),
        run_id: work.invocation.run_id.clone(),
        on_step: Some(Arc::new(move |step| {
            if !quiet {
                printer.note(&format!("{place} · turn {} of {}", step.index, step.budget));
            }
            Ok(())
        })),
        kept: Some(transcript.kept_loop(model, work.runtime.describe())),
        cancel,
    })
    .await
    .map_err(capture_failure)?;
    let truncation = captured.truncated.then_some(Truncation::Turns(STEPS));
    let committed = work
        .run_store
        .commit_item(item, &base, &captured.made, truncation)
        .map_err(failed)?;
    transcript.clear();
    Ok(committed)
}

fn capture_failure(error: CaptureError) -> Failure {
    match error {
        CaptureError::Model(error) => Failure::from(error),
        CaptureError::Project(failure) => failure,
        CaptureError::Empty => Failure::from_error(Code::EmptyNote, &error),
        CaptureError::TooLong { .. } => Failure::from_error(Code::LongNote, &error)
            .hint("split it, and give each part with a `--file` of its own"),
        CaptureError::Tools(_) => Failure::from_error(Code::Internal, &error),
    }
}

/// Converts a note and its connection into a work item.
fn work_item(work: &Work<'_>, note: &Note) -> Outcome<WorkItem> {
    let about = work.connection.as_ref().map(|(id, _)| id.clone());
    let mut hash = Sha256::new();
    hash.update(about.as_ref().map_or("", |id| id.as_str()).as_bytes());
    hash.update([0]);
    hash.update(note.text.as_bytes());
    let input = hash.finalize().iter().fold(String::new(), |mut key, byte| {
        let _ = write!(key, "{byte:02x}");
        key
    });
    Ok(WorkItem {
        owner: match about {
            Some(id) => id,
            None => ConnectionId::parse("notes")?,
        },
        key: input.clone(),
        kind: WorkKind::Note,
        input,
        title: format!("ktx ingest: {}", note.subject()),
        closing: vec![format!("noted by: {}", input::one_line(work.user))],
        files: Vec::new(),
    })
}
