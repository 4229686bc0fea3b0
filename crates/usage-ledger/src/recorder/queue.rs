//! The bounded queue of facts for the ledger.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use ktx_llm_runtime::{ReportedCost, UsageFact};

use crate::Cost;
use crate::reservation::Reservation;

/// While the ledger cannot be written.
pub(super) const MOST_WAITING: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageStage {
    Begun,
    Paid,
}

#[derive(Debug, Clone)]
pub(super) enum QueueEntry {
    Message {
        stage: MessageStage,
        fact: UsageFact,
        at: Timestamp,
        cost: Option<Cost>,
    },
    Dropped(UsageFact),
    Reported {
        cost: ReportedCost,
        at: Timestamp,
    },
    Released(Reservation),
}

impl QueueEntry {
    fn begun(&self) -> Option<&UsageFact> {
        match self {
            Self::Message {
                stage: MessageStage::Begun,
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
                stage: MessageStage::Paid,
                fact,
                ..
            } => Some(fact),
            Self::Message { .. } | Self::Dropped(_) | Self::Reported { .. } | Self::Released(_) => {
                None
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct LostFacts {
    pub(super) messages: u64,
    pub(super) tokens: u64,
    pub(super) reason: String,
    pub(super) remedy: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum QueuePhase {
    #[default]
    Open,
    /// Accepts no more entries; writes the waiting ones.
    Closing,
    GivenUp,
    Ended,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<QueueEntry>,
    phase: QueuePhase,
    /// Empty while the ledger can be written.
    reason: String,
    remedy: Option<&'static str>,
    lost_messages: u64,
    lost_tokens: u64,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Never blocks. Fails if facts are lost.
    pub(super) fn push(&self, entry: QueueEntry) -> Result<(), String> {
        let mut state = self.state();
        // The writer may hold the first entry. Only the last report about a message counts.
        let same = |other: &QueueEntry| match (other.begun(), entry.message()) {
            (Some(other), Some(fact)) => is_same_message(other, fact),
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
        let lost = (state.lost_messages > 0).then(|| state.reason.clone());
        drop(state);
        self.changed.notify_all();
        lost.map_or(Ok(()), Err)
    }

    /// Until the entry is written or the ledger turns out unusable.
    pub(super) fn wait_for(&self, entry: &QueueEntry, patience: Duration) {
        let Some(fact) = entry.begun() else { return };
        let waits = |state: &mut QueueState| {
            let is_there = |other: &QueueEntry| {
                other
                    .begun()
                    .is_some_and(|other| is_same_message(other, fact))
            };
            let works = state.reason.is_empty() || state.remedy.is_none();
            works && state.phase != QueuePhase::Ended && state.waiting.iter().any(is_there)
        };
        let waited = self
            .changed
            .wait_timeout_while(self.state(), patience, waits);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn drain(&self, patience: Duration) -> Result<(), String> {
        let waits =
            |state: &mut QueueState| state.phase != QueuePhase::Ended && !state.waiting.is_empty();
        let waited = self
            .changed
            .wait_timeout_while(self.state(), patience, waits);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.waiting.is_empty() && state.lost_messages == 0 {
            Ok(())
        } else {
            Err(state.reason.clone())
        }
    }

    pub(super) fn next(&self) -> Option<QueueEntry> {
        let wait =
            |state: &mut QueueState| state.phase == QueuePhase::Open && state.waiting.is_empty();
        let state = self.state();
        let state = self
            .changed
            .wait_while(state, wait)
            .unwrap_or_else(PoisonError::into_inner);
        match state.phase {
            QueuePhase::Open | QueuePhase::Closing => state.waiting.front().cloned(),
            QueuePhase::GivenUp | QueuePhase::Ended => None,
        }
    }

    pub(super) fn pop_written(&self) {
        let mut state = self.state();
        state.waiting.pop_front();
        state.reason.clear();
        drop(state);
        self.changed.notify_all();
    }

    pub(super) fn failed(&self, reason: String, remedy: Option<&'static str>) {
        let mut state = self.state();
        state.reason = reason;
        state.remedy = remedy;
        drop(state);
        self.changed.notify_all();
    }

    pub(super) fn phase(&self) -> QueuePhase {
        self.state().phase
    }

    pub(super) fn pause(&self, duration: Duration) {
        let state = self.state();
        let waited = self
            .changed
            .wait_timeout_while(state, duration, |state| state.phase == QueuePhase::Open);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// For waiting entries, then for the writer.
    pub(super) fn close(&self, patience: [Duration; 2]) {
        for (phase, patience) in [QueuePhase::Closing, QueuePhase::GivenUp]
            .into_iter()
            .zip(patience)
        {
            let mut state = self.state();
            if state.phase == QueuePhase::Ended {
                return;
            }
            state.phase = phase;
            self.changed.notify_all();
            let waited = self
                .changed
                .wait_timeout_while(state, patience, |state| state.phase != QueuePhase::Ended);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    pub(super) fn end(&self) {
        self.state().phase = QueuePhase::Ended;
        self.changed.notify_all();
    }

    pub(super) fn take_lost(&self) -> Option<LostFacts> {
        let mut state = self.state();
        while let Some(entry) = state.waiting.pop_front() {
            state.lose(&entry);
        }
        let messages = std::mem::take(&mut state.lost_messages);
        let tokens = std::mem::take(&mut state.lost_tokens);
        (messages > 0).then(|| LostFacts {
            messages,
            tokens,
            reason: state.reason.clone(),
            remedy: state.remedy,
        })
    }
}

fn is_same_message(one: &UsageFact, other: &UsageFact) -> bool {
    one.source_system == other.source_system
        && one.run_id == other.run_id
        && one.message_id == other.message_id
}

impl QueueState {
    /// The beginning of a message is no loss: its fact follows.
    fn lose(&mut self, entry: &QueueEntry) {
        let Some(fact) = entry.paid() else { return };
        tracing::info!(
            reference = fact.reference(),
            usage = ?fact.usage,
            "a message is not in the usage ledger"
        );
        self.lost_messages += 1;
        self.lost_tokens = self.lost_tokens.saturating_add(fact.usage.total());
    }
}
