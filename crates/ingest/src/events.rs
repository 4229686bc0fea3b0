//! Progress events of a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ktx_llm_runtime::{LoopStep, StepCallback};
use ktx_vocabulary::ConnectionId;

use crate::documents::Lane;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    Unit {
        /// From 1.
        position: usize,
        count: usize,
        key: String,
        name: String,
    },
    Curation {
        /// From 1.
        pass: usize,
    },
    Reconciliation,
    /// About pages and sources whose files are gone.
    Verdicts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Triaged {
        /// From 1.
        position: usize,
        count: usize,
        name: String,
        lane: Lane,
    },
    Started(Task),
    Continued {
        task: Task,
        turns: usize,
    },
    Turn(Turn),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub task: Task,
    /// From 1.
    pub index: u32,
    pub budget: u32,
}

pub type EventSink = Arc<dyn Fn(&ConnectionId, Event) + Send + Sync>;

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

    pub(crate) fn on_step(&self, task: &Task) -> StepCallback {
        let (progress, task) = (self.clone(), task.clone());
        Arc::new(move |LoopStep { index, budget }| {
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
