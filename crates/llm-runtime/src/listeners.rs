//! Sends a backend's events to listeners.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ktx_vocabulary::ModelRole;

use crate::{
    Abilities, BackendInfo, EventSink, LlmError, LlmRuntime, LoopOutcome, LoopRequest,
    ObjectOutcome, ObjectRequest, ProbeReport, ProbeRequest, RunHandle, RunRequest, RuntimeEvent,
    TextOutcome, TextRequest,
};

/// Forwards events, also to the current listeners. Clones share the listeners.
#[derive(Clone)]
pub struct Listeners {
    to: Arc<dyn EventSink>,
    present: Arc<Mutex<ListenerList>>,
}

#[derive(Default)]
struct ListenerList {
    last: u64,
    all: Vec<(u64, Arc<dyn EventSink>)>,
}

/// Registration of a listener until dropped.
pub struct ListenerRegistration {
    place: u64,
    present: Arc<Mutex<ListenerList>>,
}

impl std::fmt::Debug for Listeners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listeners").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ListenerRegistration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listening")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl Listeners {
    pub fn before(to: Arc<dyn EventSink>) -> Self {
        Self {
            to,
            present: Arc::default(),
        }
    }

    /// Wraps a runtime that sends its events here.
    pub fn of(self, runtime: Arc<dyn LlmRuntime>) -> Arc<dyn LlmRuntime> {
        Arc::new(HeardRuntime {
            inner: runtime,
            listeners: self,
        })
    }

    fn listen(&self, listener: Arc<dyn EventSink>) -> ListenerRegistration {
        let mut present = lock(&self.present);
        present.last += 1;
        let place = present.last;
        present.all.push((place, listener));
        drop(present);
        ListenerRegistration {
            place,
            present: Arc::clone(&self.present),
        }
    }
}

impl EventSink for Listeners {
    fn event(&self, event: RuntimeEvent) {
        // A listener can register another one.
        let all = lock(&self.present).all.clone();
        for (_, listener) in all {
            listener.event(event.clone());
        }
        self.to.event(event);
    }
}

impl Drop for ListenerRegistration {
    fn drop(&mut self) {
        lock(&self.present)
            .all
            .retain(|(place, _)| *place != self.place);
    }
}

fn lock(present: &Mutex<ListenerList>) -> MutexGuard<'_, ListenerList> {
    present.lock().unwrap_or_else(PoisonError::into_inner)
}

struct HeardRuntime {
    inner: Arc<dyn LlmRuntime>,
    listeners: Listeners,
}

#[async_trait]
impl LlmRuntime for HeardRuntime {
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError> {
        self.inner.generate_text(request).await
    }

    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        self.inner.generate_object(request).await
    }

    async fn run_agent_loop(&self, request: LoopRequest) -> LoopOutcome {
        self.inner.run_agent_loop(request).await
    }

    fn start_run(&self, request: RunRequest) -> RunHandle {
        self.inner.start_run(request)
    }

    async fn probe(&self, request: ProbeRequest) -> Result<ProbeReport, LlmError> {
        self.inner.probe(request).await
    }

    fn describe(&self) -> BackendInfo {
        self.inner.describe()
    }

    fn abilities(&self, role: ModelRole) -> Abilities {
        self.inner.abilities(role)
    }

    fn listen(&self, listener: Arc<dyn EventSink>) -> Option<ListenerRegistration> {
        Some(self.listeners.listen(listener))
    }

    fn beside_runs(&self) -> Option<Arc<dyn LlmRuntime>> {
        let beside = self.inner.beside_runs()?;
        Some(self.listeners.clone().of(beside))
    }

    async fn settle(&self) {
        self.inner.settle().await;
    }
}
