//! Exiting children whose call has its answer: each ends after the call returned, still holding its
//! place, guard and record. The next spare follows it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use ktx_llm_runtime::RuntimeEvent;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;

use super::{Demand, Moment, Shared, Spares};
use crate::process::{Ended, Ending, Running, STAYED, status_words};

impl Spares {
    /// Waits in the background for a child that has given its result; it has the usual time to
    /// exit.
    pub(crate) fn see_off(
        &self,
        running: Running,
        place: Option<OwnedSemaphorePermit>,
        demand: Option<&Demand>,
    ) {
        let shared = Arc::clone(&self.shared);
        let demand = demand.cloned();
        let mut leaving = self.shared.leaving();
        while let Some(left) = leaving.try_join_next() {
            log_breakdown(left);
        }
        // Before the task, which may be dropped before it begins.
        let closing = running.closing(Ending::Wait);
        leaving.spawn(async move {
            let ended = closing.end(Ending::Wait, &shared.settings.timeouts).await;
            drop(place);
            shared.tell(&ended);
            if let Some(demand) = demand {
                shared.prepare(&demand, Moment::Ended);
            }
        });
    }
}

impl Shared {
    pub(super) fn leaving(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no child is exiting.
    pub(super) async fn everyone_has_left(&self) {
        let mut leaving = std::mem::take(&mut *self.leaving());
        while let Some(left) = leaving.join_next().await {
            log_breakdown(left);
        }
    }

    fn tell(&self, ended: &Ended) {
        let status = status_words(ended.status);
        if !ended.went {
            tracing::warn!("a Claude Code process stayed behind its answer and was ended");
            if !self.told.swap(true, Ordering::Relaxed) {
                self.events.event(RuntimeEvent::Warning(STAYED.to_owned()));
            }
        } else if ended.status.is_some_and(|status| !status.success()) {
            tracing::warn!(
                status,
                "a Claude Code process ended badly behind its answer"
            );
        }
    }
}

fn log_breakdown(left: Result<(), tokio::task::JoinError>) {
    if let Err(error) = left {
        tracing::error!(%error, "a Claude Code process was not seen off in order");
    }
}
