//! A conversation that outlives its process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use ktx_llm_runtime::{Message, MessageRole};
use ktx_project_store::Holder;
use ktx_session_log::{
    Channel, Durability, Entry, FORMAT, LogError, SessionId, SessionLog, SessionStore,
};
use serde_json::Value;

use crate::event::{Call, CallState, Effect, Event, Parent, TurnEnd};
use crate::history::History;

const NOT_BEGUN: &str = "the call was not begun; call it again if it is still needed";
const READING: &str = "the call was interrupted; it only reads, call it again if needed";
const UNKNOWN: &str =
    "the call was interrupted; whether it had an effect is not known; look before you repeat it";

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Why a session cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Its log cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A record has the type of an event and not its fields.
    #[error("record {seq} of the session `{session}` cannot be understood")]
    Event {
        session: SessionId,
        /// The record.
        seq: u64,
        #[source]
        source: serde_json::Error,
    },
    /// The conversation is not complete at the record.
    #[error("a copy cannot begin behind record {at}{}", nearest(.before.as_ref(), .after.as_ref()))]
    NoForkPoint {
        at: u64,
        /// The last fork point before it.
        before: Option<u64>,
        /// The first fork point after it.
        after: Option<u64>,
    },
}

fn nearest(before: Option<&u64>, after: Option<&u64>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => format!("; it can behind {before} and {after}"),
        (Some(one), None) | (None, Some(one)) => format!("; it can behind {one}"),
        (None, None) => "; the conversation is empty".to_owned(),
    }
}

/// An open session. Everything that happens in it is in its log before anything depends on it.
pub struct Session {
    id: SessionId,
    log: SessionLog,
    clock: Clock,
    history: Mutex<History>,
    sealed: Vec<Call>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Begins a session with the agent of this name.
    ///
    /// # Errors
    /// [`SessionError::Log`].
    pub fn create(
        store: &SessionStore,
        id: SessionId,
        holder: &Holder,
        clock: Clock,
        agent: &str,
    ) -> Result<Self, SessionError> {
        Self::begin(store.create(&id, holder)?, id, clock, agent, None)
    }

    fn begin(
        log: SessionLog,
        id: SessionId,
        clock: Clock,
        agent: &str,
        parent: Option<Parent>,
    ) -> Result<Self, SessionError> {
        let opened = Event::SessionOpened {
            format: FORMAT,
            session: id.clone(),
            agent: agent.to_owned(),
            parent,
        };
        let session = Self {
            id,
            log,
            clock,
            history: Mutex::default(),
            sealed: Vec::new(),
        };
        session.record(Channel::State, &opened, Durability::Synced)?;
        Ok(session)
    }

    /// Goes on with a session. Calls that were open when its process died are sealed: none of them is begun again, and
    /// the model learns which effects are unknown (KODE-52, KODE-53).
    ///
    /// # Errors
    /// [`SessionError::Log`], [`SessionError::Event`].
    pub fn resume(
        store: &SessionStore,
        id: SessionId,
        holder: &Holder,
        clock: Clock,
    ) -> Result<Self, SessionError> {
        let mut history = History::default();
        let mut wrong = None;
        let log = store.open(&id, holder, |record| {
            if let Err(source) = history.take_record(&record) {
                wrong.get_or_insert((record.seq, source));
            }
        })?;
        if let Some((seq, source)) = wrong {
            return Err(SessionError::Event {
                session: id,
                seq,
                source,
            });
        }
        let sealed: Vec<Call> = history.open_calls().map(seal).collect();
        let session = Self {
            id,
            log,
            clock,
            history: Mutex::new(history),
            sealed,
        };
        let resumed = Event::AgentResumed {
            sealed: session.sealed.iter().map(|call| call.id.clone()).collect(),
        };
        session.record(Channel::Monitor, &resumed, Durability::Written)?;
        for call in &session.sealed {
            session.record_call(call)?;
        }
        session.log.flush()?;
        Ok(session)
    }

