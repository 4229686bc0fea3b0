//! Approval of calls before they begin (KODE-41, KODE-61, KODE-62).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::calls::OpenCall;
use crate::event::{Breakpoint, Call, CallState, Decision, DecisionRecord, Event, Parent};
use crate::permissions::{OnExpiry, Permissions, ToolRequest, Verdict};
use crate::previews::{Preview, Previews};
use crate::session::{Session, SessionError};

/// How long a call waits before its turn is parked. Backends give a tool ten minutes.
pub const PARK_AFTER: Duration = Duration::from_mins(9);

const CLOCK_CHECK: Duration = Duration::from_secs(30);

const NOBODY: &str = "ktx";

#[async_trait]
pub trait Approver: Send + Sync {
    /// Decides a call; `None` parks the turn. `subagent` names the calling agent if it is a
    /// sub-agent.
    async fn decide(&self, call: &Call, subagent: Option<&str>) -> Option<DecisionRecord>;
}

#[derive(Clone)]
pub enum OnAsk {
    /// Denies the call.
    Deny,
    /// Parks the turn until a decision.
    Park,
    Fail,
    /// Asks a person; parks the turn without a decision.
    Ask(Arc<dyn Approver>),
}

impl std::fmt::Debug for OnAsk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Deny => "Deny",
            Self::Park => "Park",
            Self::Fail => "Fail",
            Self::Ask(_) => "Ask",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    Parked,
    Unasked,
    Expired,
}

#[derive(Debug)]
pub(crate) enum Refusal {
    /// Denied by a rule; not in the log yet.
    Denied(Option<String>),
    /// Denied by a decision that the log has.
    Decided(Option<String>),
    Invalid(String),
    Stopped,
    NotRecorded,
}

#[derive(Debug)]
pub(crate) struct Approvals {
    permissions: Permissions,
    on_ask: OnAsk,
    previews: Option<Arc<dyn Previews>>,
    halt: Mutex<Option<Halt>>,
    stop: CancellationToken,
}

impl Approvals {
    pub(crate) const fn new(
        permissions: Permissions,
        on_ask: OnAsk,
        stop: CancellationToken,
    ) -> Self {
        Self {
            permissions,
            on_ask,
            previews: None,
            halt: Mutex::new(None),
            stop,
        }
    }

    pub(crate) fn with_previews(mut self, previews: Option<Arc<dyn Previews>>) -> Self {
        self.previews = previews;
        self
    }

    /// Adds the preview. Refuses a call that would fail, so that no one is asked about it.
    async fn look_ahead(&self, call: &mut Call) -> Result<(), Refusal> {
        let Some(previews) = &self.previews else {
            return Ok(());
        };
        let Some(diff) = previews.diff(&call.name, &call.input).await else {
            return Ok(());
        };
        call.preview = Some(Preview {
            diff: diff.map_err(Refusal::Invalid)?,
            numbers: previews.numbers(&call.name, &call.input).await,
        });
        Ok(())
    }

    /// True if the call would still do what its preview showed.
    pub(crate) async fn is_as_shown(&self, call: &Call) -> bool {
        let (Some(shown), Some(previews)) = (&call.preview, &self.previews) else {
            return true;
        };
        let now = previews.diff(&call.name, &call.input).await;
        now.is_some_and(|now| now.as_ref() == Ok(&shown.diff))
    }

