//! `ktx ingest --text` and `--file`: notes become wiki pages and semantic sources, one commit each.

mod input;
mod report;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use ktx_config::Connection;
use ktx_llm_runtime::LlmRuntime;
use ktx_memory::{CaptureError, CaptureRequest, Captured, NoteStatus, ROLE, STEPS, Written};
use ktx_project_store::{
    Base, ProjectPath, PublishRequest, Published, Publisher, RunStatus, StageRow, StateDatabase,
};
use ktx_usage_ledger::Limits;
use ktx_vocabulary::{ConnectionId, ModelRole};
use ktx_warehouse::Dialect;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::cli::IngestArgs;
use crate::compose::{self, LedgerSink};
use crate::exit::Exit;
use crate::printer::{Mode, Printer};
use crate::report::{Failure, Outcome};
use crate::scanning::{lock, look_at_machine, publish_failure, state_failure, usable};
use crate::session::{Opened, Session};

use input::Note;

pub(crate) const COMMAND: &str = "ktx ingest --text";

/// The stage under which captured notes are remembered.
const STAGE: &str = "memory";

/// What became of one note.
pub(crate) struct Done {
    /// What was written.
    pub(crate) captured: Written,
    /// The commit; none when there was nothing worth keeping.
    pub(crate) commit: Option<String>,
    /// What a person should know.
    warnings: Vec<String>,
}

/// Notes that are handed in together.
struct Handed<'a> {
    notes: &'a [Note],
    connection: Option<(ConnectionId, Dialect)>,
    /// Who hands them in.
    user: &'a str,
    fail_fast: bool,
    limits: Limits,
}

/// Everything that the notes of one command share.
struct Work<'a> {
    session: &'a Session,
    opened: &'a Opened,
    printer: &'a Printer,
    connection: Option<(ConnectionId, Dialect)>,
    user: &'a str,
    runtime: Arc<dyn LlmRuntime>,
    publisher: Publisher,
    state: StateDatabase,
}

/// Whether the command line hands in notes.
pub(super) fn are_given(args: &IngestArgs) -> bool {
    !args.text.is_empty() || !args.file.is_empty()
}

/// Refuses what only notes have.
pub(super) fn check_absent(args: &IngestArgs) -> Outcome<()> {
    let flag = match (&args.note_connection, args.fail_fast) {
        (Some(_), _) => "--connection-id",
        (None, true) => "--fail-fast",
        (None, false) => return Ok(()),
    };
    Err(Failure::new(
        Exit::Usage,
        "usage",
        format!("`{flag}` belongs to `--text` and `--file`"),
    )
    .hint("name the warehouse to ingest without a flag: `ktx ingest <id>`"))
}

/// Captures all notes, one after another. What is captured is committed before the next one begins.
pub(super) fn run(
    args: &IngestArgs,
    limits: Limits,
    session: &Session,
    opened: &Opened,
    printer: &Printer,
) -> Outcome {
    let connection = connection(args.note_connection.as_deref(), opened)?;
    let notes = input::notes(args, session)?;
    let handed = Handed {
        notes: &notes,
        connection,
        user: &args.user_id,
        fail_fast: args.fail_fast,
        limits,
    };
    let results = with_ledger(&handed, (session, opened, printer))?;
    report::finish(args, &notes, &results, (session, opened, printer))
}

/// Captures one note of an agent.
pub(crate) fn capture(
    content: &str,
    connection_id: Option<&str>,
    (session, opened, printer): Around<'_>,
) -> Outcome<Done> {
    let note = Note::of_text(content);
    input::check(&note)?;
    let handed = Handed {
        notes: std::slice::from_ref(&note),
        connection: connection(connection_id, opened)?,
        user: "mcp",
        fail_fast: true,
        limits: Limits::default(),
    };
    let mut results = with_ledger(&handed, (session, opened, printer))?;
    let missing = || Failure::new(Exit::Failure, "internal", "the note has no result");
    results.pop().unwrap_or_else(|| Err(missing()))
}

pub(crate) type Around<'a> = (&'a Session, &'a Opened, &'a Printer);

fn with_ledger(
    handed: &Handed<'_>,
    (session, opened, printer): Around<'_>,
) -> Outcome<Vec<Outcome<Done>>> {
    let sink = Arc::new(LedgerSink::new(session, opened, printer.clone()));
    let results = worked(handed, (session, opened, printer), &sink);
    sink.finish();
    results
}

