//! Questions that are asked at certain times (KODE-66): what is due, what was missed, and a session for each firing.
//!
//! The log of firings is the lock of the planner, too: two processes never plan at the same time, and a firing is the
//! session of its name, which only one of them can make.

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

/// Characters of the agent's and the entry's name in the id of a session.
const LONGEST_NAME: usize = 43;

/// How far in the future the last decided moment may lie. The clock was wrong if it is later: then the entry counts from
/// now on, because otherwise it would stay silent until then. No moment fires twice, since the journal keeps each.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);

/// The name of the lock of the process that asks what is due.
const TICKER: &str = "ticker";

/// What made a session begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TriggerKind {
    /// A number of steps.
    Steps,
    /// A number of minutes.
    Time,
    /// The fields of cron.
    Cron,
}

/// What happens to calls that need a decision when no one is there.
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

/// The event that begins a scheduled session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// The agent and the entry of its schedule.
    pub task_id: String,
    /// When the entry runs.
    pub spec: String,
    pub kind: TriggerKind,
    /// The moment of this firing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_ask: Option<Unattended>,
    /// Steps of a turn, if the entry limits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// What the entry limits besides.
    #[serde(default, skip_serializing_if = "Spending::is_unlimited")]
    pub limits: Spending,
}

impl Trigger {
    /// Lowers the limits of the agent to those of the entry.
    pub(crate) fn limit(&self, agent: &mut Agent) {
        if let Some(most) = self.max_turns {
            agent.max_turns = agent.max_turns.min(most);
        }
        agent.spending = agent.spending.lower(self.limits);
    }
}

/// An entry of an agent's schedule, with the moments that its timetable names.
pub struct Scheduled<'a> {
    /// The agent as it is now.
    pub agent: &'a Agent,
    /// The name of the agent's file.
    pub file: &'a str,
    /// The entry's name.
    pub name: &'a str,
    /// The question.
    pub message: &'a str,
    pub trigger: Trigger,
    pub catch_up: CatchUp,
    /// Returns the moments after the first and not after the second one, oldest first.
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

/// One question whose time has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// The name of the agent's file.
    pub agent: String,
    /// The entry's name.
    pub name: String,
    pub scheduled: Timestamp,
    pub session: SessionId,
}

/// What a look at the clock has found.
#[derive(Debug, Default)]
pub struct Tick {
    /// Sessions with a question that waits for its answer, in the order of their times; those that a killed process
    /// has left come first.
    pub fired: Vec<Firing>,
    pub skipped: Vec<Skipped>,
}

/// The right to ask what is due.
#[derive(Debug)]
pub struct Alone {
    _lock: SessionLog,
}

/// The log of all firings of a project.
#[derive(Debug)]
pub struct Scheduler {
    sessions: Sessions,
    /// The folder that the log is in.
    store: SessionStore,
}

impl Scheduler {
    /// A scheduler of these sessions; `store` holds the log of firings.
    pub const fn new(sessions: Sessions, store: SessionStore) -> Self {
        Self { sessions, store }
    }

    /// Becomes the only process that asks what is due; none if another one does. As long as the result lives, a session
    /// without an end that no process has open was left by a process that died.
    ///
    /// # Errors
    /// Failures of files.
    pub fn alone(&self) -> Result<Option<Alone>, SessionError> {
        let id = SessionId::parse(TICKER).map_err(LogError::from)?;
        match self.store.create(&id, self.sessions.holder()) {
            Ok(log) => Ok(Some(Alone { _lock: log })),
            Err(LogError::Busy { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a session for each entry that is due now, and records what was missed. An entry that is seen for the first
    /// time counts from now on.
    ///
    /// # Errors
    /// [`LogError::Busy`] if another process plans, and other failures of logs.
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
            // The clock may have been set to a time before them.
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

    /// Returns the state of all entries. Needs no lock.
    ///
    /// # Errors
    /// Failures of logs.
    pub fn journal(&self) -> Result<Vec<JournalEntry>, SessionError> {
        Journal::read(&self.store)
    }

    /// How the session of a firing stands.
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
            // It was removed.
            return LastRun {
                span: plan::Span {
                    began,
                    ended: Some(began),
                },
                is_left: false,
            };
        };
        let history = &report.history;
        // A parked turn waits for a person, not for its time.
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

    /// Makes the session of a firing. One that a killed process has made without its question gets it now.
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

    /// Opens a session that has no question yet.
    fn empty(&self, id: &SessionId) -> Result<Option<Session>, SessionError> {
        let session = self.sessions.touch(id.clone())?;
        let history = session.history();
        let is_empty = history.turn() == 0 && history.queued().is_empty();
        Ok(is_empty.then_some(session))
    }
}

/// The last firing of an entry.
struct LastRun {
    span: plan::Span,
    /// Whether it has no end, and no process works on it.
    is_left: bool,
}

/// The id of the session of a firing, the same in every process.
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
