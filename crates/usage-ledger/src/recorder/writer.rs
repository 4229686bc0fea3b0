//! The thread that alone writes the ledger.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ktx_project_store::{StorageTrouble, cause_chain};

use super::Notify;
use super::queue::{LostFacts, MessageStage, Queue, QueueEntry, QueuePhase};
use crate::{Ledger, LedgerError, RecordOutcome, ReservationOwner};

/// Wait of one attempt for another program.
const ATTEMPT_WAIT: Duration = Duration::from_millis(100);
const WARN_AFTER: Duration = Duration::from_secs(10);
/// How long a call waits for its own message.
const BEGIN_WAIT: Duration = Duration::from_secs(1);
/// How long a call under a project's budget waits for earlier facts.
const FLUSH_WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(1);
/// For waiting entries, then for the writer.
const END: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(1)];

pub(super) struct LedgerWriter {
    path: PathBuf,
    notify: Notify,
    /// A finished writer can start again.
    queue: Mutex<Option<Arc<Queue>>>,
}

impl LedgerWriter {
    pub(super) fn new(path: &Path, notify: Notify) -> Self {
        Self {
            path: path.to_owned(),
            notify,
            queue: Mutex::default(),
        }
    }

    pub(super) fn take(&self, entry: QueueEntry) -> Result<(), String> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.get_or_insert_with(|| self.started()).push(entry)
    }

    pub(super) fn wait_for(&self, entry: &QueueEntry) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queue.as_ref().map(Arc::clone);
        if let Some(queue) = queue {
            queue.wait_for(entry, BEGIN_WAIT);
        }
    }

    pub(super) fn flush(&self) -> Result<(), String> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queue.as_ref().map(Arc::clone);
        queue.map_or(Ok(()), |queue| queue.drain(FLUSH_WAIT))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits a bounded time. Returns lost entries.
    pub(super) fn finish(&self) -> Option<LostFacts> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = queue.take()?;
        drop(queue);
        ended.close(END);
        ended.take_lost()
    }

    fn started(&self) -> Arc<Queue> {
        let queue = Arc::<Queue>::default();
        let mut work = WriterTask {
            path: self.path.clone(),
            notify: Arc::clone(&self.notify),
            queue: Arc::clone(&queue),
            ledger: None,
            trouble: None,
            warned: false,
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

impl Drop for LedgerWriter {
    fn drop(&mut self) {
        if let Some(lost) = self.finish() {
            tracing::warn!(?lost, "messages are missing in the usage ledger");
        }
    }
}

struct WriterTask {
    path: PathBuf,
    notify: Notify,
    queue: Arc<Queue>,
    ledger: Option<Ledger>,
    trouble: Option<Instant>,
    warned: bool,
}

impl WriterTask {
    fn run(&mut self) {
        while let Some(entry) = self.queue.next() {
            // Before the attempt: an end requested during it is worth another one.
            let phase = self.queue.phase();
            match self.write(&entry) {
                Ok(()) => {
                    self.trouble = None;
                    self.queue.pop_written();
                }
                Err(error) if self.should_retry(&error, phase) => {}
                Err(_) => break,
            }
        }
        // The caller can read the file after the end.
        self.ledger = None;
        self.queue.end();
    }

    fn write(&mut self, entry: &QueueEntry) -> Result<(), LedgerError> {
        let ledger = match self.ledger.take() {
            Some(ledger) => ledger,
            None => opened(&self.path)?,
        };
        record(&ledger, entry)?;
        self.ledger = Some(ledger);
        Ok(())
    }

    fn should_retry(&mut self, error: &LedgerError, phase: QueuePhase) -> bool {
        let reason = with_cause(error, &self.path);
        let trouble = StorageTrouble::of(error);
        let since = *self.trouble.get_or_insert_with(Instant::now);
        let busy = error.is_busy();
        // A damaged ledger stays damaged: the loss is reported at the end.
        let heals = trouble != Some(StorageTrouble::Damaged);
        if !self.warned && heals && (!busy || since.elapsed() >= WARN_AFTER) {
            self.warned = true;
            (self.notify)(&format!(
                "warning: {reason}; usage is kept and written later"
            ));
        }
        let remedy = trouble.filter(|_| !busy).map(StorageTrouble::remedy);
        self.queue.failed(reason, remedy);
        match (busy, phase) {
            (true, QueuePhase::Open | QueuePhase::Closing) => true,
            (false, QueuePhase::Open) => {
                self.queue.pause(PAUSE);
                true
            }
            (false, QueuePhase::Closing) | (_, QueuePhase::GivenUp | QueuePhase::Ended) => false,
        }
    }
}

fn record(ledger: &Ledger, entry: &QueueEntry) -> Result<(), LedgerError> {
    match entry {
        QueueEntry::Message {
            stage,
            fact,
            at,
            cost,
        } => match stage {
            MessageStage::Begun => {
                ledger.begin(
                    fact,
                    &at.to_string(),
                    *cost,
                    ReservationOwner::this_process(),
                )?;
            }
            MessageStage::Paid => {
                if ledger.record_at(fact, &at.to_string(), *cost)? == RecordOutcome::Known {
                    tracing::warn!(
                        reference = fact.reference(),
                        "a message is in the usage ledger already; it is counted once"
                    );
                }
            }
        },
        QueueEntry::Dropped(fact) => ledger.forget(fact)?,
        QueueEntry::Released(reservation) => ledger.release(*reservation)?,
        QueueEntry::Reported { cost, at } => {
            ledger.record_reported(cost, &at.to_string())?;
        }
    }
    Ok(())
}

fn opened(path: &Path) -> Result<Ledger, LedgerError> {
    let ledger = Ledger::open_waiting(path, ATTEMPT_WAIT)?;
    ledger.settle(ReservationOwner::is_running)?;
    Ok(ledger)
}

fn with_cause(error: &LedgerError, path: &Path) -> String {
    format!("{} (`{}`)", cause_chain(error).join(": "), path.display())
}