    /// Starts a session as a copy of another one up to the record `at`. The other one may be deleted afterwards.
    ///
    /// # Errors
    /// [`SessionError::NoForkPoint`] with the nearest ones, [`SessionError::Log`], [`SessionError::Event`].
    pub fn fork(
        store: &SessionStore,
        parent: Parent,
        id: SessionId,
        holder: &Holder,
        clock: Clock,
    ) -> Result<Self, SessionError> {
        let records = store.read(&parent.session)?.read_all()?;
        let mut history = History::default();
        let mut agent = String::new();
        let mut kept = Vec::new();
        for record in &records {
            let event = serde_json::from_value(Value::Object(record.event.clone()));
            let event: Event = event.map_err(|source| SessionError::Event {
                session: parent.session.clone(),
                seq: record.seq,
                source,
            })?;
            history.take(record.seq, &event);
            match event {
                Event::SessionOpened { agent: name, .. } => agent = name,
                Event::Message { .. } | Event::Call(_) if record.seq <= parent.seq => {
                    kept.push(event);
                }
                _ => {}
            }
        }
        let points = history.fork_points();
        if !points.contains(&parent.seq) {
            return Err(SessionError::NoForkPoint {
                at: parent.seq,
                before: points.iter().rfind(|point| **point < parent.seq).copied(),
                after: points.iter().find(|point| **point > parent.seq).copied(),
            });
        }
        let session = Self::begin(store.create(&id, holder)?, id, clock, &agent, Some(parent))?;
        for event in &kept {
            session.record(Channel::State, event, Durability::Written)?;
        }
        session.log.flush()?;
        Ok(session)
    }

    /// Returns the session's id.
    pub const fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the calls that were sealed when the session was resumed.
    pub fn sealed(&self) -> &[Call] {
        &self.sealed
    }

    /// Returns the conversation so far.
    pub fn messages(&self) -> Vec<Message> {
        self.history().messages()
    }

    /// Begins a turn with a question. When this returns, the question is on the disk.
    ///
    /// # Errors
    /// [`SessionError::Log`].
    pub fn begin_turn(&self, text: &str) -> Result<(), SessionError> {
        self.say(MessageRole::User, text)
    }

    /// Ends the turn with what the model said, if anything.
    ///
    /// # Errors
    /// [`SessionError::Log`].
    pub fn end_turn(&self, said: &str, reason: TurnEnd) -> Result<(), SessionError> {
        if !said.is_empty() {
            self.say(MessageRole::Assistant, said)?;
        }
        let done = Event::Done { reason };
        self.record(Channel::Progress, &done, Durability::Synced)
    }

    fn say(&self, role: MessageRole, text: &str) -> Result<(), SessionError> {
        let message = Message::text(role, text);
        let event = Event::Message { message };
        self.record(Channel::State, &event, Durability::Synced)
    }

    /// Gives a wanted call its id and its first record.
    pub(crate) fn begin_call(
        &self,
        name: &str,
        effect: Effect,
        input: Value,
    ) -> Result<Call, SessionError> {
        let call = {
            let mut history = self.history();
            let call = Call {
                id: format!("call-{}", history.call_count() + 1),
                name: name.to_owned(),
                state: CallState::Pending,
                effect,
                input,
                result: None,
            };
            // Two calls of one moment must not get one id.
            history.take(0, &Event::Call(call.clone()));
            call
        };
        self.record_call(&call)?;
        Ok(call)
    }

    /// Records a call's state. That a tool which may write begins, and its result, are on the disk when this returns.
    pub(crate) fn record_call(&self, call: &Call) -> Result<(), SessionError> {
        let durability = match (call.effect, call.state) {
            (Effect::Writes, state) if state != CallState::Pending => Durability::Synced,
            _ => Durability::Written,
        };
        self.record(Channel::State, &Event::Call(call.clone()), durability)
    }

    fn record(
        &self,
        channel: Channel,
        event: &Event,
        durability: Durability,
    ) -> Result<(), SessionError> {
        let not_an_object = |source| SessionError::Event {
            session: self.id.clone(),
            seq: self.log.last() + 1,
            source,
        };
        let value = serde_json::to_value(event).map_err(not_an_object)?;
        let event_map = serde_json::from_value(value).map_err(not_an_object)?;
        let turn = match (event, self.history().turn()) {
            (Event::Message { message }, turn) if message.role == MessageRole::User => turn + 1,
            (_, turn) => turn,
        };
        let entry = Entry {
            at: (self.clock)(),
            channel,
            turn: (turn > 0).then_some(turn),
            step: None,
            event: event_map,
        };
        let seq = self.log.append(entry, durability)?;
        self.history().take(seq, event);
        Ok(())
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes an interrupted call.
fn seal(call: &Call) -> Call {
    let told = match (call.state, call.effect) {
        (CallState::Executing, Effect::Reads) => READING,
        (CallState::Executing, Effect::Writes) => UNKNOWN,
        _ => NOT_BEGUN,
    };
    Call {
        state: CallState::Sealed,
        result: Some(told.to_owned()),
        ..call.clone()
    }
}
