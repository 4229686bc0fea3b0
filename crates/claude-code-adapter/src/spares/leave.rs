//! Exiting children after their answer, still with place, guard and record.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use ktx_llm_runtime::RuntimeEvent;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;

use super::{CallStage, SharedSpares, SpareDemand, Spares};
use crate::process::{ChildExit, ProcessEnding, RunningChild, STAYED, status_text};

impl Spares {
    pub(crate) fn exit_in_background(
        &self,
        running: RunningChild,
        place: Option<OwnedSemaphorePermit>,
        demand: Option<&SpareDemand>,
    ) {
        let shared = Arc::clone(&self.shared);
        let demand = demand.cloned();
        let mut exiting_children = self.shared.exiting_children();
        while let Some(left) = exiting_children.try_join_next() {
            log_breakdown(left);
        }
        // Outside of the task, which can be dropped before it begins.
        let closing = running.closing(ProcessEnding::Wait);
        exiting_children.spawn(async move {
            let ended = closing
                .end(ProcessEnding::Wait, &shared.settings.timeouts)
                .await;
            drop(place);
            shared.report(&ended);
            if let Some(demand) = demand {
                shared.prepare(&demand, CallStage::Ended);
            }
        });
    }
}

impl SharedSpares {
    pub(super) fn exiting_children(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.exiting_children
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn wait_for_exits(&self) {
        let mut exiting_children = std::mem::take(&mut *self.exiting_children());
        while let Some(left) = exiting_children.join_next().await {
            log_breakdown(left);
        }
    }

    fn report(&self, ended: &ChildExit) {
        let status = status_text(ended.status);
        if !ended.ended_by_itself {
            tracing::warn!("a Claude Code process did not exit after its answer and was ended");
            if !self.warned.swap(true, Ordering::Relaxed) {
                self.events.event(RuntimeEvent::Warning(STAYED.to_owned()));
            }
        } else if ended.status.is_some_and(|status| !status.success()) {
            tracing::warn!(status, "a Claude Code process failed after its answer");
        }
    }
}

fn log_breakdown(left: Result<(), tokio::task::JoinError>) {
    if let Err(error) = left {
        tracing::error!(%error, "the task of an exiting Claude Code process failed");
    }
}
