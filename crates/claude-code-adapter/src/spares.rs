//! Places for children, and spares: initialized ahead for a call of a known kind, because a start
//! takes ten times as long as the rest.

mod keep;
mod leave;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ktx_llm_runtime::EventSink;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Duration, Instant};

use crate::invocation::Query;
use crate::link::ChildLink;
use crate::process::{Guard, ProcessEnding};
use crate::settings::ClaudeCodeSettings;

const MOST_KINDS: usize = 16;

#[derive(Debug, Clone)]
pub(crate) struct SpareDemand {
    kind: Arc<str>,
    query: Query,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallStage {
    Working,
    /// Its child is exiting.
    Answered,
    Ended,
}

/// Drop kills spares and ends exiting children.
pub(crate) struct Spares {
    shared: Arc<SharedSpares>,
}

struct SharedSpares {
    settings: Arc<ClaudeCodeSettings>,
    guard: Arc<Guard>,
    places: Arc<Semaphore>,
    spare_slots: Mutex<SpareSlots>,
    exiting_children: Mutex<JoinSet<()>>,
    events: Arc<dyn EventSink>,
    warned: AtomicBool,
}

#[derive(Debug, Default)]
struct SpareSlots {
    slots: BTreeMap<Arc<str>, SpareSlot>,
    seen: BTreeMap<Arc<str>, CallHistory>,
    waiting: usize,
    numbers: u64,
    is_closed: bool,
}

#[derive(Debug)]
struct CallHistory {
    calls: u32,
    last: Instant,
}

#[derive(Debug)]
struct SpareSlot {
    number: u64,
    orders: oneshot::Sender<SpareOrder>,
    task: JoinHandle<()>,
    place: SlotPermit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotPermit {
    None,
    Taken,
}

#[derive(Debug)]
enum SpareOrder {
    Take(oneshot::Sender<ChildLink>),
    End(ProcessEnding),
}

impl Spares {
    pub(crate) fn new(
        settings: Arc<ClaudeCodeSettings>,
        guard: Arc<Guard>,
        places: usize,
        events: Arc<dyn EventSink>,
    ) -> Self {
        let shared = SharedSpares {
            settings,
            guard,
            places: Arc::new(Semaphore::new(places)),
            spare_slots: Mutex::default(),
            exiting_children: Mutex::default(),
            events,
            warned: AtomicBool::new(false),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Spares make room. Never `None` while the runtime lives.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let _waiting = self.shared.make_room();
        let places = Arc::clone(&self.shared.places);
        // The semaphore is never closed.
        places.acquire_owned().await.ok()
    }

    pub(crate) fn called(&self, query: &Query) -> Option<SpareDemand> {
        if self.shared.settings.max_spares == 0 {
            return None;
        }
        let query = query.waiting()?;
        let kind: Arc<str> = query.kind().into();
        let calls = self
            .shared
            .spare_slots()
            .called(&kind, self.shared.settings.timeouts.spare_idle);
        tracing::trace!(calls, "a call that may have a spare");
        Some(SpareDemand { kind, query })
    }

    pub(crate) async fn take(&self, demand: &SpareDemand) -> Option<ChildLink> {
        let slot = self.shared.spare_slots().slots.remove(&demand.kind)?;
        let (reply, link) = oneshot::channel();
        // An error means that the spare has ended.
        slot.orders.send(SpareOrder::Take(reply)).ok()?;
        link.await.ok()
    }

    pub(crate) fn prepare(&self, demand: &SpareDemand, stage: CallStage) {
        self.shared.prepare(demand, stage);
    }

    pub(crate) async fn end_all(&self) {
        // First, because a spare can follow an exited child.
        self.shared.wait_for_exits().await;
        let slots = std::mem::take(&mut self.shared.spare_slots().slots);
        let tasks: Vec<_> = slots
            .into_values()
            .map(|slot| slot.send(SpareOrder::End(ProcessEnding::Stop)))
            .collect();
        for task in tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "the task of a spare Claude Code process failed");
            }
        }
    }

    pub(crate) async fn wait_for_exits(&self) {
        self.shared.wait_for_exits().await;
    }

    pub(crate) fn kill_all(&self) {
        let slots = std::mem::take(&mut self.shared.spare_slots().slots);
        for slot in slots.into_values() {
            slot.task.abort();
        }
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        self.shared.spare_slots().is_closed = true;
        self.shared.exiting_children().abort_all();
        self.kill_all();
    }
}

impl SpareSlot {
    fn send(self, order: SpareOrder) -> JoinHandle<()> {
        if self.orders.send(order).is_err() {
            tracing::trace!("a spare process ended by itself");
        }
        self.task
    }
}

