//! The way of facts into the ledger: what cannot be written now is kept and tried again.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ktx_llm_runtime::UsageFact;
use ktx_usage_ledger::{Cost, Ledger, LedgerError, Recorded};

/// Facts that are kept while the ledger cannot be written.
pub(super) const MOST_WAITING: usize = 10_000;

/// A fact that is not in the ledger yet.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) fact: UsageFact,
    pub(super) at: Timestamp,
    pub(super) cost: Option<Cost>,
}

/// How the book stands after a fact was given to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Everything is in the ledger.
    Written,
    /// Facts wait, for this reason.
    Waiting(String),
    /// Facts were lost, for this reason.
    Losing(String),
}

/// Facts that never came into the ledger.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) messages: u64,
    pub(super) tokens: u64,
    pub(super) reason: String,
}

/// The ledger of a run, opened at the first fact, and the facts that wait for it.
#[derive(Debug)]
pub(super) struct Book {
    path: PathBuf,
    ledger: Option<Ledger>,
    waiting: VecDeque<Entry>,
    reason: String,
    lost: (u64, u64),
}

impl Book {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            ledger: None,
            waiting: VecDeque::new(),
            reason: String::new(),
            lost: (0, 0),
        }
    }

    /// Takes a fact. A ledger that failed is tried again when twice as many facts wait as the last
    /// time: each try may have to wait for another process.
    pub(super) fn take(&mut self, entry: Entry) -> Standing {
        if self.waiting.len() >= MOST_WAITING {
            self.lose(&entry);
        } else {
            self.waiting.push_back(entry);
            if self.waiting.len().is_power_of_two() {
                self.write();
            }
        }
        match (self.lost.0, self.waiting.len()) {
            (0, 0) => Standing::Written,
            (0, _) => Standing::Waiting(self.reason.clone()),
            _ => Standing::Losing(self.reason.clone()),
        }
    }

    /// Tries for the last time to write what waits. What is not in the ledger then is lost.
    pub(super) fn close(&mut self) -> Option<Lost> {
        if !self.waiting.is_empty() {
            self.write();
        }
        while let Some(entry) = self.waiting.pop_front() {
            self.lose(&entry);
        }
        let (messages, tokens) = std::mem::take(&mut self.lost);
        (messages > 0).then(|| Lost {
            messages,
            tokens,
            reason: self.reason.clone(),
        })
    }

    fn lose(&mut self, entry: &Entry) {
        tracing::info!(
            reference = entry.fact.reference(),
            usage = ?entry.fact.usage,
            "a message is not in the usage ledger"
        );
        self.lost.0 += 1;
        self.lost.1 = self.lost.1.saturating_add(entry.fact.usage.total());
    }

    fn write(&mut self) {
        if let Err(error) = self.written() {
            self.reason = with_cause(&error);
            // What failed once is opened anew.
            self.ledger = None;
        }
    }

    fn written(&mut self) -> Result<(), LedgerError> {
        let ledger = match self.ledger.take() {
            Some(ledger) => ledger,
            None => Ledger::open(&self.path)?,
        };
        while let Some(entry) = self.waiting.front() {
            let at = entry.at.to_string();
            if ledger.record_at(&entry.fact, &at, entry.cost)? == Recorded::Known {
                tracing::warn!(
                    reference = entry.fact.reference(),
                    "a message is in the usage ledger already; it is counted once"
                );
            }
            self.waiting.pop_front();
        }
        self.ledger = Some(ledger);
        Ok(())
    }
}

/// The error and why, in one line.
fn with_cause(error: &LedgerError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