fn worked(
    handed: &Handed<'_>,
    (session, opened, printer): Around<'_>,
    sink: &Arc<LedgerSink>,
) -> Outcome<Vec<Outcome<Done>>> {
    let limits = handed.limits;
    let roles = [ModelRole::Default, ROLE];
    let budget = limits
        .any()
        .then(|| compose::budget(session, opened, limits, sink.meter(), &roles))
        .transpose()?;
    let events = Arc::clone(sink);
    let Some(runtime) = compose::llm(session, opened, events, budget)? else {
        return Err(super::no_model("a note can only be captured with a model"));
    };
    // Before anything is paid for.
    let _held = lock(opened, COMMAND)?;
    look_at_machine(opened)?;
    let publisher = opened
        .store
        .publisher()
        .map_err(|error| publish_failure(&error))?;
    let state = opened
        .store
        .state()
        .map_err(|error| state_failure(&error))?;
    begin(&state, session)?;
    let work = Work {
        session,
        opened,
        printer,
        connection: handed.connection.clone(),
        user: handed.user,
        runtime,
        publisher,
        state,
    };
    let results = all(&work, handed.notes, handed.fail_fast);
    let status = match &results {
        Ok(results) if results.iter().all(Result::is_ok) => RunStatus::Done,
        Ok(results) if results.iter().any(Result::is_ok) => RunStatus::Partial,
        _ => RunStatus::Failed,
    };
    work.state
        .finish_run(
            &session.run_id,
            status,
            Timestamp::now(),
            &detail(session, &results),
        )
        .map_err(|error| state_failure(&error))?;
    results
}

/// What became of a single note, for whoever asks for the run.
fn detail(session: &Session, results: &Outcome<Vec<Outcome<Done>>>) -> Value {
    let status = NoteStatus::queued(&session.run_id);
    let status = match results.as_ref().map(Vec::as_slice) {
        Ok([Ok(done)]) => status.written(done.captured.clone(), done.commit.clone()),
        Ok([Err(failure)]) | Err(failure) => status.failed(failure.to_text()),
        Ok(_) => return Value::Null,
    };
    serde_json::to_value(status).unwrap_or_default()
}

fn begin(state: &StateDatabase, session: &Session) -> Outcome<()> {
    state
        .interrupt_runs(COMMAND, session.now)
        .and_then(|()| state.begin_run(&session.run_id, COMMAND, session.now, &Value::Null))
        .map_err(|error| state_failure(&error))
}

