//! Scheduled questions (KODE-66): due and missed ones, and a session for each firing.
//!
//! The log of firings also locks the planner. Only one process can create a firing's session,
//! because its name is fixed.

mod journal;
mod plan;

use jiff::{SignedDuration, Timestamp};
use ktx_session_log::{LogError, SessionId, SessionLog, SessionStore};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::agent::{Agent, Spending};
use crate::approvals::OnAsk;
use crate::session::{Session, SessionError};
use crate::sessions::Sessions;
use journal::Journal;

pub use journal::{Entry as JournalEntry, LastFiring};
pub use plan::{CatchUp, ON_TIME, Skipped, WhySkipped};

/// Maximum characters of the agent's and the entry's name in a session id.
const LONGEST_NAME: usize = 43;

/// If the last decided moment is further ahead, the clock was wrong. The entry then counts from now
/// on, because it would stay silent until then. No moment fires twice, since the journal has each.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);

const TICKER: &str = "ticker";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TriggerKind {
    Steps,
    Time,
    Cron,
}

/// What happens to calls that need a decision in an unattended session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unattended {
    Park,
    Deny,
    Fail,
}

impl From<Unattended> for OnAsk {
    fn from(chosen: Unattended) -> Self {
        match chosen {
            Unattended::Park => Self::Park,
            Unattended::Deny => Self::Deny,
            Unattended::Fail => Self::Fail,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// Agent and entry.
    pub task_id: String,
    pub spec: String,
    pub kind: TriggerKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_ask: Option<Unattended>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    #[serde(default, skip_serializing_if = "Spending::is_unlimited")]
    pub limits: Spending,
}

impl Trigger {
    pub(crate) fn limit(&self, agent: &mut Agent) {
        if let Some(most) = self.max_turns {
            agent.max_turns = agent.max_turns.min(most);
        }
        agent.spending = agent.spending.lower(self.limits);
    }
}

/// A schedule entry with its timetable.
pub struct Scheduled<'a> {
    pub agent: &'a Agent,
    pub file: &'a str,
    pub name: &'a str,
    pub message: &'a str,
    pub trigger: Trigger,
    pub catch_up: CatchUp,
    /// Returns the moments after the first and up to the second argument, oldest first.
    pub firings: &'a (dyn Fn(Timestamp, Timestamp) -> Vec<Timestamp> + Send + Sync),
}

impl std::fmt::Debug for Scheduled<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduled")
            .field("file", &self.file)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    pub agent: String,
    pub name: String,
    pub scheduled: Timestamp,
    pub session: SessionId,
}

#[derive(Debug, Default)]
pub struct Tick {
    /// Sessions with an open question, by time; those of a killed process come first.
    pub fired: Vec<Firing>,
    pub skipped: Vec<Skipped>,
}

/// The scheduler lock.
#[derive(Debug)]
pub struct Alone {
    _lock: SessionLog,
}

#[derive(Debug)]
pub struct Scheduler {
    sessions: Sessions,
    store: SessionStore,
}

impl Scheduler {
    pub const fn new(sessions: Sessions, store: SessionStore) -> Self {
        Self { sessions, store }
    }

