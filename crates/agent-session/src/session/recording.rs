//! Writes the events of a session to its log and hands them to subscribers.

use jiff::Timestamp;
use ktx_session_log::{Durability, Entry};
use serde::ser::Error as _;
use serde_json::{Map, Value};

use super::{Redact, Session, SessionError};
use crate::event::{CallState, Effect, Event, Origin};

/// A record's number and time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bookmark {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
}

impl Session {
    pub(crate) fn record(&self, event: &Event) -> Result<(), SessionError> {
        self.record_all(std::slice::from_ref(event))
    }

    /// Records events with one write.
    pub(crate) fn record_all(&self, events: &[Event]) -> Result<(), SessionError> {
        self.record_at(events).map(|_| ())
    }

    /// Returns the place of the last event.
    pub(super) fn record_at(&self, events: &[Event]) -> Result<Bookmark, SessionError> {
        let at = self.now();
        let entries = self.entries(events, at)?;
        let durability = events.iter().map(durability).max();
        let mut taken = Vec::with_capacity(events.len());
        let durability = durability.unwrap_or(Durability::Written);
        let appended = self.log.append_all(entries, durability, &mut taken);
        let seq = taken
            .last()
            .map_or_else(|| self.log.last(), |last| last.seq);
        let mut history = self.lock();
        for (record, event) in taken.iter().zip(events) {
            history.take(record.seq, event);
        }
        drop(history);
        // Subscribers read records that wait for disk space from the file (KODE-46).
        if appended.is_ok() {
            self.tell_subscribers(taken);
        }
        // Concurrent records can arrive in either order.
        self.written.send_modify(|last| *last = seq.max(*last));
        appended?;
        Ok(Bookmark { seq, at })
    }

    fn entries(&self, events: &[Event], at: Timestamp) -> Result<Vec<Entry>, SessionError> {
        let (mut turn, step) = self.look(|history| (history.turn(), history.step()));
        let mut entries = Vec::with_capacity(events.len());
        for event in events {
            turn += u32::from(begins_turn(event));
            entries.push(Entry {
                at,
                channel: event.channel(),
                turn: (turn > 0).then_some(turn),
                step: (step > 0).then_some(step),
                event: self.fields(event)?,
            });
        }
        Ok(entries)
    }

    fn fields(&self, event: &Event) -> Result<Map<String, Value>, SessionError> {
        let value = serde_json::to_value(event).map_err(|source| self.not_an_event(source))?;
        let value = match &self.surroundings.redact {
            Some(redact) => redacted(value, redact),
            None => value,
        };
        match value {
            Value::Object(fields) => Ok(fields),
            _ => Err(self.not_an_event(serde_json::Error::custom("an event is an object"))),
        }
    }

    pub(super) fn not_an_event(&self, source: serde_json::Error) -> SessionError {
        SessionError::Event {
            session: self.id.clone(),
            seq: self.log.last() + 1,
            source,
        }
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

/// Questions, answers, decisions and starts of writing calls must be on disk before anything
/// depends on them. Other events survive the process, but not the machine.
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
