//! The turns of a pool.

use std::sync::Arc;
use std::time::Duration;

use ktx_llm_runtime::{Deltas, LlmErrorKind};
use ktx_session_log::SessionId;
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::{LOOKS, Member, PoolError, PoolState, TurnControl};
use crate::agent::Agent;
use crate::approvals::OnAsk;
use crate::event::{Cause, Phase, Severity, Strategy, TurnEnd};
use crate::session::{Session, SessionError};
use crate::turn::{AskError, Turn, go_on};

const RELEASE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnOutcome {
    Completed,
    /// Stopped or parked.
    Interrupted,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queued {
    Begins,
    Stays,
}

impl PoolState {
    /// Runs turns while messages wait.
    pub(super) async fn work(self: Arc<Self>, id: &SessionId, mut stop: CancellationToken) {
        loop {
            let permit = self.room.acquire().with_cancellation_token(&stop).await;
            let next = if let Some(Ok(_permit)) = permit {
                self.turns(id, &stop).await
            } else {
                self.count(TurnOutcome::Interrupted);
                let _alone = self.opening.lock().await;
                self.next_task(id, Queued::Stays)
            };
            match next {
                Some(next) => stop = next,
                None => return,
            }
        }
    }

    /// Runs turns until none waits or one is stopped. Returns the next token if something arrived
    /// since.
    async fn turns(&self, id: &SessionId, stop: &CancellationToken) -> Option<CancellationToken> {
        loop {
            let opened = {
                let _alone = self.opening.lock().await;
                self.open(id)
            };
            let session = match opened {
                Ok(session) => session,
                Err(error) => {
                    tracing::warn!(%error, session = %id, "a session cannot be continued");
                    self.rest(id);
                    self.count(TurnOutcome::Failed);
                    return None;
                }
            };
            let ended = self.turn(&session, stop).await;
            self.count(ended);
            released(&session).await;
            let _alone = self.opening.lock().await;
            let history = session.history();
            drop(session);
            let queued = match ended {
                TurnOutcome::Completed if !history.queued().is_empty() => Queued::Begins,
                _ => Queued::Stays,
            };
            let Some(next) = self.next_task(id, queued) else {
                // A schedule creates a session each time; they would fill the pool.
                let cause = history.end().and_then(|end| end.cause);
                if history.trigger().is_some() && cause != Some(Cause::Parked) {
                    self.members().remove(id);
                }
                return None;
            };
            if stop.is_cancelled() {
                return Some(next);
            }
        }
    }

    fn open(&self, id: &SessionId) -> Result<Arc<Session>, SessionError> {
        let session = Arc::new(self.sessions.resume(id.clone(), Strategy::Crash)?);
        if let Some(member) = self.members().get_mut(id)
            && let Some(task) = member.task()
        {
            // This turn sees everything up to now.
            task.again = false;
            let task = task.clone();
            let session = Arc::clone(&session);
            *member = Member::Running { session, task };
        }
        Ok(session)
    }

    /// Queues the next turn, or makes the session idle.
    fn next_task(&self, id: &SessionId, queued: Queued) -> Option<CancellationToken> {
        let mut members = self.members();
        let member = members.get_mut(id)?;
        let task = member.task()?;
        let is_stopped = task.stop.is_cancelled();
        let has_more = task.again || (queued == Queued::Begins && !is_stopped);
        if !has_more || self.closing.is_cancelled() {
            *member = Member::Idle;
            return None;
        }
        let stop = if is_stopped {
            CancellationToken::new()
        } else {
            task.stop.clone()
        };
        *member = Member::Waiting(TurnControl {
            stop: stop.clone(),
            again: false,
        });
        Some(stop)
    }

    async fn turn(&self, session: &Arc<Session>, stop: &CancellationToken) -> TurnOutcome {
        match self.asked(session, stop).await {
            Ok(()) => TurnOutcome::Completed,
            // Another process was faster.
            Err(PoolError::Ask(AskError::NothingToContinue)) => TurnOutcome::Completed,
            Err(PoolError::Ask(AskError::Waiting { .. })) => TurnOutcome::Interrupted,
            Err(PoolError::Ask(AskError::Model(error))) => match error.kind {
                LlmErrorKind::Cancelled => TurnOutcome::Interrupted,
                _ => TurnOutcome::Failed,
            },
            Err(error) => {
                // The turn has not recorded its failure.
                if let Err(unkept) = failed(session, &error.to_string()) {
                    tracing::warn!(error = %unkept, session = %session.id(), "a failure is not kept");
                }
                TurnOutcome::Failed
            }
        }
    }

    async fn asked(
        &self,
        session: &Arc<Session>,
        stop: &CancellationToken,
    ) -> Result<(), PoolError> {
        let history = session.history();
        let agent = Agent::from_snapshot(&history.agent().snapshot).map_err(|source| {
            SessionError::Event {
                session: session.id().clone(),
                seq: 1,
                source,
            }
        })?;
        let mut agent = agent;
        let on_ask = history.trigger().map_or_else(
            || self.on_ask.clone(),
            |trigger| {
                trigger.limit(&mut agent);
                trigger
                    .on_ask
                    .map_or_else(|| self.on_ask.clone(), OnAsk::from)
            },
        );
        let ready = self.host.ready(&agent).await?;
        let turn = Turn {
            agent,
            tools: ready.tools,
            on_ask,
            deltas: Deltas::AsTheyCome,
            stage: ready.stage,
            run_id: ready.run_id,
            cancel: stop.clone(),
            delegation: ready.delegation,
            previews: ready.previews,
            room: None,
        };
        let result = go_on(session, ready.runtime.as_ref(), turn).await;
        ready.release.await;
        result?;
        Ok(())
    }

    fn rest(&self, id: &SessionId) {
        if let Some(member) = self.members().get_mut(id) {
            *member = Member::Idle;
        }
    }

    fn count(&self, ended: TurnOutcome) {
        let mut report = self.ended();
        match ended {
            TurnOutcome::Completed => report.completed += 1,
            TurnOutcome::Interrupted => report.interrupted += 1,
            TurnOutcome::Failed => report.failed += 1,
        }
    }
}

/// Waits for the run to drop its tools, which hold the session: the log cannot be reopened before.
/// A model's process can take a while to exit.
async fn released(session: &Arc<Session>) {
    // The caller's and the pool's.
    const OWN: usize = 2;
    let mut waited = Duration::ZERO;
    while Arc::strong_count(session) > OWN && waited < RELEASE {
        tokio::time::sleep(LOOKS).await;
        waited += LOOKS;
    }
}

fn failed(session: &Session, why: &str) -> Result<(), SessionError> {
    session.complain(Severity::Error, Phase::System, why)?;
    session.end_turn(TurnEnd::Interrupted, Some(Cause::Failed))
}