impl SpareSlots {
    fn called(&mut self, kind: &Arc<str>, idle: Duration) -> u32 {
        let now = Instant::now();
        self.seen
            .retain(|_, seen| now.duration_since(seen.last) <= idle);
        let seen = self.seen.entry(Arc::clone(kind)).or_insert(CallHistory {
            calls: 0,
            last: now,
        });
        seen.calls = seen.calls.saturating_add(1);
        seen.last = now;
        let calls = seen.calls;
        let oldest = self.seen.iter().min_by_key(|(_, seen)| seen.last);
        let oldest = oldest.map(|(kind, _)| Arc::clone(kind));
        if self.seen.len() > MOST_KINDS
            && let Some(oldest) = oldest
        {
            self.seen.remove(&oldest);
        }
        calls
    }

    fn evict(&mut self) {
        let oldest = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.place == SlotPermit::Taken)
            .min_by_key(|(_, slot)| slot.number);
        let oldest = oldest.map(|(kind, _)| Arc::clone(kind));
        if let Some(slot) = oldest.and_then(|kind| self.slots.remove(&kind)) {
            drop(slot.send(SpareOrder::End(ProcessEnding::Stop)));
        }
    }
}

impl SharedSpares {
    fn spare_slots(&self) -> MutexGuard<'_, SpareSlots> {
        self.spare_slots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn prepare(self: &Arc<Self>, demand: &SpareDemand, stage: CallStage) {
        let mut spare_slots = self.spare_slots();
        let Some(seen) = spare_slots.seen.get_mut(&demand.kind) else {
            return;
        };
        seen.last = Instant::now();
        let pause = match (stage, seen.calls) {
            // A command with one call pays for one child.
            (CallStage::Working | CallStage::Answered, 0..2) => return,
            // A start occupies a processor, which the call needs until its prompt is sent.
            (CallStage::Working, _) | (CallStage::Ended, 0..2) => {
                self.settings.timeouts.spare_pause
            }
            (CallStage::Answered | CallStage::Ended, _) => Duration::ZERO,
        };
        let full = spare_slots.slots.len() >= self.settings.max_spares;
        if full || spare_slots.is_closed || spare_slots.slots.contains_key(&demand.kind) {
            return;
        }
        spare_slots.numbers += 1;
        let number = spare_slots.numbers;
        let (orders, inbox) = oneshot::channel();
        let spare = keep::Spare {
            shared: Arc::clone(self),
            kind: Arc::clone(&demand.kind),
            number,
        };
        let slot = SpareSlot {
            number,
            orders,
            task: tokio::spawn(spare.keep(demand.query.clone(), pause, inbox)),
            place: SlotPermit::None,
        };
        spare_slots.slots.insert(Arc::clone(&demand.kind), slot);
    }

    fn make_room(&self) -> WaitingCall<'_> {
        let mut spare_slots = self.spare_slots();
        spare_slots.waiting += 1;
        for _ in self.places.available_permits()..spare_slots.waiting {
            spare_slots.evict();
        }
        WaitingCall(self)
    }

    /// Waiting calls come first. Without a place the spare leaves the shelf at once, so that no
    /// call waits for it.
    fn claim(&self, kind: &str, number: u64) -> Option<OwnedSemaphorePermit> {
        let mut spare_slots = self.spare_slots();
        let is_wanted = spare_slots.waiting == 0;
        let slot = spare_slots.slots.get_mut(kind)?;
        if slot.number != number {
            return None;
        }
        // An error means that all places are taken.
        let place = Arc::clone(&self.places).try_acquire_owned().ok();
        let place = place.filter(|_| is_wanted);
        slot.place = match place {
            Some(_) => SlotPermit::Taken,
            None => SlotPermit::None,
        };
        if place.is_none() {
            spare_slots.slots.remove(kind);
        }
        place
    }

    fn forget(&self, kind: &str, number: u64) {
        let mut spare_slots = self.spare_slots();
        if spare_slots
            .slots
            .get(kind)
            .is_some_and(|slot| slot.number == number)
        {
            spare_slots.slots.remove(kind);
        }
    }
}

struct WaitingCall<'a>(&'a SharedSpares);

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.spare_slots().waiting -= 1;
    }
}

/// Kills the spares if a call is dropped, because no next call will follow.
pub(crate) struct CallGuard<'a>(Option<&'a Spares>);

impl<'a> CallGuard<'a> {
    pub(crate) fn new(spares: &'a Spares) -> Self {
        Self(Some(spares))
    }

    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        if let Some(spares) = self.0 {
            spares.kill_all();
        }
    }
}