/// One note after another on one runtime, so that a child that waits serves the next one.
fn all(work: &Work<'_>, notes: &[Note], fail_fast: bool) -> Outcome<Vec<Outcome<Done>>> {
    compose::block_on(|cancel| async move {
        let results = each(work, notes, fail_fast, &cancel).await;
        // Who presses Ctrl-C waits for nothing more.
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
) -> Outcome<Vec<Outcome<Done>>> {
    let mut results = Vec::new();
    let mut is_usable = false;
    for (index, note) in notes.iter().enumerate() {
        let result = match known(work, note) {
            Ok(Some(done)) => Ok(done),
            Err(failure) => Err(failure),
            Ok(None) => {
                if !is_usable {
                    usable(&work.runtime, work.session, cancel).await?;
                    is_usable = true;
                }
                let place = format!("[{}/{}] {}", index + 1, notes.len(), note.label);
                one(work, note, place, cancel.clone()).await
            }
        };
        let stops = result.as_ref().is_err_and(|failure| {
            fail_fast
                || matches!(
                    failure.exit,
                    Exit::Model | Exit::Partial | Exit::Interrupted
                )
        });
        results.push(result);
        if stops {
            break;
        }
    }
    Ok(results)
}

async fn one(
    work: &Work<'_>,
    note: &Note,
    place: String,
    cancel: CancellationToken,
) -> Outcome<Done> {
    let base = work
        .publisher
        .begin()
        .map_err(|error| publish_failure(&error))?;
    let quiet = work.printer.mode == Mode::Json;
    let printer = work.printer.clone();
    if !quiet {
        printer.note(&place);
    }
    let captured = ktx_memory::capture(CaptureRequest {
        label: note.label.clone(),
        note: note.text.clone(),
        connection: work.connection.clone(),
        files: files(work, &base)?,
        context: crate::context::open(work.session, work.opened)?,
        runtime: Arc::clone(&work.runtime),
        run_id: work.session.run_id.clone(),
        on_step: Some(Arc::new(move |step| {
            if !quiet {
                printer.note(&format!("{place} · turn {} of {}", step.index, step.budget));
            }
            Ok(())
        })),
        cancel,
    })
    .await
    .map_err(capture_failure)?;
    work.opened.store.failpoint("memory:captured");
    let published = publish(work, note, &base, &captured)?;
    let done = done(&captured, &published);
    remember(work, note, &done)?;
    Ok(done)
}

/// The files that a capture works on, as they are committed.
fn files(work: &Work<'_>, base: &Base) -> Outcome<BTreeMap<ProjectPath, Vec<u8>>> {
    let Some(commit) = &base.commit else {
        return Ok(BTreeMap::new());
    };
    let mut folders = vec!["wiki/global".to_owned()];
    if let Some((id, _)) = &work.connection {
        folders.push(format!("semantic-layer/{id}"));
    }
    let history = work.opened.store.history();
    let history =
        history.map_err(|error| Failure::from_error(Exit::Failure, "publish_failed", &error))?;
    let mut files = BTreeMap::new();
    for folder in folders {
        let folder = ProjectPath::parse(&folder)
            .map_err(|error| Failure::from_error(Exit::Failure, "internal", &error))?;
        let found = history.files(commit, &folder);
        files.extend(
            found.map_err(|error| Failure::from_error(Exit::Failure, "publish_failed", &error))?,
        );
    }
    Ok(files)
}

fn publish(work: &Work<'_>, note: &Note, base: &Base, captured: &Captured) -> Outcome<Published> {
    let mut message = format!("ktx ingest: {}\n\n", note.subject());
    for (what, names) in [("pages", &captured.wiki), ("sources", &captured.sl)] {
        if !names.is_empty() {
            let _ = writeln!(message, "{what}: {}", names.join(", "));
        }
    }
    let _ = writeln!(message, "noted by: {}", input::one_line(work.user));
    work.publisher
        .publish(
            base,
            &PublishRequest {
                changes: &captured.changes,
                message: &message,
                at: work.session.now,
            },
        )
        .map_err(|error| publish_failure(&error))
}

fn done(captured: &Captured, published: &Published) -> Done {
    let mut warnings: Vec<String> = published
        .skipped
        .iter()
        .map(|skipped| {
            let reason = crate::commands::scan::reason(skipped.reason);
            format!("`{}` was left as it is: {reason}", skipped.path)
        })
        .collect();
    if captured.is_cut {
        warnings.push(format!(
            "the model was stopped after {STEPS} turns; what it had written by then is kept"
        ));
    }
    Done {
        captured: Written {
            wiki: captured.wiki.clone(),
            sl: captured.sl.clone(),
            xrefs: captured.xrefs.clone(),
        },
        commit: published.commit.clone(),
        warnings,
    }
}

fn capture_failure(error: CaptureError) -> Failure {
    match error {
        CaptureError::Model(error) => Failure::from(error),
        CaptureError::Project(failure) => Failure::from(failure),
        CaptureError::Empty => Failure::from_error(Exit::Config, "empty_note", &error),
        CaptureError::TooLong { .. } => Failure::from_error(Exit::Config, "long_note", &error)
            .hint("split it, and give each part with a `--file` of its own"),
        CaptureError::Tools(_) => Failure::from_error(Exit::Failure, "internal", &error),
    }
}

fn connection(id: Option<&str>, opened: &Opened) -> Outcome<Option<(ConnectionId, Dialect)>> {
    let Some(id) = id else {
        return Ok(None);
    };
    let found: &Connection = compose::warehouse(&opened.config, Some(id))?;
    let Some(dialect) = compose::dialect(found.driver) else {
        return Err(Failure::new(
            Exit::Config,
            "not_a_warehouse",
            format!("connection `{id}` has no SQL dialect"),
        ));
    };
    Ok(Some((found.id.clone(), dialect)))
}

/// The key under which a note is remembered: the text and what it was about.
fn key(work: &Work<'_>, note: &Note) -> String {
    let about = work.connection.as_ref().map_or("", |(id, _)| id.as_str());
    let mut hash = Sha256::new();
    hash.update(about.as_bytes());
    hash.update([0]);
    hash.update(note.text.as_bytes());
    hash.finalize().iter().fold(String::new(), |mut key, byte| {
        let _ = write!(key, "{byte:02x}");
        key
    })
}

fn owner(work: &Work<'_>) -> Outcome<ConnectionId> {
    match &work.connection {
        Some((id, _)) => Ok(id.clone()),
        None => Ok(ConnectionId::parse("notes")?),
    }
}

fn remember(work: &Work<'_>, note: &Note, done: &Done) -> Outcome<()> {
    let row = StageRow {
        table_key: key(work, note),
        stage: STAGE.to_owned(),
        structure_hash: String::new(),
        input_hash: String::new(),
        output: json!({
            "wiki": done.captured.wiki,
            "sl": done.captured.sl,
            "xrefs": done.captured.xrefs,
            "commit": done.commit,
        }),
        updated: work.session.now,
    };
    work.state
        .put_stage(&owner(work)?, &row)
        .map_err(|error| state_failure(&error))
}

/// What an earlier run has made of the same text, as long as that commit is part of the branch.
fn known(work: &Work<'_>, note: &Note) -> Outcome<Option<Done>> {
    let row = work
        .state
        .stage(&owner(work)?, &key(work, note), STAGE)
        .map_err(|error| state_failure(&error))?;
    let Some(row) = row else { return Ok(None) };
    let names = |field: &str| -> Vec<String> {
        let list = row.output.get(field).and_then(Value::as_array);
        let texts = list.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    };
    let commit = row.output.get("commit").and_then(Value::as_str);
    let is_standing = match commit {
        Some(commit) => work
            .publisher
            .is_part(commit)
            .map_err(|error| publish_failure(&error))?,
        None => true,
    };
    Ok(is_standing.then(|| Done {
        captured: Written {
            wiki: names("wiki"),
            sl: names("sl"),
            xrefs: names("xrefs"),
        },
        commit: commit.map(str::to_owned),
        warnings: vec!["captured before, the model was not asked again".to_owned()],
    }))
}