    pub(crate) fn halted(&self) -> Option<Halt> {
        *self.halt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn halt(&self, reason: Halt) {
        let mut halt = self.halt.lock().unwrap_or_else(PoisonError::into_inner);
        halt.get_or_insert(reason);
        self.stop.cancel();
    }

    pub(crate) async fn permit(
        &self,
        session: &Session,
        open: &mut OpenCall<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), Refusal> {
        let Some(call) = &mut open.call else {
            return Err(Refusal::Stopped);
        };
        let verdict = self.permissions.verdict(ToolRequest {
            tool: &call.name,
            effect: call.effect,
            input: &call.input,
        });
        match verdict {
            Verdict::Allow => Ok(()),
            Verdict::Deny(reason) => Err(Refusal::Denied(Some(reason))),
            Verdict::Ask => {
                self.look_ahead(call).await?;
                self.ask(session, open, cancel).await
            }
        }
    }

    /// Asks about a call. Only the log knows that it waits, so the call outlives this process.
    pub(crate) async fn ask(
        &self,
        session: &Session,
        open: &mut OpenCall<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), Refusal> {
        let Some(mut call) = open.call.take() else {
            return Err(Refusal::Stopped);
        };
        if call.state != CallState::ApprovalRequired {
            call.state = CallState::ApprovalRequired;
            call.expires = self.expiry(session.now());
            require(session, &call).map_err(|_| Refusal::NotRecorded)?;
        }
        tokio::select! {
            biased;
            () = decided(session, &call.id) => {}
            () = cancel.cancelled() => return Err(Refusal::Stopped),
            () = expired(session, &call) => {
                session.expire().map_err(|_| Refusal::NotRecorded)?;
                if self.permissions.on_expiry == OnExpiry::Fail {
                    self.halt(Halt::Expired);
                    return Err(Refusal::Stopped);
                }
            }
            answer = self.answer(session, &call) => {
                let Some(record) = answer else {
                    others_settled(session).await;
                    self.halt(Halt::Parked);
                    return Err(Refusal::Stopped);
                };
                match session.decide(record) {
                    Ok(()) | Err(SessionError::AlreadyDecided(_)) => {}
                    Err(_) => return Err(Refusal::NotRecorded),
                }
            }
        }
        let decision = session.look(|history| history.decision(&call.id).cloned());
        match decision.as_ref().map(|record| record.decision) {
            Some(Decision::Allow) => {
                call.state = CallState::Approved;
                open.call = Some(call);
                Ok(())
            }
            _ => Err(Refusal::Decided(decision.and_then(|it| it.note))),
        }
    }

    fn expiry(&self, now: Timestamp) -> Option<Timestamp> {
        let seconds = i64::try_from(self.permissions.expires?).ok()?;
        now.checked_add(SignedDuration::from_secs(seconds)).ok()
    }

    /// Returns the decision; `None` parks the turn.
    async fn answer(&self, session: &Session, call: &Call) -> Option<DecisionRecord> {
        match &self.on_ask {
            OnAsk::Deny => Some(DecisionRecord {
                call_id: call.id.clone(),
                decision: Decision::Deny,
                decided_by: NOBODY.to_owned(),
                note: Some("nobody can be asked".to_owned()),
                session: None,
            }),
            OnAsk::Park => None,
            OnAsk::Fail => {
                self.halt(Halt::Unasked);
                std::future::pending().await
            }
            OnAsk::Ask(approver) => {
                let agent = session.look(|history| history.agent().clone());
                let is_asked = matches!(agent.parent, Some(Parent::Call { .. }));
                let subagent = is_asked.then_some(agent.name.as_str());
                let asked = tokio::time::timeout(PARK_AFTER, approver.decide(call, subagent));
                let answer = asked.await.unwrap_or_default();
                tracing::debug!(session = %session.id(), call = call.id, "an approver has answered");
                answer
            }
        }
    }
}

fn require(session: &Session, call: &Call) -> Result<(), SessionError> {
    session.record_call(call)?;
    session.record(&Event::PermissionRequired {
        call: call.view(),
        expires: call.expires,
        session: None,
    })?;
    session.reach(Breakpoint::AwaitingApproval)
}

async fn decided(session: &Session, call: &str) {
    let is_decided = || session.look(|history| history.decision(call).is_some());
    until(session, is_decided).await;
}

async fn expired(session: &Session, call: &Call) {
    let Some(end) = call.expires else {
        return std::future::pending().await;
    };
    loop {
        let left = end.duration_since(session.now());
        let Ok(left) = Duration::try_from(left) else {
            return;
        };
        if left.is_zero() {
            return;
        }
        // Timers do not count the time while the machine sleeps.
        tokio::time::sleep(left.min(CLOCK_CHECK)).await;
    }
}

/// Waits until every open call waits for a decision.
pub(crate) async fn others_settled(session: &Session) {
    let have_settled =
        || session.look(|history| history.open_calls().all(|call| session.waits(call)));
    until(session, have_settled).await;
}

async fn until(session: &Session, holds: impl Fn() -> bool) {
    let mut written = session.watch();
    while !holds() {
        if written.changed().await.is_err() {
            return;
        }
    }
}