    /// Takes the lock; `None` if another process has it. While it is held, an unfinished session
    /// that no process has open belonged to a process that died.
    pub fn alone(&self) -> Result<Option<Alone>, SessionError> {
        let id = SessionId::parse(TICKER).map_err(LogError::from)?;
        match self.store.create(&id, self.sessions.holder()) {
            Ok(log) => Ok(Some(Alone { _lock: log })),
            Err(LogError::Busy { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates sessions for due entries and records missed firings. A new entry counts from now on.
    pub fn tick(&self, entries: &[Scheduled<'_>], now: Timestamp) -> Result<Tick, SessionError> {
        let mut journal = Journal::open(&self.store, self.sessions.holder())?;
        let mut tick = Tick::default();
        for entry in entries {
            let Some(known) = journal.entry(entry.file, entry.name).cloned() else {
                journal.seen(entry.file, entry.name, now)?;
                continue;
            };
            if known.until.duration_since(now) > AHEAD {
                journal.seen(entry.file, entry.name, now)?;
                continue;
            }
            let last = known.last.as_ref().map(|last| self.run_of(last));
            if let Some(last) = &last
                && last.is_left
                && let Some(firing) = &known.last
            {
                tick.fired.push(Firing {
                    agent: entry.file.to_owned(),
                    name: entry.name.to_owned(),
                    scheduled: firing.scheduled,
                    session: firing.session.clone(),
                });
            }
            let mut moments = (entry.firings)(known.until, now);
            // The clock may have been set back.
            moments.retain(|moment| !known.has_fired(*moment));
            let span = last.map(|last| last.span);
            let planned = plan::plan(&moments, now, span, entry.catch_up);
            for (why, moments) in planned.skipped {
                let skipped = Skipped::of(entry.file, entry.name, why, &moments);
                if let Some(skipped) = skipped {
                    journal.skipped(&skipped, now)?;
                    tick.skipped.push(skipped);
                }
            }
            if let Some(moment) = planned.due {
                let firing = self.fire(entry, moment)?;
                journal.fired(&firing, now)?;
                tick.fired.push(firing);
            }
        }
        tick.fired.sort_by_key(|firing| firing.scheduled);
        Ok(tick)
    }

    /// Reads the state of all entries without a lock.
    pub fn journal(&self) -> Result<Vec<JournalEntry>, SessionError> {
        Journal::read(&self.store)
    }

    fn run_of(&self, last: &LastFiring) -> LastRun {
        let began = last.scheduled;
        let still = LastRun {
            span: plan::Span { began, ended: None },
            is_left: false,
        };
        if self.sessions.store().is_open(&last.session) {
            return still;
        }
        let Ok(report) = self.sessions.read(&last.session) else {
            // The session was removed.
            return LastRun {
                span: plan::Span {
                    began,
                    ended: Some(began),
                },
                is_left: false,
            };
        };
        let history = &report.history;
        // A parked turn waits for a person.
        let is_left = history.is_left() && (history.turn() > 0 || !history.queued().is_empty());
        if is_left {
            return LastRun {
                is_left: true,
                ..still
            };
        }
        let ended = report.records.last().map_or(began, |record| record.ts);
        LastRun {
            span: plan::Span {
                began,
                ended: Some(ended),
            },
            is_left: false,
        }
    }

    /// Creates a firing's session, or adds the question that a killed process did not write.
    fn fire(&self, entry: &Scheduled<'_>, moment: Timestamp) -> Result<Firing, SessionError> {
        let id = session_id(entry.file, entry.name, moment)?;
        let session = match self.sessions.create(&id, entry.agent) {
            Ok(session) => Some(session),
            Err(SessionError::Log(LogError::Exists { .. })) => self.empty(&id)?,
            Err(error) => return Err(error),
        };
        if let Some(session) = session {
            session.begin_by(Trigger {
                scheduled: Some(moment),
                ..entry.trigger.clone()
            })?;
            session.queue(entry.message)?;
        }
        Ok(Firing {
            agent: entry.file.to_owned(),
            name: entry.name.to_owned(),
            scheduled: moment,
            session: id,
        })
    }

    fn empty(&self, id: &SessionId) -> Result<Option<Session>, SessionError> {
        let session = self.sessions.touch(id.clone())?;
        let history = session.history();
        let is_empty = history.turn() == 0 && history.queued().is_empty();
        Ok(is_empty.then_some(session))
    }
}

struct LastRun {
    span: plan::Span,
    /// True if it is unfinished and no process runs it.
    is_left: bool,
}

fn session_id(agent: &str, name: &str, moment: Timestamp) -> Result<SessionId, LogError> {
    let named = format!("{}-{name}", agent.to_ascii_lowercase());
    let named = if named.len() > LONGEST_NAME {
        let [a, b, c, ..]: [u8; 32] = Sha256::digest(named.as_bytes()).into();
        let mark = format!("{a:02x}{b:02x}{c:02x}");
        let beginning = named.get(..LONGEST_NAME - mark.len()).unwrap_or_default();
        format!("{beginning}{mark}")
    } else {
        named
    };
    let at = moment.strftime("%Y%m%dt%H%M");
    Ok(SessionId::parse(&format!("sched-{named}-{at}"))?)
}
