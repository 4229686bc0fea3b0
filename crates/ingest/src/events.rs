//! What a run reports while it works.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ktx_llm_runtime::{Step, StepCallback};
use ktx_vocabulary::ConnectionId;

use crate::documents::Lane;

/// A loop of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    Unit {
        /// Its position among the units of the source, from 1.
        position: usize,
        /// The number of units.
        count: usize,
        key: String,
        /// Its display name, or its key.
        name: String,
    },
    /// A pass over candidates, from 1.
    Curation {
        /// Its number in this run.
        pass: usize,
    },
    Reconciliation,
}

/// Progress of a run on one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A document has been triaged.
    Triaged {
        /// Its position among the documents to triage, from 1.
        position: usize,
        /// The number of documents to triage.
        count: usize,
        /// Its display name, or its key.
        name: String,
        lane: Lane,
    },
    /// A loop begins.
    Started(Task),
    /// A loop continues one of an earlier run.
    Continued {
        task: Task,
        /// Assistant turns of the earlier run.
        turns: usize,
    },
    /// A turn of a loop has ended.
    Turn(Turn),
}

/// A turn of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub task: Task,
    /// Its number in the loop, from 1.
    pub index: u32,
    /// Maximum turns of the loop.
    pub budget: u32,
}

/// Receives the events of a run.
pub type EventSink = Arc<dyn Fn(&ConnectionId, Event) + Send + Sync>;

/// Reports the events of one source, and counts its turns.
#[derive(Clone)]
pub(crate) struct Progress {
    source: ConnectionId,
    sink: EventSink,
    turns: Arc<Mutex<Vec<Turn>>>,
}

impl Progress {
    pub(crate) fn new(source: &ConnectionId, sink: &EventSink) -> Self {
        Self {
            source: source.clone(),
            sink: Arc::clone(sink),
            turns: Arc::default(),
        }
    }

    pub(crate) fn report(&self, event: Event) {
        (self.sink)(&self.source, event);
    }

    /// Returns a callback that reports and counts the turns of a loop.
    pub(crate) fn on_step(&self, task: &Task) -> StepCallback {
        let (progress, task) = (self.clone(), task.clone());
        Arc::new(move |Step { index, budget }| {
            let task = task.clone();
            let turn = Turn {
                task,
                index,
                budget,
            };
            progress.report(Event::Turn(turn.clone()));
            progress.locked().push(turn);
            Ok(())
        })
    }

    /// Returns a callback that reports how many turns of an earlier run a loop continues.
    pub(crate) fn on_continue(&self, task: &Task) -> impl Fn(usize) + Send + Sync + 'static {
        let (progress, task) = (self.clone(), task.clone());
        move |turns| {
            let task = task.clone();
            progress.report(Event::Continued { task, turns });
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.locked().len()
    }

    pub(crate) fn turns(&self) -> Vec<Turn> {
        self.locked().clone()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Turn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
