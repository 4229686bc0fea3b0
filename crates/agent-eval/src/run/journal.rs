//! The journal of a run: a log with one record for each finished attempt.

use std::fmt;

use jiff::Timestamp;
use ktx_project_store::Holder;
use ktx_session_log::{
    Channel, Durability, Entry, FORMAT, LogError, OPENED, Record, SessionId, SessionLog,
    SessionStore,
};
use serde_json::{Map, Value};

use crate::Attempt;

const ATTEMPT: &str = "attempt";

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A record that is not one of a run.
    #[error("record {seq} of the journal is not an attempt")]
    Record {
        /// From 1.
        seq: u64,
        /// Why.
        source: serde_json::Error,
    },
    /// An attempt that JSON cannot spell.
    #[error("the attempt cannot be written")]
    Attempt(#[source] serde_json::Error),
}

/// Keeps finished attempts: `kill -9` costs at most those that are under way.
pub struct RunJournal {
    log: SessionLog,
    clock: fn() -> Timestamp,
}

impl fmt::Debug for RunJournal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("RunJournal").field(&self.log).finish()
    }
}

/// A journal that was opened again.
#[derive(Debug)]
pub struct Resumed {
    /// The journal, which takes further attempts.
    pub journal: RunJournal,
    /// What the run was begun with.
    pub plan: Value,
    /// Its finished attempts, in the order in which they ended.
    pub attempts: Vec<Attempt>,
}

impl RunJournal {
    /// Begins the journal of `run`. `plan` is what a later process needs to see that it continues the same run.
    ///
    /// # Errors
    /// Those of the log.
    pub fn create(
        store: &SessionStore,
        run: &SessionId,
        holder: &Holder,
        plan: Value,
        clock: fn() -> Timestamp,
    ) -> Result<Self, JournalError> {
        let journal = Self {
            log: store.create(run, holder)?,
            clock,
        };
        let mut event = Map::new();
        event.insert("type".to_owned(), OPENED.into());
        event.insert("format".to_owned(), FORMAT.into());
        event.insert("plan".to_owned(), plan);
        journal.append(event)?;
        Ok(journal)
    }

    /// Opens the journal of `run` again.
    ///
    /// # Errors
    /// Those of the log, and [`JournalError::Record`].
    pub fn resume(
        store: &SessionStore,
        run: &SessionId,
        holder: &Holder,
        clock: fn() -> Timestamp,
    ) -> Result<Resumed, JournalError> {
        let mut records: Vec<Record> = Vec::new();
        let log = store.open(run, holder, |record| records.push(record))?;
        let mut plan = Value::Null;
        let mut attempts = Vec::new();
        for mut record in records {
            if record.kind() == ATTEMPT {
                attempts.push(attempt(record)?);
            } else if record.kind() == OPENED {
                plan = record.event.remove("plan").unwrap_or_default();
            }
        }
        Ok(Resumed {
            journal: Self { log, clock },
            plan,
            attempts,
        })
    }

    /// Appends an attempt; it is on the disk when this returns.
    ///
    /// # Errors
    /// Those of the log.
    pub fn record(&self, attempt: &Attempt) -> Result<(), JournalError> {
        let value = serde_json::to_value(attempt).map_err(JournalError::Attempt)?;
        let mut event = Map::new();
        event.insert("type".to_owned(), ATTEMPT.into());
        event.insert(ATTEMPT.to_owned(), value);
        self.append(event)
    }

    fn append(&self, event: Map<String, Value>) -> Result<(), JournalError> {
        let entry = Entry {
            at: (self.clock)(),
            channel: Channel::State,
            turn: None,
            step: None,
            event,
        };
        self.log.append(entry, Durability::Synced)?;
        Ok(())
    }
}

fn attempt(mut record: Record) -> Result<Attempt, JournalError> {
    let value = record.event.remove(ATTEMPT).unwrap_or_default();
    serde_json::from_value(value).map_err(|source| JournalError::Record {
        seq: record.seq,
        source,
    })
}
