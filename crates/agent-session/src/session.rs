//! A conversation that outlives its process.

mod between;
mod elsewhere;
mod error;
mod order;
mod subscription;
mod turns;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use ktx_llm_runtime::{Message, MessageRole};
use ktx_project_store::Failpoints;
use ktx_session_log::{Durability, Entry, Inbox, LogError, Record, SessionId, SessionLog};
use serde::ser::Error as _;
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

/// Who decides about calls that no one has decided about in time.
const EXPIRY: &str = "the expiry of its approval";

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Takes secrets out of a text before it is kept.
pub type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// What a session needs of its surroundings.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) clock: Clock,
    pub(crate) redact: Option<Redact>,
    pub(crate) failpoints: Failpoints,
}

/// An open session. Everything that happens in it is in its log before anything depends on it.
pub struct Session {
    id: SessionId,
    log: SessionLog,
    inbox: Inbox,
    surroundings: Surroundings,
    history: Mutex<History>,
    ends: Mutex<EndOrder>,
    /// Calls that wait for a decision about a call of another agent.
    elsewhere: Mutex<BTreeSet<String>>,
    sealed: Vec<Call>,
    /// The last record, for subscribers.
    written: watch::Sender<u64>,
    /// The records as they are written; none before the first subscriber.
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

    /// Returns the session's id.
    pub const fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the calls that were sealed when the session was resumed.
    pub fn sealed(&self) -> &[Call] {
        &self.sealed
    }

    /// Returns what the records so far amount to.
    pub fn history(&self) -> History {
        self.lock().clone()
    }

