//! The sessions of a project: open, continue, copy, read.

use ktx_project_store::{Failpoints, Holder};
use ktx_session_log::{FORMAT, Record, SessionId, SessionLog, SessionStore};
use serde_json::Value;

use crate::agent::Agent;
use crate::event::{Call, CallState, Effect, Event, Parent, Strategy};
use crate::history::{AgentRecord, History, NOT_BEGUN};
use crate::session::{Clock, Redact, Session, SessionError, Surroundings};

const READING: &str = "the call was interrupted; it only reads, call it again if needed";
const UNKNOWN: &str =
    "the call was interrupted; whether it had an effect is not known; look before you repeat it";

/// The point where a copy ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForkPoint {
    At(u64),
    /// After the last answer or question of this turn.
    Turn(u32),
    Label(String),
    Last,
}

/// A session read from its log without opening it.
#[derive(Debug)]
pub struct SessionReport {
    pub id: SessionId,
    pub history: History,
    pub records: Vec<Record>,
}

/// The readable part of a damaged session.
#[derive(Debug)]
pub struct Repaired {
    pub session: Session,
    /// The last copied record.
    pub at: u64,
}

#[derive(Clone)]
pub struct Sessions {
    store: SessionStore,
    holder: Holder,
    surroundings: Surroundings,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl Sessions {
    pub fn new(store: SessionStore, holder: Holder, clock: Clock) -> Self {
        Self {
            store,
            holder,
            surroundings: Surroundings {
                clock,
                redact: None,
                failpoints: Failpoints::none(),
            },
        }
    }

    /// Removes secrets from everything that is stored.
    #[must_use]
    pub fn redacted_by(mut self, redact: Redact) -> Self {
        self.surroundings.redact = Some(redact);
        self
    }

    #[must_use]
    pub fn with_failpoints(mut self, failpoints: Failpoints) -> Self {
        self.surroundings.failpoints = failpoints;
        self
    }

    pub(crate) const fn holder(&self) -> &Holder {
        &self.holder
    }

    pub const fn store(&self) -> &SessionStore {
        &self.store
    }

    pub fn create(&self, id: &SessionId, agent: &Agent) -> Result<Session, SessionError> {
        self.created(id, agent, None)
    }

    pub(crate) fn create_for(
        &self,
        id: &SessionId,
        agent: &Agent,
        parent: Parent,
    ) -> Result<Session, SessionError> {
        self.created(id, agent, Some(parent))
    }

    fn created(
        &self,
        id: &SessionId,
        agent: &Agent,
        parent: Option<Parent>,
    ) -> Result<Session, SessionError> {
        let not_json = |source| SessionError::Event {
            session: id.clone(),
            seq: 1,
            source,
        };
        let agent = AgentRecord {
            name: agent.name.clone(),
            digest: agent.digest().map_err(not_json)?,
            snapshot: agent.snapshot().map_err(not_json)?,
            parent,
        };
        let log = self.store.create(id, &self.holder)?;
        self.begin(log, id, agent)
    }

    fn begin(
        &self,
        log: SessionLog,
        id: &SessionId,
        agent: AgentRecord,
    ) -> Result<Session, SessionError> {
        let opened = Event::SessionOpened {
            format: FORMAT,
            session: id.clone(),
            agent: agent.name,
            agent_digest: agent.digest,
            agent_snapshot: agent.snapshot,
            parent: agent.parent,
        };
        let session = Session::over(
            id.clone(),
            log,
            self.store.inbox(id),
            self.surroundings.clone(),
            History::default(),
        );
        session.record(&opened)?;
        Ok(session)
    }

    /// Continues a session. With [`Strategy::Crash`], calls that were open when its process died
    /// are sealed: none begins again, and the model learns which effects are unknown (KODE-52,
    /// KODE-53). Calls that wait for a decision, or were only allowed, stay open.
    pub fn resume(&self, id: SessionId, strategy: Strategy) -> Result<Session, SessionError> {
        let (session, sealed) = self.reopen(id, strategy)?;
        let resumed = Event::AgentResumed {
            strategy,
            sealed: sealed.iter().map(|call| call.id.clone()).collect(),
        };
        session.record(&resumed)?;
        for call in &sealed {
            session.end_call(call)?;
        }
        session.log().flush()?;
        Ok(session.with_sealed(sealed))
    }

    /// Opens a session only to add a record.
    pub fn touch(&self, id: SessionId) -> Result<Session, SessionError> {
        Ok(self.reopen(id, Strategy::Manual)?.0)
    }

    fn reopen(
        &self,
        id: SessionId,
        strategy: Strategy,
    ) -> Result<(Session, Vec<Call>), SessionError> {
        let mut history = History::default();
        let mut wrong = None;
        let log = self.store.open(&id, &self.holder, |record| {
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
        let sealed = match strategy {
            Strategy::Crash => {
                let cut = history.open_calls();
                cut.filter(|call| !call.state.outlives_process())
                    .map(seal)
                    .collect()
            }
            Strategy::Manual => Vec::new(),
        };
        let session = Session::over(
            id.clone(),
            log,
            self.store.inbox(&id),
            self.surroundings.clone(),
            history,
        );
        Ok((session, sealed))
    }

    pub fn read(&self, id: &SessionId) -> Result<SessionReport, SessionError> {
        let records = self.store.read(id)?.read_all()?;
        let mut history = History::default();
        for record in &records {
            history
                .take_record(record)
                .map_err(|source| SessionError::Event {
                    session: id.clone(),
                    seq: record.seq,
                    source,
                })?;
        }
        Ok(SessionReport {
            id: id.clone(),
            history,
            records,
        })
    }

    pub fn delete(&self, id: &SessionId) -> Result<(), SessionError> {
        Ok(self.store.delete(id, &self.holder)?)
    }

    /// Copies a session, which can be deleted afterwards. An error names the nearest fork points.
    pub fn fork(
        &self,
        parent: &SessionId,
        point: &ForkPoint,
        id: &SessionId,
    ) -> Result<Session, SessionError> {
        let report = self.read(parent)?;
        let at = seq_of(&report, point)?;
        self.copy(&report, at, id)
    }

    /// Copies the readable part of a damaged session.
    pub fn repair(&self, damaged: &SessionId, id: &SessionId) -> Result<Repaired, SessionError> {
        let mut reader = self.store.read(damaged)?;
        let mut report = SessionReport {
            id: damaged.clone(),
            history: History::default(),
            records: Vec::new(),
        };
        while let Ok(Some(record)) = reader.next_record() {
            if report.history.take_record(&record).is_err() {
                break;
            }
            report.records.push(record);
        }
        let at = seq_of(&report, &ForkPoint::Last)?;
        let session = self.copy(&report, at, id)?;
        Ok(Repaired { session, at })
    }

    fn copy(
        &self,
        report: &SessionReport,
        at: u64,
        id: &SessionId,
    ) -> Result<Session, SessionError> {
        let points = report.history.fork_points();
        if !points.contains(&at) {
            return Err(SessionError::NoForkPoint {
                at,
                before: points.iter().rfind(|point| **point < at).copied(),
                after: points.iter().find(|point| **point > at).copied(),
            });
        }
        let agent = AgentRecord {
            parent: Some(Parent::Copy {
                session: report.id.clone(),
                seq: at,
            }),
            ..report.history.agent().clone()
        };
        let log = self.store.create(id, &self.holder)?;
        let session = self.begin(log, id, agent)?;
        for record in report.records.iter().filter(|record| record.seq <= at) {
            let event = serde_json::from_value(Value::Object(record.event.clone()));
            if let Ok(event @ (Event::Message { .. } | Event::TodoChanged { .. })) = event {
                session.record(&event)?;
            }
        }
        session.log().flush()?;
        Ok(session)
    }
}

fn seq_of(report: &SessionReport, point: &ForkPoint) -> Result<u64, SessionError> {
    let history = &report.history;
    let points = history.fork_points();
    match point {
        ForkPoint::At(seq) => Ok(*seq),
        ForkPoint::Last => points.last().copied().ok_or(SessionError::NoForkPoint {
            at: 0,
            before: None,
            after: None,
        }),
        ForkPoint::Label(label) => {
            let known = history.labels().iter().rfind(|known| known.label == *label);
            known
                .map(|known| known.seq)
                .ok_or_else(|| SessionError::NoLabel {
                    session: report.id.clone(),
                    label: label.clone(),
                })
        }
        ForkPoint::Turn(turn) => {
            let in_turn = |record: &&Record| record.turn == Some(*turn);
            let mut seqs = report
                .records
                .iter()
                .filter(in_turn)
                .map(|record| record.seq);
            let last = seqs.rfind(|seq| points.contains(seq));
            last.ok_or_else(|| SessionError::NoTurn {
                session: report.id.clone(),
                turn: *turn,
                turns: history.turn(),
            })
        }
    }
}

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
