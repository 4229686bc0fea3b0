//! Facts on their way to the ledger: in order, so many at most, each until it is written or lost.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use ktx_llm_runtime::{ReportedCost, UsageFact};
use ktx_usage_ledger::Cost;

/// Facts that are kept while the ledger cannot be written.
pub(super) const MOST_WAITING: usize = 10_000;

/// What is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// A message has begun, or has grown.
    Begun,
    /// A fact.
    Paid,
}

/// Something that is not in the ledger yet.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    /// A message.
    Message {
        stage: Stage,
        fact: UsageFact,
        at: Timestamp,
        cost: Option<Cost>,
    },
    /// Nothing is paid for a message that has begun.
    Dropped(UsageFact),
    /// What a backend says that a call cost.
    Reported { told: ReportedCost, at: Timestamp },
}

impl Entry {
    /// The message, when it is one that has begun.
    fn begun(&self) -> Option<&UsageFact> {
        match self {
            Self::Message {
                stage: Stage::Begun,
                fact,
                ..
            } => Some(fact),
            Self::Message { .. } | Self::Dropped(_) | Self::Reported { .. } => None,
        }
    }

    /// The message, when it is about one.
    fn message(&self) -> Option<&UsageFact> {
        match self {
            Self::Message { fact, .. } | Self::Dropped(fact) => Some(fact),
            Self::Reported { .. } => None,
        }
    }

    /// The fact, when it is one.
    fn paid(&self) -> Option<&UsageFact> {
        match self {
            Self::Message {
                stage: Stage::Paid,
                fact,
                ..
            } => Some(fact),
            Self::Message { .. } | Self::Dropped(_) | Self::Reported { .. } => None,
        }
    }
}

/// Facts that never came into the ledger.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) messages: u64,
    pub(super) tokens: u64,
    pub(super) reason: String,
    /// What helps, when that is known.
    pub(super) remedy: Option<&'static str>,
}

/// How long the writer goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// More may come.
    #[default]
    Open,
    /// Nothing more comes; what waits is to be written.
    Closing,
    /// What waits is given up.
    GivenUp,
    /// The writer has ended.
    Ended,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Entry>,
    phase: Phase,
    /// Why the ledger cannot be written; empty while it can.
    reason: String,
    /// What helps against it.
    remedy: Option<&'static str>,
    lost: (u64, u64),
}

/// The queue between those who receive facts and the one who writes them.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an entry, at once. Gives the reason when facts are lost.
    pub(super) fn push(&self, entry: Entry) -> Result<(), String> {
        let mut state = self.state();
        // The first one may be at the writer. Of the others only the last word about a message counts.
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

    /// Waits until an entry about a message that has begun is written, so long at most, or until the
    /// ledger cannot be used.
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

    /// The next entry, which stays in the queue until [`Self::written`]; `None` at the end.
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

    /// The first entry is in the ledger.
    pub(super) fn written(&self) {
        let mut state = self.state();
        state.waiting.pop_front();
        state.reason.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// The first entry could not be written.
    pub(super) fn failed(&self, reason: String, remedy: Option<&'static str>) {
        let mut state = self.state();
        state.reason = reason;
        state.remedy = remedy;
        drop(state);
        self.changed.notify_all();
    }

    /// How long the writer goes on.
    pub(super) fn phase(&self) -> Phase {
        self.state().phase
    }

    /// Waits so long, or until somebody asks for the end.
    pub(super) fn pause(&self, duration: Duration) {
        let state = self.state();
        let waited = self
            .changed
            .wait_timeout_while(state, duration, |state| state.phase == Phase::Open);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Asks for the end and waits for it: so long for what waits to be written, then a moment more.
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

    /// The writer has ended.
    pub(super) fn end(&self) {
        self.state().phase = Phase::Ended;
        self.changed.notify_all();
    }

    /// What was not written, once.
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
    /// That a message has begun is no fact: its fact is still to come. Nor is what others say.
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
