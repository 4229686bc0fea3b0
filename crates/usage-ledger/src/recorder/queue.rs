//! The queue of facts for the ledger: in order, bounded, each until it is written or lost.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use ktx_llm_runtime::{ReportedCost, UsageFact};

use crate::Cost;
use crate::reservation::Reservation;

/// Maximum number of facts held while the ledger cannot be written.
pub(super) const MOST_WAITING: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Begun,
    Paid,
}

/// An entry that is not in the ledger yet.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    /// A message that began or ended.
    Message {
        stage: Stage,
        fact: UsageFact,
        at: Timestamp,
        cost: Option<Cost>,
    },
    /// A message that began is not billed.
    Dropped(UsageFact),
    /// A backend's cost figure.
    Reported { told: ReportedCost, at: Timestamp },
    /// The call of a reservation has ended.
    Released(Reservation),
}

impl Entry {
    fn begun(&self) -> Option<&UsageFact> {
        match self {
            Self::Message {
                stage: Stage::Begun,
                fact,
                ..
            } => Some(fact),
            Self::Message { .. } | Self::Dropped(_) | Self::Reported { .. } | Self::Released(_) => {
                None
            }
        }
    }

    fn message(&self) -> Option<&UsageFact> {
        match self {
            Self::Message { fact, .. } | Self::Dropped(fact) => Some(fact),
            Self::Reported { .. } | Self::Released(_) => None,
        }
    }

    fn paid(&self) -> Option<&UsageFact> {
        match self {
            Self::Message {
                stage: Stage::Paid,
                fact,
                ..
            } => Some(fact),
            Self::Message { .. } | Self::Dropped(_) | Self::Reported { .. } | Self::Released(_) => {
                None
            }
        }
    }
}

/// Facts that were never written to the ledger.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) messages: u64,
    pub(super) tokens: u64,
    pub(super) reason: String,
    pub(super) remedy: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// More entries may follow.
    #[default]
    Open,
    /// No more entries follow; waiting ones are written.
    Closing,
    /// Waiting entries are abandoned.
    GivenUp,
    Ended,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Entry>,
    phase: Phase,
    /// Why the ledger cannot be written; empty while it can.
    reason: String,
    remedy: Option<&'static str>,
    lost: (u64, u64),
}

/// The queue between the receivers of facts and the writer.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry immediately. Returns the reason if facts are lost.
    pub(super) fn push(&self, entry: Entry) -> Result<(), String> {
        let mut state = self.state();
        // The writer may hold the first entry. Among the others, only the last report about a
        // message counts.
        let same = |other: &Entry| match (other.begun(), entry.message()) {
            (Some(other), Some(fact)) => is_same(other, fact),
            _ => false,
        };
        if let Some(at) = state.waiting.iter().skip(1).position(same) {
            state.waiting.remove(at + 1);
        }
        let room = match entry.paid() {
            None => MOST_WAITING / 2,
            Some(_) => MOST_WAITING,
        };
        if state.waiting.len() < room {
            state.waiting.push_back(entry);
        } else {
            state.lose(&entry);
        }
        let lost = (state.lost.0 > 0).then(|| state.reason.clone());
        drop(state);
        self.changed.notify_all();
        lost.map_or(Ok(()), Err)
    }

    /// Waits until an entry about an unfinished message is written, for at most this long, or until
    /// the ledger cannot be used.
    pub(super) fn wait_for(&self, entry: &Entry, patience: Duration) {
        let Some(fact) = entry.begun() else { return };
        let waits = |state: &mut State| {
            let is_there = |other: &Entry| other.begun().is_some_and(|other| is_same(other, fact));
            let works = state.reason.is_empty() || state.remedy.is_none();
            works && state.phase != Phase::Ended && state.waiting.iter().any(is_there)
        };
        let waited = self
            .changed
            .wait_timeout_while(self.state(), patience, waits);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until no entry waits, for at most this long. Fails with the reason why one does.
    pub(super) fn drain(&self, patience: Duration) -> Result<(), String> {
        let waits = |state: &mut State| state.phase != Phase::Ended && !state.waiting.is_empty();
        let waited = self
            .changed
            .wait_timeout_while(self.state(), patience, waits);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.waiting.is_empty() && state.lost.0 == 0 {
            Ok(())
        } else {
            Err(state.reason.clone())
        }
    }

    /// Returns the next entry, which stays in the queue until [`Self::written`]; `None` at the end.
    pub(super) fn next(&self) -> Option<Entry> {
        let wait = |state: &mut State| state.phase == Phase::Open && state.waiting.is_empty();
        let state = self.state();
        let state = self
            .changed
            .wait_while(state, wait)
            .unwrap_or_else(PoisonError::into_inner);
        match state.phase {
            Phase::Open | Phase::Closing => state.waiting.front().cloned(),
            Phase::GivenUp | Phase::Ended => None,
        }
    }

    /// Removes the first entry, which is now in the ledger.
    pub(super) fn written(&self) {
        let mut state = self.state();
        state.waiting.pop_front();
        state.reason.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// Records that the first entry could not be written.
    pub(super) fn failed(&self, reason: String, remedy: Option<&'static str>) {
        let mut state = self.state();
        state.reason = reason;
        state.remedy = remedy;
        drop(state);
        self.changed.notify_all();
    }

    pub(super) fn phase(&self) -> Phase {
        self.state().phase
    }

    /// Waits this long, or until the end is requested.
    pub(super) fn pause(&self, duration: Duration) {
        let state = self.state();
        let waited = self
            .changed
            .wait_timeout_while(state, duration, |state| state.phase == Phase::Open);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Requests the end and waits for it: first for the waiting entries, then a moment more.
    pub(super) fn close(&self, patience: [Duration; 2]) {
        for (phase, patience) in [Phase::Closing, Phase::GivenUp].into_iter().zip(patience) {
            let mut state = self.state();
            if state.phase == Phase::Ended {
                return;
            }
            state.phase = phase;
            self.changed.notify_all();
            let waited = self
                .changed
                .wait_timeout_while(state, patience, |state| state.phase != Phase::Ended);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    pub(super) fn end(&self) {
        self.state().phase = Phase::Ended;
        self.changed.notify_all();
    }

    pub(super) fn take_lost(&self) -> Option<Lost> {
        let mut state = self.state();
        while let Some(entry) = state.waiting.pop_front() {
            state.lose(&entry);
        }
        let (messages, tokens) = std::mem::take(&mut state.lost);
        (messages > 0).then(|| Lost {
            messages,
            tokens,
            reason: state.reason.clone(),
            remedy: state.remedy,
        })
    }
}

fn is_same(one: &UsageFact, other: &UsageFact) -> bool {
    one.source_system == other.source_system
        && one.run_id == other.run_id
        && one.message_id == other.message_id
}

impl State {
    /// The beginning of a message is not a fact, because its fact follows. A cost figure is not one
    /// either.
    fn lose(&mut self, entry: &Entry) {
        let Some(fact) = entry.paid() else { return };
        tracing::info!(
            reference = fact.reference(),
            usage = ?fact.usage,
            "a message is not in the usage ledger"
        );
        self.lost.0 += 1;
        self.lost.1 = self.lost.1.saturating_add(fact.usage.total());
    }
}
