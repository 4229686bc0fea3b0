//! The log of fired and skipped moments.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use ktx_project_store::Holder;
use ktx_session_log::{
    Channel, Durability, Entry as LogEntry, FORMAT, LogError, Record, SessionId, SessionLog,
    SessionStore,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Firing;
use super::plan::{Skipped, WhySkipped};
use crate::session::SessionError;

const NAME: &str = "schedules";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastFiring {
    pub scheduled: Timestamp,
    pub session: SessionId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub agent: String,
    pub name: String,
    /// Every moment up to here is decided.
    pub until: Timestamp,
    pub last: Option<LastFiring>,
    pub skipped: usize,
    fired: BTreeSet<Timestamp>,
}

impl Entry {
    pub(super) fn has_fired(&self, moment: Timestamp) -> bool {
        self.fired.contains(&moment)
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    SessionOpened {
        format: u64,
        session: String,
    },
    ScheduleSeen {
        agent: String,
        name: String,
        until: Timestamp,
    },
    ScheduleFired {
        agent: String,
        name: String,
        scheduled: Timestamp,
        session: SessionId,
    },
    ScheduleSkipped {
        agent: String,
        name: String,
        reason: WhySkipped,
        first: Timestamp,
        last: Timestamp,
        count: usize,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Default)]
struct Firings(BTreeMap<(String, String), Entry>);

pub(super) struct Journal {
    log: SessionLog,
    firings: Firings,
}

impl Journal {
    pub(super) fn open(store: &SessionStore, holder: &Holder) -> Result<Self, SessionError> {
        let id = id()?;
        let mut firings = Firings::default();
        let log = match store.create(&id, holder) {
            Ok(log) => {
                let opened = Event::SessionOpened {
                    format: FORMAT,
                    session: NAME.to_owned(),
                };
                append(&log, &opened, holder.since.unwrap_or_default())?;
                log
            }
            Err(LogError::Exists { .. }) => {
                store.open(&id, holder, |record| firings.take(&record))?
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Self { log, firings })
    }

    pub(super) fn read(store: &SessionStore) -> Result<Vec<Entry>, SessionError> {
        let mut firings = Firings::default();
        match store.read(&id()?) {
            Ok(mut reader) => {
                while let Some(record) = reader.next_record()? {
                    firings.take(&record);
                }
            }
            Err(LogError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(firings.0.into_values().collect())
    }

    pub(super) fn entry(&self, agent: &str, name: &str) -> Option<&Entry> {
        self.firings.0.get(&(agent.to_owned(), name.to_owned()))
    }

    pub(super) fn seen(
        &self,
        agent: &str,
        name: &str,
        until: Timestamp,
    ) -> Result<(), SessionError> {
        let seen = Event::ScheduleSeen {
            agent: agent.to_owned(),
            name: name.to_owned(),
            until,
        };
        append(&self.log, &seen, until)
    }

    pub(super) fn fired(&mut self, firing: &Firing, now: Timestamp) -> Result<(), SessionError> {
        let fired = Event::ScheduleFired {
            agent: firing.agent.clone(),
            name: firing.name.clone(),
            scheduled: firing.scheduled,
            session: firing.session.clone(),
        };
        append(&self.log, &fired, now)
    }

    pub(super) fn skipped(
        &mut self,
        skipped: &Skipped,
        now: Timestamp,
    ) -> Result<(), SessionError> {
        let skipped = Event::ScheduleSkipped {
            agent: skipped.agent.clone(),
            name: skipped.name.clone(),
            reason: skipped.reason,
            first: skipped.first,
            last: skipped.last,
            count: skipped.count,
        };
        append(&self.log, &skipped, now)
    }
}

impl Firings {
    fn take(&mut self, record: &Record) {
        let event = serde_json::from_value(Value::Object(record.event.clone()));
        match event.unwrap_or(Event::Unknown) {
            // Can go back if the clock was wrong.
            Event::ScheduleSeen { agent, name, until } => {
                self.of(agent, name, until).until = until;
            }
            Event::ScheduleFired {
                agent,
                name,
                scheduled,
                session,
            } => {
                let entry = self.of(agent, name, scheduled);
                entry.fired.insert(scheduled);
                entry.last = Some(LastFiring { scheduled, session });
            }
            Event::ScheduleSkipped {
                agent,
                name,
                last,
                count,
                ..
            } => self.of(agent, name, last).skipped += count,
            Event::SessionOpened { .. } | Event::Unknown => {}
        }
    }

    fn of(&mut self, agent: String, name: String, until: Timestamp) -> &mut Entry {
        let key = (agent.clone(), name.clone());
        let entry = self.0.entry(key).or_insert(Entry {
            agent,
            name,
            until,
            last: None,
            skipped: 0,
            fired: BTreeSet::new(),
        });
        entry.until = entry.until.max(until);
        entry
    }
}

fn id() -> Result<SessionId, LogError> {
    Ok(SessionId::parse(NAME)?)
}

fn append(log: &SessionLog, event: &Event, at: Timestamp) -> Result<(), SessionError> {
    let not_json = |source| -> Result<SessionError, LogError> {
        Ok(SessionError::Event {
            session: id()?,
            seq: log.last() + 1,
            source,
        })
    };
    let fields: Map<String, Value> =
        match serde_json::to_value(event).and_then(serde_json::from_value) {
            Ok(fields) => fields,
            Err(source) => return Err(not_json(source)?),
        };
    let entry = LogEntry {
        at,
        channel: Channel::State,
        turn: None,
        step: None,
        event: fields,
    };
    log.append(entry, Durability::Synced)?;
    Ok(())
}
