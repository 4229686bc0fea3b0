//! A conversation that outlives its process.

mod between;
mod elsewhere;
mod error;
mod order;
mod recording;
mod subscription;
mod turns;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use ktx_llm_runtime::{Message, MessageRole};
use ktx_project_store::Failpoints;
use ktx_session_log::{Inbox, Record, SessionId, SessionLog};
use serde_json::Value;
use tokio::sync::{broadcast, watch};

use crate::agent::Agent;
use crate::event::{
    Breakpoint, Call, CallState, Decision, DecisionRecord, Effect, Event, Origin, Phase, Severity,
};
use crate::history::History;
use order::EndOrder;

pub(crate) use between::Sending;
pub use error::SessionError;
pub use subscription::{Channels, Subscription, envelope};

const EXPIRY: &str = "the expiry of its approval";

pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

pub type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) clock: Clock,
    pub(crate) redact: Option<Redact>,
    pub(crate) failpoints: Failpoints,
}

/// An open session. Its log has every event before anything depends on it.
pub struct Session {
    id: SessionId,
    log: SessionLog,
    inbox: Inbox,
    surroundings: Surroundings,
    history: Mutex<History>,
    ends: Mutex<EndOrder>,
    /// Calls that wait for a decision on a sub-agent's call.
    elsewhere: Mutex<BTreeSet<String>>,
    sealed: Vec<Call>,
    written: watch::Sender<u64>,
    /// `None` before the first subscriber.
    heard: Mutex<Option<broadcast::Sender<Arc<Record>>>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn over(
        id: SessionId,
        log: SessionLog,
        inbox: Inbox,
        surroundings: Surroundings,
        history: History,
    ) -> Self {
        let (written, _) = watch::channel(log.last());
        Self {
            id,
            log,
            inbox,
            surroundings,
            history: Mutex::new(history),
            ends: Mutex::default(),
            elsewhere: Mutex::default(),
            sealed: Vec::new(),
            written,
            heard: Mutex::default(),
        }
    }

    pub(crate) fn with_sealed(mut self, sealed: Vec<Call>) -> Self {
        self.sealed = sealed;
        self
    }

    pub const fn id(&self) -> &SessionId {
        &self.id
    }

    pub fn sealed(&self) -> &[Call] {
        &self.sealed
    }

    pub fn history(&self) -> History {
        self.lock().clone()
    }

    pub(crate) fn look<T>(&self, at: impl FnOnce(&History) -> T) -> T {
        at(&self.lock())
    }

    pub fn messages(&self) -> Vec<Message> {
        self.lock().messages()
    }

    pub fn last(&self) -> u64 {
        self.log.last()
    }

    /// Follows channels after the record `since` until the session ends. Fails if `since` is after
    /// the last record.
    pub fn subscribe(&self, channels: Channels, since: u64) -> Result<Subscription, SessionError> {
        Subscription::open(self, channels, since)
    }

    pub(crate) const fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    pub(crate) const fn log(&self) -> &SessionLog {
        &self.log
    }

    pub(crate) fn say(&self, message: Message, origin: Origin) -> Result<(), SessionError> {
        self.record(&Event::Message {
            message,
            origin,
            room: None,
            interrupted: false,
        })
    }

    /// Records the model's text up to the interruption (KODE-57).
    pub(crate) fn say_interrupted(&self, text: &str) -> Result<(), SessionError> {
        self.record(&Event::Message {
            message: Message::text(MessageRole::Assistant, text),
            origin: Origin::Model,
            room: None,
            interrupted: true,
        })
    }

    /// Records a stage before its work begins (KODE-51).
    pub(crate) fn reach(&self, current: Breakpoint) -> Result<(), SessionError> {
        let previous = self.lock().breakpoint();
        if previous == current {
            return Ok(());
        }
        let failpoints = &self.surroundings.failpoints;
        failpoints.reached(&format!("before-{}", current.failpoint()));
        self.record(&Event::BreakpointChanged { previous, current })?;
        failpoints.reached(current.failpoint());
        Ok(())
    }

    pub(crate) fn complain(
        &self,
        severity: Severity,
        phase: Phase,
        message: &str,
    ) -> Result<(), SessionError> {
        self.record(&Event::Error {
            severity,
            phase,
            message: message.to_owned(),
        })
    }

