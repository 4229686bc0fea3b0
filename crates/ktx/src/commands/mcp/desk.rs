//! Notes of agents: accepted immediately, captured one after another in a separate thread.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use ktx_diagnostics::{Failure, excerpt};
use ktx_ingest::Committed;
use ktx_memory::{NoteQueue, NoteStatus};
use ktx_project_store::RunStatus;
use ktx_tool_descriptors::ToolError;
use ktx_vocabulary::RunId;

use crate::ingesting::notes;
use crate::invocation::{CommandContext, Invocation};
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};

/// More waiting notes indicate a malfunctioning agent.
const MOST_WAITING: usize = 100;

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

    /// Accepts no more notes, and waits for the accepted ones. Each ends at once if the program was
    /// asked to end.
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
    for note in notes {
        let id = note.invocation.run_id.clone();
        let begun = NoteStatus::queued(&id).ingesting();
        locked(runs).insert(id.to_string(), begun.clone());
        let ended = match captured(dir, &note) {
            Ok(committed) => notes::note_status(begun, &committed),
            Err(failure) => begun.failed(failure.to_text().trim_end().to_owned()),
        };
        locked(runs).insert(id.to_string(), ended);
    }
}

/// Reads the settings for each note, because a server runs for days.
fn captured(dir: &std::path::Path, note: &WaitingNote) -> Outcome<Committed> {
    let project = crate::invocation::load(dir, &note.invocation.environment)?;
    // Standard output belongs to the protocol; clients query the status of a note.
    let printer = Printer {
        mode: Mode::Json,
        interactive: false,
    };
    notes::capture(
        &note.content,
        note.connection.as_deref(),
        CommandContext {
            invocation: &note.invocation,
            project: &project,
            printer: &printer,
        },
    )
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
        let found = state
            .run(&id)
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
                serde_json::from_value(found.detail).map_err(|_| unknown())
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

/// A desk that accepts nothing, for pages that describe the tools.
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
