//! The only writer of the ledger: a thread, so that no other code waits for the database.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ktx_project_store::{Trouble, cause_chain};

use super::Notify;
use super::queue::{Entry, Lost, Phase, Queue, Stage};
use crate::{Ledger, LedgerError, Owner, Recorded};

/// How long one attempt waits for another program that writes.
const TRY: Duration = Duration::from_millis(100);
/// How long other programs may hold the ledger before the user is warned.
const UNTOLD: Duration = Duration::from_secs(10);
/// How long a call waits until its message is in the ledger.
const BEGIN: Duration = Duration::from_secs(1);
/// How long a call under the budget of a project waits for the facts before it.
const FLUSH: Duration = Duration::from_secs(10);
/// Delay between two attempts with an unusable ledger.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the end of a command waits for waiting entries, and then for the writer to stop.
const END: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(1)];

/// Writes facts in order during a run. Starts its thread with the first one.
pub(super) struct Writer {
    path: PathBuf,
    notify: Notify,
    /// The queue of the running thread; a finished writer can start again.
    queue: Mutex<Option<Arc<Queue>>>,
}

impl Writer {
    pub(super) fn new(path: &Path, notify: Notify) -> Self {
        Self {
            path: path.to_owned(),
            notify,
            queue: Mutex::default(),
        }
    }

    pub(super) fn take(&self, entry: Entry) -> Result<(), String> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.get_or_insert_with(|| self.started()).push(entry)
    }

    /// Waits briefly until the report about an unfinished message is in the ledger.
    pub(super) fn wait_for(&self, entry: &Entry) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queue.as_ref().map(Arc::clone);
        if let Some(queue) = queue {
            queue.wait_for(entry, BEGIN);
        }
    }

    /// Waits until every entry is in the ledger. Fails with the reason why one is not.
    pub(super) fn flush(&self) -> Result<(), String> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queue.as_ref().map(Arc::clone);
        queue.map_or(Ok(()), |queue| queue.drain(FLUSH))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes waiting entries, as far as possible in a short time. Returns the lost ones.
    pub(super) fn finish(&self) -> Option<Lost> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = queue.take()?;
        drop(queue);
        ended.close(END);
        ended.take_lost()
    }

    fn started(&self) -> Arc<Queue> {
        let queue = Arc::<Queue>::default();
        let mut work = Work {
            path: self.path.clone(),
            notify: Arc::clone(&self.notify),
            queue: Arc::clone(&queue),
            ledger: None,
            trouble: None,
            told: false,
        };
        let thread = std::thread::Builder::new().name("usage-ledger".to_owned());
        if let Err(error) = thread.spawn(move || work.run()) {
            let reason = format!("the usage ledger has no thread to write it: {error}");
            queue.failed(reason, None);
            queue.end();
        }
        queue
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(lost) = self.finish() {
            tracing::warn!(?lost, "messages are missing in the usage ledger");
        }
    }
}

struct Work {
    path: PathBuf,
    notify: Notify,
    queue: Arc<Queue>,
    ledger: Option<Ledger>,
    trouble: Option<Instant>,
    told: bool,
}

impl Work {
    fn run(&mut self) {
        while let Some(entry) = self.queue.next() {
            // Read the phase before the attempt: an end requested during it is worth another
            // attempt.
            let phase = self.queue.phase();
            match self.write(&entry) {
                Ok(()) => {
                    self.trouble = None;
                    self.queue.written();
                }
                Err(error) if self.goes_on(&error, phase) => {}
                Err(_) => break,
            }
        }
        // Code that waits for the end may read the file.
        self.ledger = None;
        self.queue.end();
    }

    fn write(&mut self, entry: &Entry) -> Result<(), LedgerError> {
        let ledger = match self.ledger.take() {
            Some(ledger) => ledger,
            None => opened(&self.path)?,
        };
        record(&ledger, entry)?;
        // A failed ledger is opened again.
        self.ledger = Some(ledger);
        Ok(())
    }

    /// Returns whether a retry is worthwhile. It is while other programs write.
    fn goes_on(&mut self, error: &LedgerError, phase: Phase) -> bool {
        let reason = with_cause(error, &self.path);
        let trouble = Trouble::of(error);
        let since = *self.trouble.get_or_insert_with(Instant::now);
        let busy = error.is_busy();
        // A damaged ledger stays damaged: the loss is reported at the end.
        let heals = trouble != Some(Trouble::Damaged);
        if !self.told && heals && (!busy || since.elapsed() >= UNTOLD) {
            self.told = true;
            (self.notify)(&format!(
                "warning: {reason}; usage is kept and written later"
            ));
        }
        let remedy = trouble.filter(|_| !busy).map(Trouble::remedy);
        self.queue.failed(reason, remedy);
        match (busy, phase) {
            (true, Phase::Open | Phase::Closing) => true,
            (false, Phase::Open) => {
                self.queue.pause(PAUSE);
                true
            }
            (false, Phase::Closing) | (_, Phase::GivenUp | Phase::Ended) => false,
        }
    }
}

fn record(ledger: &Ledger, entry: &Entry) -> Result<(), LedgerError> {
    match entry {
        Entry::Message {
            stage,
            fact,
            at,
            cost,
        } => match stage {
            Stage::Begun => ledger.begin(fact, &at.to_string(), *cost, Owner::this_process())?,
            Stage::Paid => {
                if ledger.record_at(fact, &at.to_string(), *cost)? == Recorded::Known {
                    tracing::warn!(
                        reference = fact.reference(),
                        "a message is in the usage ledger already; it is counted once"
                    );
                }
            }
        },
        Entry::Dropped(fact) => ledger.forget(fact)?,
        Entry::Released(reservation) => ledger.release(*reservation)?,
        Entry::Reported { told, at } => {
            ledger.record_reported(told, &at.to_string())?;
        }
    }
    Ok(())
}

/// Opens the ledger, and settles the messages of ended programs.
fn opened(path: &Path) -> Result<Ledger, LedgerError> {
    let ledger = Ledger::open_waiting(path, TRY)?;
    ledger.settle(Owner::is_running)?;
    Ok(ledger)
}

/// Formats the error, its cause and the file in one line.
fn with_cause(error: &LedgerError, path: &Path) -> String {
    format!("{} (`{}`)", cause_chain(error).join(": "), path.display())
}