    /// Records a new call.
    pub(crate) fn begin_call(
        &self,
        name: &str,
        effect: Effect,
        input: Value,
        tool_use: &str,
    ) -> Result<Call, SessionError> {
        let call = {
            let mut history = self.lock();
            let call = Call {
                id: format!("call-{}", history.call_count() + 1),
                tool_use: tool_use.to_owned(),
                name: name.to_owned(),
                state: CallState::Pending,
                effect,
                input,
                result: None,
                duration_ms: None,
                rows: None,
                preview: None,
                expires: None,
            };
            // Calls of the same moment must get different ids.
            history.take(0, &Event::Call(call.clone()));
            self.order().begin(&call.id);
            call
        };
        self.record(&Event::Call(call.clone()))?;
        self.record(&Event::ToolStart { call: call.view() })?;
        Ok(call)
    }

    pub(crate) fn record_call(&self, call: &Call) -> Result<(), SessionError> {
        self.record(&Event::Call(call.clone()))
    }

    /// Records a result; its end is published in call order (KODE-60).
    pub(crate) fn end_call(&self, call: &Call) -> Result<(), SessionError> {
        let kept = self.record_call(call);
        let ready = self.order().end(call.clone());
        self.tell_ends(&ready)?;
        kept
    }

    /// Also publishes ends after a call without a decision.
    pub(crate) fn tell_waiting_ends(&self) -> Result<(), SessionError> {
        let ready = self.order().drain();
        self.tell_ends(&ready)
    }

    fn tell_ends(&self, calls: &[Call]) -> Result<(), SessionError> {
        let mut told = Ok(());
        for call in calls {
            let view = call.view();
            if view.is_error == Some(true) {
                told = told.and(self.record(&Event::ToolError {
                    call: view.clone(),
                    error: view.result_preview.clone().unwrap_or_default(),
                }));
            }
            told = told.and(self.record(&Event::ToolEnd { call: view.clone() }));
            let approval = self.lock().decision(&call.id).cloned();
            told = told.and(self.record(&Event::ToolExecuted {
                call: view,
                approval,
            }));
        }
        told
    }

    /// Decides a waiting call (KODE-41, KODE-62). The decision is on disk when this returns.
    pub fn decide(&self, record: DecisionRecord) -> Result<(), SessionError> {
        self.expire()?;
        self.rule(record)
    }

    /// Denies expired calls.
    pub fn expire(&self) -> Result<(), SessionError> {
        let now = self.now();
        let waiting = self.lock().waiting_calls();
        for call in waiting {
            if call.has_expired(now) {
                self.rule(DecisionRecord {
                    call_id: call.id,
                    decision: Decision::Deny,
                    decided_by: EXPIRY.to_owned(),
                    note: Some("the approval expired".to_owned()),
                    session: None,
                })?;
            }
        }
        Ok(())
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.surroundings.clock)()
    }

    fn rule(&self, record: DecisionRecord) -> Result<(), SessionError> {
        let mut call = self.lock().check_decision(&self.id, &record)?;
        let decision = record.decision;
        let note = record.note.clone();
        self.record(&Event::PermissionDecided(record))?;
        match decision {
            Decision::Allow => {
                call.state = CallState::Approved;
                self.record_call(&call)
            }
            Decision::Deny => {
                call.state = CallState::Denied;
                call.result = Some(denied(note.as_deref()));
                self.end_call(&call)
            }
        }
    }

    pub(crate) fn close_step(&self) -> Result<(), SessionError> {
        let cut = self.lock().cut_step();
        cut.map_or(Ok(()), |message| self.say(message, Origin::Tools))
    }

    /// KODE-57.
    pub(crate) fn cancel_waiting(&self) -> Result<(), SessionError> {
        let open: Vec<Call> = self.lock().open_calls().cloned().collect();
        for mut call in open {
            call.state = CallState::Failed;
            call.result = Some("the call was cancelled".to_owned());
            self.end_call(&call)?;
        }
        Ok(())
    }

    pub fn rename(&self, name: &str) -> Result<(), SessionError> {
        self.record(&Event::Renamed {
            name: name.to_owned(),
        })
    }

    /// Names the last fork point and returns its record.
    pub fn name_point(&self, label: &str) -> Result<u64, SessionError> {
        let seq = self.lock().fork_points().last().copied();
        let seq = seq.ok_or(SessionError::NoForkPoint {
            at: 0,
            before: None,
            after: None,
        })?;
        self.record(&Event::Snapshot {
            label: label.to_owned(),
            seq,
        })?;
        Ok(seq)
    }

    pub fn adopt(&self, agent: &Agent) -> Result<(), SessionError> {
        let not_json = |source| self.not_an_event(source);
        self.record(&Event::AgentAdopted {
            agent_digest: agent.digest().map_err(not_json)?,
            agent_snapshot: agent.snapshot().map_err(not_json)?,
        })
    }

    fn lock(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self) -> MutexGuard<'_, EndOrder> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn denied(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("denied: {reason}"),
        None => "denied".to_owned(),
    }
}
