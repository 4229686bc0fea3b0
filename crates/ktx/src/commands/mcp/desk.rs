//! Queues notes of agents and captures them in a thread.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use ktx_diagnostics::{Failure, excerpt};
use ktx_memory::{NoteQueue, NoteStatus};
use ktx_project_store::{Run, RunStatus, StateDatabase, StateError};
use ktx_tool_descriptors::ToolError;
use ktx_vocabulary::RunId;
use serde_json::Value;

use crate::ingesting::notes::{self, QueuedNote};
use crate::invocation::{CommandContext, Invocation};
use crate::printer::{Mode, Printer};
use crate::report::Report as _;
use crate::run_records::RunPlan;

/// More indicate a malfunctioning agent.
const MOST_WAITING: usize = 100;

/// Recent runs to search for a note.
const LATEST: u32 = 200;

struct WaitingNote {
    invocation: Invocation,
    content: String,
    connection: Option<String>,
}

pub(super) struct NoteDesk {
    invocation: Invocation,
    dir: PathBuf,
    runs: Arc<Mutex<BTreeMap<String, NoteStatus>>>,
    worker: Mutex<Option<(Sender<WaitingNote>, JoinHandle<()>)>>,
}

impl NoteDesk {
    pub(super) fn new(invocation: Invocation, dir: PathBuf) -> Self {
        Self {
            invocation,
            dir,
            runs: Arc::default(),
            worker: Mutex::new(None),
        }
    }

    /// Waits for accepted notes, which end at once if the program must end.
    pub(super) fn close(&self) {
        let worker = locked(&self.worker).take();
        if let Some((sender, thread)) = worker {
            drop(sender);
            if thread.join().is_err() {
                tracing::warn!("the thread that captures notes broke down");
            }
        }
    }

    fn hand_over(&self, waiting: WaitingNote) -> Result<(), ToolError> {
        let mut worker = locked(&self.worker);
        let (sender, _) = match &*worker {
            Some(running) => running,
            None => worker.insert(self.start()?),
        };
        sender
            .send(waiting)
            .map_err(|_| ToolError::new("notes are no longer captured; start the server again"))
    }

    fn start(&self) -> Result<(Sender<WaitingNote>, JoinHandle<()>), ToolError> {
        let (sender, receiver) = channel();
        let (dir, runs) = (self.dir.clone(), Arc::clone(&self.runs));
        let thread = std::thread::Builder::new()
            .name("capture".to_owned())
            .spawn(move || work(&dir, &receiver, &runs))
            .map_err(|error| ToolError::new(format!("no thread can be started: {error}")))?;
        Ok((sender, thread))
    }
}

fn work(
    dir: &std::path::Path,
    notes: &Receiver<WaitingNote>,
    runs: &Mutex<BTreeMap<String, NoteStatus>>,
) {
    let mut waiting: VecDeque<WaitingNote> = VecDeque::new();
    loop {
        if waiting.is_empty() {
            let Ok(first) = notes.recv() else {
                return;
            };
            waiting.push_back(first);
        }
        waiting.extend(notes.try_iter());
        // Captures notes for the same warehouse in one run.
        let connection = waiting.front().and_then(|note| note.connection.clone());
        let (batch, others): (Vec<WaitingNote>, Vec<WaitingNote>) = waiting
            .into_iter()
            .partition(|note| note.connection == connection);
        waiting = others.into();
        for note in &batch {
            let id = &note.invocation.run_id;
            let begun = NoteStatus::queued(id).ingesting();
            locked(runs).insert(id.to_string(), begun);
        }
        for ended in captured(dir, batch, connection.as_deref()) {
            locked(runs).insert(ended.run_id.clone(), ended);
        }
    }
}

/// Reads settings each time, because servers run for days.
fn captured(
    dir: &std::path::Path,
    batch: Vec<WaitingNote>,
    connection: Option<&str>,
) -> Vec<NoteStatus> {
    let Some(invocation) = batch.first().map(|first| first.invocation.clone()) else {
        return Vec::new();
    };
    let queued: Vec<QueuedNote> = batch
        .into_iter()
        .map(|note| QueuedNote {
            run: note.invocation.run_id,
            content: note.content,
        })
        .collect();
    let project = match crate::invocation::load(dir, &invocation.environment) {
        Ok(project) => project,
        Err(failure) => {
            let text = failure.to_text().trim_end().to_owned();
            let failed = queued
                .iter()
                .map(|note| NoteStatus::queued(&note.run).failed(text.clone()));
            return failed.collect();
        }
    };
    // Stdout belongs to the protocol; clients query the status.
    let printer = Printer {
        mode: Mode::Json,
        interactive: false,
    };
    let context = CommandContext {
        invocation: &invocation,
        project: &project,
        printer: &printer,
    };
    notes::capture_queued(&queued, connection, context)
}