    /// Looks at what the records so far amount to, without a copy.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&History) -> T) -> T {
        at(&self.lock())
    }

    /// Returns the conversation so far.
    pub fn messages(&self) -> Vec<Message> {
        self.lock().messages()
    }

    /// Returns the record that was written last.
    pub fn last(&self) -> u64 {
        self.log.last()
    }

    /// Follows the events of some channels after the record `since`: first those in the log, then each as it is
    /// written. The end of the session ends the subscription.
    ///
    /// # Errors
    /// [`SessionError::Log`], and [`SessionError::Bookmark`] after the last record.
    pub fn subscribe(&self, channels: Channels, since: u64) -> Result<Subscription, SessionError> {
        Subscription::open(self, channels, since)
    }

    pub(crate) const fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    pub(crate) const fn log(&self) -> &SessionLog {
        &self.log
    }

    /// Keeps a message of the conversation.
    pub(crate) fn say(&self, message: Message, origin: Origin) -> Result<(), SessionError> {
        self.record(&Event::Message {
            message,
            origin,
            room: None,
            interrupted: false,
        })
    }

    /// Keeps what the model had said when it was stopped (KODE-57).
    pub(crate) fn say_interrupted(&self, text: &str) -> Result<(), SessionError> {
        self.record(&Event::Message {
            message: Message::text(MessageRole::Assistant, text),
            origin: Origin::Model,
            room: None,
            interrupted: true,
        })
    }

    /// Marks a stage of the step before its work begins (KODE-51).
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

    /// Records an error for monitors.
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

    /// Gives a wanted call its id and its first record.
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
                preview: None,
                expires: None,
            };
            // Two calls of one moment must not get one id.
            history.take(0, &Event::Call(call.clone()));
            self.order().begin(&call.id);
            call
        };
        self.record(&Event::Call(call.clone()))?;
        self.record(&Event::ToolStart { call: call.view() })?;
        Ok(call)
    }

    /// Records a call's state.
    pub(crate) fn record_call(&self, call: &Call) -> Result<(), SessionError> {
        self.record(&Event::Call(call.clone()))
    }

    /// Records the result of a call, and tells its end after the ends of the calls before it (KODE-60).
    pub(crate) fn end_call(&self, call: &Call) -> Result<(), SessionError> {
        let kept = self.record_call(call);
        let ready = self.order().end(call.clone());
        self.tell_ends(&ready)?;
        kept
    }

    /// Tells the ends of calls that follow a call without a decision.
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

    /// Decides about a call that waits (KODE-41, KODE-62). The decision is on the disk when this returns.
    ///
    /// # Errors
    /// [`SessionError::NoWaitingCall`], [`SessionError::AlreadyDecided`], [`SessionError::Log`].
    pub fn decide(&self, record: DecisionRecord) -> Result<(), SessionError> {
        self.expire()?;
        self.rule(record)
    }

    /// Denies the calls that have waited too long for a decision.
    ///
    /// # Errors
    /// [`SessionError::Log`].
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

    /// Keeps the results of a step that was cut off, so that the model can be asked to go on.
    pub(crate) fn close_step(&self) -> Result<(), SessionError> {
        let cut = self.lock().cut_step();
        cut.map_or(Ok(()), |message| self.say(message, Origin::Tools))
    }

    /// Closes the calls that still wait for a decision (KODE-57).
    pub(crate) fn cancel_waiting(&self) -> Result<(), SessionError> {
        let open: Vec<Call> = self.lock().open_calls().cloned().collect();
        for mut call in open {
            call.state = CallState::Failed;
            call.result = Some("the call was cancelled".to_owned());
            self.end_call(&call)?;
        }
        Ok(())
    }

    /// Gives the session a name for display.
    ///
    /// # Errors
    /// [`SessionError::Log`].
    pub fn rename(&self, name: &str) -> Result<(), SessionError> {
        self.record(&Event::Renamed {
            name: name.to_owned(),
        })
    }

    /// Names the last point that the session can be forked from, and returns its record.
    ///
    /// # Errors
    /// [`SessionError::NoForkPoint`] if there is none, [`SessionError::Log`].
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

    /// Goes on with another agent from now on.
    ///
    /// # Errors
    /// [`SessionError::Log`].
    pub fn adopt(&self, agent: &Agent) -> Result<(), SessionError> {
        let not_json = |source| self.not_an_event(source);
        self.record(&Event::AgentAdopted {
            agent_digest: agent.digest().map_err(not_json)?,
            agent_snapshot: agent.snapshot().map_err(not_json)?,
        })
    }

    pub(crate) fn record(&self, event: &Event) -> Result<(), SessionError> {
        self.record_at(event).map(|_| ())
    }

    /// Records an event and returns its place and its time.
    fn record_at(&self, event: &Event) -> Result<(u64, Timestamp), SessionError> {
        let durability = durability(event);
        let value = serde_json::to_value(event).map_err(|source| self.not_an_event(source))?;
        let value = match &self.surroundings.redact {
            Some(redact) => redacted(value, redact),
            None => value,
        };
        let Value::Object(fields) = value else {
            let source = serde_json::Error::custom("an event is an object");
            return Err(self.not_an_event(source));
        };
        let mut history = self.lock();
        let turn = history.turn() + u32::from(begins_turn(event));
        let step = history.step();
        drop(history);
        let at = self.now();
        let entry = Entry {
            at,
            channel: event.channel(),
            turn: (turn > 0).then_some(turn),
            step: (step > 0).then_some(step),
            event: fields,
        };
        let appended = self.log.append_record(entry, durability);
        let seq = match &appended {
            Ok(record) => record.seq,
            // It has its place and waits for room (KODE-46).
            Err(LogError::Write { .. }) => self.log.last(),
            Err(_) => return Ok((appended?.seq, at)),
        };
        history = self.lock();
        history.take(seq, event);
        drop(history);
        let kept = appended.map(|record| self.tell_subscribers(record));
        // Two records of one moment may come here in the other order.
        self.written.send_modify(|last| *last = seq.max(*last));
        kept?;
        Ok((seq, at))
    }

    fn not_an_event(&self, source: serde_json::Error) -> SessionError {
        SessionError::Event {
            session: self.id.clone(),
            seq: self.log.last() + 1,
            source,
        }
    }

    fn lock(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self) -> MutexGuard<'_, EndOrder> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of a denied call.
pub(crate) fn denied(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("denied: {reason}"),
        None => "denied".to_owned(),
    }
}

const fn begins_turn(event: &Event) -> bool {
    matches!(
        event,
        Event::Message {
            origin: Origin::User,
            ..
        }
    )
}

/// What must be on the disk before anything depends on it: what was asked and answered, what was decided, and that a
/// call that may write has begun. The rest survives the end of the process, not that of the machine.
fn durability(event: &Event) -> Durability {
    match event {
        Event::SessionOpened { .. }
        | Event::Message {
            origin: Origin::User | Origin::Queued | Origin::Model,
            ..
        }
        | Event::PermissionDecided(_)
        | Event::Queued { .. }
        | Event::StructuredOutput { .. }
        | Event::Done { .. } => Durability::Synced,
        Event::Call(call) => match (call.effect, call.state) {
            (_, CallState::ApprovalRequired | CallState::Approved | CallState::Denied) => {
                Durability::Synced
            }
            (Effect::Writes, state) if state != CallState::Pending => Durability::Synced,
            _ => Durability::Written,
        },
        _ => Durability::Written,
    }
}

fn redacted(value: Value, redact: &Redact) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| redacted(item, redact))
            .collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, redacted(value, redact)))
            .collect(),
        other => other,
    }
}
