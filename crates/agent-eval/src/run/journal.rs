//! The journal of a run: a log of finished attempts.

use std::fmt;

use jiff::Timestamp;
use ktx_project_store::Holder;
use ktx_session_log::{
    Channel, Durability, Entry, FORMAT, LogError, OPENED, Record, SessionId, SessionLog,
    SessionStore,
};
use serde_json::{Map, Value};

use crate::{Attempt, Conversation};

const ATTEMPT: &str = "attempt";

const CONVERSATION: &str = "conversation";

const LOST: &str = "lost";

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("record {seq} of the journal is not an attempt")]
    Record {
        /// From 1.
        seq: u64,
        source: serde_json::Error,
    },
    #[error("the attempt cannot be written")]
    Attempt(#[source] serde_json::Error),
}

/// `kill -9` costs at most the running attempts.
pub struct RunJournal {
    log: SessionLog,
    clock: fn() -> Timestamp,
}

impl fmt::Debug for RunJournal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("RunJournal").field(&self.log).finish()
    }
}

#[derive(Debug, Default)]
pub struct RecordedRun {
    /// As in [`RunJournal::create`].
    pub plan: Value,
    /// In the order in which they ended. The last attempt of a place counts.
    pub entries: Vec<JournalEntry>,
    /// Unfinished attempts that cost something.
    pub lost: Vec<Attempt>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct JournalEntry {
    pub attempt: Attempt,
    /// Absent if the agent did not answer.
    pub conversation: Option<Conversation>,
}

impl RunJournal {
    /// `plan` lets a later process check that it continues the same run.
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

    pub fn resume(
        store: &SessionStore,
        run: &SessionId,
        holder: &Holder,
        clock: fn() -> Timestamp,
    ) -> Result<(Self, RecordedRun), JournalError> {
        let mut records: Vec<Record> = Vec::new();
        let log = store.open(run, holder, |record| records.push(record))?;
        Ok((Self { log, clock }, recorded(records)?))
    }

    pub fn read(store: &SessionStore, run: &SessionId) -> Result<RecordedRun, JournalError> {
        recorded(store.read(run)?.read_all()?)
    }

    /// The attempt is on disk when this returns.
    pub fn record(
        &self,
        attempt: &Attempt,
        conversation: Option<&Conversation>,
    ) -> Result<(), JournalError> {
        let value = serde_json::to_value(attempt).map_err(JournalError::Attempt)?;
        let mut event = Map::new();
        event.insert("type".to_owned(), ATTEMPT.into());
        event.insert(ATTEMPT.to_owned(), value);
        if let Some(conversation) = conversation {
            let value = serde_json::to_value(conversation).map_err(JournalError::Attempt)?;
            event.insert(CONVERSATION.to_owned(), value);
        }
        self.append(event)
    }

    /// Records the cost of an unfinished attempt.
    pub fn record_unfinished(&self, attempt: &Attempt) -> Result<(), JournalError> {
        let value = serde_json::to_value(attempt).map_err(JournalError::Attempt)?;
        let mut event = Map::new();
        event.insert("type".to_owned(), LOST.into());
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

fn recorded(records: Vec<Record>) -> Result<RecordedRun, JournalError> {
    let mut run = RecordedRun::default();
    for mut record in records {
        if record.kind() == ATTEMPT {
            let entry = entry(record)?;
            run.lost.retain(|it| !it.has_same_position(&entry.attempt));
            run.entries.push(entry);
        } else if record.kind() == LOST {
            let attempt = entry(record)?.attempt;
            // The new cost includes the old one.
            run.lost.retain(|it| !it.has_same_position(&attempt));
            run.lost.push(attempt);
        } else if record.kind() == OPENED {
            run.plan = record.event.remove("plan").unwrap_or_default();
        }
    }
    Ok(run)
}

fn entry(mut record: Record) -> Result<JournalEntry, JournalError> {
    let seq = record.seq;
    let wrong = |source| JournalError::Record { seq, source };
    let attempt = record.event.remove(ATTEMPT).unwrap_or_default();
    let conversation = record.event.remove(CONVERSATION).unwrap_or_default();
    Ok(JournalEntry {
        attempt: serde_json::from_value(attempt).map_err(wrong)?,
        conversation: serde_json::from_value(conversation).map_err(wrong)?,
    })
}