fn run_of(state: &StateDatabase, id: &RunId) -> Result<Option<Run>, StateError> {
    if let Some(run) = state.run(id)? {
        return Ok(Some(run));
    }
    let runs = state.runs(LATEST)?.into_iter();
    let has_note = |run: &Run| {
        let plan = RunPlan::of_detail(&run.detail);
        plan.note_runs.iter().any(|note| note == id.as_str())
    };
    Ok(runs
        .filter(|run| run.command == notes::COMMAND)
        .find(has_note))
}

fn status_among(run: Run, id: &RunId) -> Option<NoteStatus> {
    let items = run.detail.get("notes").and_then(Value::as_array);
    let is_own = |item: &&Value| item.get("runId").and_then(Value::as_str) == Some(id.as_str());
    let own = items.and_then(|items| items.iter().find(is_own));
    let Some(own) = own else {
        return serde_json::from_value(run.detail).ok();
    };
    let begun = NoteStatus::queued(id).ingesting();
    let text = |key: &str| own.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(error) = text("error") {
        return Some(begun.failed(error));
    }
    let captured = serde_json::from_value(own.get("captured")?.clone()).ok()?;
    let warnings = serde_json::from_value(own.get("warnings")?.clone()).ok()?;
    Some(NoteStatus {
        warnings,
        ..begun.written(captured, text("commitHash"))
    })
}

impl NoteQueue for NoteDesk {
    fn take(&self, content: String, connection: Option<String>) -> Result<RunId, ToolError> {
        let waiting = locked(&self.runs).values().filter(|run| !run.done).count();
        if waiting >= MOST_WAITING {
            return Err(ToolError::new(format!(
                "{waiting} notes wait to be captured: hand in more when they are"
            )));
        }
        let invocation = self
            .invocation
            .next_run()
            .map_err(|failure| refused(&failure))?;
        let id = invocation.run_id.clone();
        locked(&self.runs).insert(id.to_string(), NoteStatus::queued(&id));
        self.hand_over(WaitingNote {
            invocation,
            content,
            connection,
        })?;
        Ok(id)
    }

    fn status(&self, run: &str) -> Result<NoteStatus, ToolError> {
        if let Some(status) = locked(&self.runs).get(run) {
            return Ok(status.clone());
        }
        let unknown = || {
            ToolError::new(format!(
                "no note was taken under the run `{}`",
                excerpt(run)
            ))
        };
        let id = RunId::parse(run).map_err(|_| unknown())?;
        let project = crate::invocation::load(&self.dir, &self.invocation.environment)
            .map_err(|failure| refused(&failure))?;
        let state = project
            .store
            .state()
            .map_err(|error| refused(&crate::scanning::state_failure(&error)))?;
        let found = run_of(&state, &id)
            .map_err(|error| refused(&crate::scanning::state_failure(&error)))?;
        let Some(found) = found.filter(|found| found.command == notes::COMMAND) else {
            return Err(unknown());
        };
        let begun = NoteStatus::queued(&id).ingesting();
        match found.status {
            RunStatus::Running => Ok(begun),
            RunStatus::Interrupted | RunStatus::Cancelled => {
                Ok(begun.failed("the server was ended while it worked on the note".to_owned()))
            }
            RunStatus::Done | RunStatus::Partial | RunStatus::Failed => {
                status_among(found, &id).ok_or_else(unknown)
            }
        }
    }
}

fn refused(failure: &Failure) -> ToolError {
    ToolError::new(failure.to_text().trim_end().to_owned())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses notes; for reference pages.
pub(super) struct ClosedDesk;

impl NoteQueue for ClosedDesk {
    fn take(&self, _: String, _: Option<String>) -> Result<RunId, ToolError> {
        Err(ToolError::new("this server does not accept notes"))
    }

    fn status(&self, run: &str) -> Result<NoteStatus, ToolError> {
        Err(ToolError::new(format!(
            "no note was taken under the run `{run}`"
        )))
    }
}
