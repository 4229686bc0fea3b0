//! Many sessions in one process (KODE-70). A session that waits is a name: no task, no descriptor, no lock.

mod error;
mod work;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use ktx_diagnostics::Failure;
use ktx_llm_runtime::LlmRuntime;
use ktx_session_log::SessionId;
use ktx_tool_descriptors::ToolSet;
use ktx_vocabulary::RunId;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::Agent;
use crate::approvals::OnAsk;
use crate::delegation::Delegation;
use crate::event::{DecisionRecord, Parent};
use crate::inbox::Delivered;
use crate::previews::Previews;
use crate::session::{Sending, Session, SessionError};
use crate::sessions::{ForkPoint, Sessions};
use crate::turn::check_message;

pub use error::PoolError;

/// How often a pool is looked at for its end.
const LOOKS: Duration = Duration::from_millis(20);

/// What a pool takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    /// The sessions in it.
    pub agents: usize,
    /// The turns that run at the same time.
    pub running: usize,
}

/// Everything that one turn needs besides its session.
pub struct Ready {
    pub tools: ToolSet,
    pub runtime: Arc<dyn LlmRuntime>,
    pub delegation: Option<Delegation>,
    /// The run that the turn is accounted to.
    pub run_id: RunId,
    /// The stage that it is accounted to.
    pub stage: String,
    /// Knows what calls of the tools would change.
    pub previews: Option<Arc<dyn Previews>>,
    /// Frees what the tools hold.
    pub release: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ready")
            .field("run_id", &self.run_id)
            .finish_non_exhaustive()
    }
}

/// Where the agents of a pool come from.
#[async_trait]
pub trait Host: Send + Sync {
    /// Returns an agent as it is now; without a name, the built-in one.
    ///
    /// # Errors
    /// Why there is none.
    fn agent(&self, name: Option<&str>) -> Result<Agent, Failure>;

    /// Makes an agent ready for one turn.
    ///
    /// # Errors
    /// Why it cannot answer.
    async fn ready(&self, agent: &Agent) -> Result<Ready, Failure>;

    /// Returns an id for a new session about a topic.
    ///
    /// # Errors
    /// If chance cannot be had.
    fn new_id(&self, topic: &str) -> Result<SessionId, Failure>;
}

/// A message that is on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The turn that answers it.
    pub turn: u32,
    /// Its record.
    pub seq: u64,
    pub at: Timestamp,
}

/// Whether a session was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    Created,
    Resumed,
}

/// Who continues the turn of a call that was decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continued {
    /// The pool.
    Here,
    /// The process that has the session open.
    Elsewhere,
    /// Nobody: the pool is full or ends.
    Not,
}

/// What a pool does with one of its sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    Idle,
    /// Its turn waits for another one to end.
    Waiting,
    Running,
}

/// How the turns ended that ran when a pool was shut down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct ShutdownReport {
    pub completed: usize,
    pub interrupted: usize,
    pub failed: usize,
}

/// The sessions of one process. Copies share them.
#[derive(Clone)]
pub struct Pool(Arc<PoolState>);

struct PoolState {
    sessions: Sessions,
    host: Arc<dyn Host>,
    limits: PoolLimits,
    on_ask: OnAsk,
    room: Semaphore,
    members: Mutex<BTreeMap<SessionId, Member>>,
    /// Held while a log is opened or closed: two tasks of this process must not meet at its lock.
    opening: tokio::sync::Mutex<()>,
    closing: CancellationToken,
    tasks: TaskTracker,
    ended: Mutex<ShutdownReport>,
}

enum Member {
    Idle,
    Waiting(Task),
    Running { session: Arc<Session>, task: Task },
}

/// The work on a session.
#[derive(Clone, Default)]
struct Task {
    stop: CancellationToken,
    /// Whether something has come that the turn may not have seen, or that came after it was stopped.
    again: bool,
}

impl Task {
    /// Stops the turn. What comes from now on begins another one.
    fn interrupt(&mut self) {
        self.again = false;
        self.stop.cancel();
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("limits", &self.0.limits)
            .finish_non_exhaustive()
    }
}

impl Pool {
    /// A pool without sessions. Calls that need a decision wait without a task.
    pub fn new(sessions: Sessions, host: Arc<dyn Host>, limits: PoolLimits) -> Self {
        Self(Arc::new(PoolState {
            sessions,
            host,
            limits,
            on_ask: OnAsk::Park,
            room: Semaphore::new(limits.running.max(1)),
            members: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
            ended: Mutex::default(),
        }))
    }

    /// Returns the sessions of the project, those outside the pool included.
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// Returns what hosts the agents.
    pub fn host(&self) -> &Arc<dyn Host> {
        &self.0.host
    }

    /// Returns the sessions of the pool and what it does with them.
    pub fn list(&self) -> Vec<(SessionId, Activity)> {
        let members = self.0.members();
        let activity = |(id, member): (&SessionId, &Member)| (id.clone(), member.activity());
        members.iter().map(activity).collect()
    }

    /// Returns what the pool does with a session; none if it is not in it.
    pub fn activity(&self, id: &SessionId) -> Option<Activity> {
        self.0.members().get(id).map(Member::activity)
    }

    /// Takes up the session of an id, or begins it.
    ///
    /// # Errors
    /// [`PoolError::Full`], [`PoolError::Closing`], [`PoolError::OtherAgent`], and those of the log and the host.
    pub async fn join(
        &self,
        agent: Option<&str>,
        id: Option<SessionId>,
        topic: &str,
    ) -> Result<(SessionId, Joined), PoolError> {
        let pool = &self.0;
        let _alone = pool.opening.lock().await;
        let is_known = |id: &&SessionId| pool.sessions.store().exists(id);
        let known = id.as_ref().filter(is_known);
        let known = known.map(|id| pool.sessions.read(id)).transpose()?;
        if let Some(report) = known {
            let recorded = &report.history.agent().name;
            // A file may have another name than its agent.
            let is_other = |name: &str| {
                let named = pool.host.agent(Some(name));
                name != recorded && !named.is_ok_and(|agent| agent.name == *recorded)
            };
            if agent.is_some_and(is_other) {
                return Err(PoolError::OtherAgent {
                    session: report.id,
                    agent: recorded.clone(),
                });
            }
            pool.admit(&report.id)?;
            return Ok((report.id, Joined::Resumed));
        }
        let agent = pool.host.agent(agent)?;
        let id = match id {
            Some(id) => id,
            None => pool.host.new_id(topic)?,
        };
        pool.admit(&id)?;
        if let Err(error) = pool.sessions.create(&id, &agent) {
            pool.members().remove(&id);
            return Err(error.into());
        }
        Ok((id, Joined::Created))
    }

    /// Takes a message. It is on the disk when this returns, and its answer is worked on. A key that was given before
    /// gives the same answer and sends nothing.
    ///
    /// # Errors
    /// [`PoolError::KeyUsed`], [`PoolError::Full`], [`PoolError::Closing`], and those of messages and the log.
    pub async fn send(
        &self,
        id: &SessionId,
        text: &str,
        key: Option<&str>,
    ) -> Result<Accepted, PoolError> {
        let pool = &self.0;
        let alone = pool.opening.lock().await;
        pool.sessions.store().read(id)?;
        pool.admit(id)?;
        let running = match pool.members().get(id) {
            Some(Member::Running { session, .. }) => Some(Arc::clone(session)),
            _ => None,
        };
        let session = match running {
            Some(session) => session,
            None => Arc::new(pool.sessions.touch(id.clone())?),
        };
        let agent = Agent::from_snapshot(&session.history().agent().snapshot);
        let agent = agent.map_err(|source| SessionError::Event {
            session: id.clone(),
            seq: 1,
            source,
        })?;
        check_message(text, &agent)?;
        let (accepted, sending) = session.accept(text, key)?;
        drop(session);
        drop(alone);
        if sending == Sending::New {
            self.work_on(id);
        }
        Ok(accepted)
    }

    /// Decides about a call, whichever process has its session open, and continues the turn that waits for it.
    ///
    /// # Errors
    /// As [`Session::decide`].
    pub async fn decide(
        &self,
        id: &SessionId,
        record: DecisionRecord,
        name: &str,
    ) -> Result<Continued, PoolError> {
        let pool = &self.0;
        let alone = pool.opening.lock().await;
        let running = match pool.members().get(id) {
            Some(Member::Running { session, .. }) => Some(Arc::clone(session)),
            _ => None,
        };
        match running {
            Some(session) => session.decide(record)?,
            None => match pool.sessions.decide(id, record, name)? {
                Delivered::Posted => return Ok(Continued::Elsewhere),
                Delivered::Done => {}
            },
        }
        let first = self.first_asking(id)?;
        drop(alone);
        // A turn that an earlier server or a command has parked is continued as well.
        if pool.admit(&first).is_err() {
            return Ok(Continued::Not);
        }
        self.work_on(&first);
        Ok(Continued::Here)
    }

    /// The session whose agent has asked for the others, up to this one: its turn continues all.
    fn first_asking(&self, id: &SessionId) -> Result<SessionId, PoolError> {
        let mut first = id.clone();
        loop {
            let report = self.0.sessions.read(&first)?;
            match &report.history.agent().parent {
                Some(Parent::Call { session, .. }) => first = session.clone(),
                _ => return Ok(first),
            }
        }
    }

    /// Stops the turn of a session, whichever process runs it.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn interrupt(&self, id: &SessionId, name: &str) -> Result<(), PoolError> {
        let pool = &self.0;
        let _alone = pool.opening.lock().await;
        if let Some(task) = pool.members().get_mut(id).and_then(Member::task) {
            task.interrupt();
            return Ok(());
        }
        pool.sessions.interrupt(id, name)?;
        Ok(())
    }

    /// Copies a session.
    ///
    /// # Errors
    /// As [`Sessions::fork`], [`PoolError::Full`], [`PoolError::Closing`].
    pub async fn fork(&self, id: &SessionId, point: &ForkPoint) -> Result<SessionId, PoolError> {
        let pool = &self.0;
        let _alone = pool.opening.lock().await;
        let copy = pool.host.new_id("copy")?;
        pool.admit(&copy)?;
        if let Err(error) = pool.sessions.fork(id, point, &copy) {
            pool.members().remove(&copy);
            return Err(error.into());
        }
        Ok(copy)
    }

    /// Removes a session for good.
    ///
    /// # Errors
    /// [`PoolError::Working`], and those of the log.
    pub async fn delete(&self, id: &SessionId) -> Result<(), PoolError> {
        let pool = &self.0;
        let _alone = pool.opening.lock().await;
        let activity = self.activity(id);
        if activity.is_some_and(|activity| activity != Activity::Idle) {
            return Err(PoolError::Working {
                session: id.clone(),
            });
        }
        pool.sessions.delete(id)?;
        pool.members().remove(id);
        Ok(())
    }

    /// Continues the turns of these sessions, such as those that a killed server has left.
    ///
    /// # Errors
    /// [`PoolError::Full`], [`PoolError::Closing`].
    pub fn resume_all(&self, ids: &[SessionId]) -> Result<(), PoolError> {
        for id in ids {
            self.0.admit(id)?;
            self.work_on(id);
        }
        Ok(())
    }

    /// Waits until no turn runs.
    pub async fn settle(&self) {
        while self.list().iter().any(|(_, it)| *it != Activity::Idle) {
            tokio::time::sleep(LOOKS).await;
        }
    }

    /// Takes nothing new, lets turns end, and interrupts those that run longer.
    pub async fn shutdown(&self, patience: Duration) -> ShutdownReport {
        let pool = &self.0;
        pool.closing.cancel();
        pool.tasks.close();
        *pool.ended() = ShutdownReport::default();
        if tokio::time::timeout(patience, pool.tasks.wait())
            .await
            .is_err()
        {
            for task in pool.members().values_mut().filter_map(Member::task) {
                task.interrupt();
            }
            pool.tasks.wait().await;
        }
        *pool.ended()
    }

    /// Begins to work on a session unless that is done already.
    fn work_on(&self, id: &SessionId) {
        let pool = &self.0;
        let mut members = pool.members();
        if let Some(task) = members.get_mut(id).and_then(Member::task) {
            task.again = true;
            return;
        }
        let task = Task::default();
        let stop = task.stop.clone();
        members.insert(id.clone(), Member::Waiting(task));
        let (pool, id) = (Arc::clone(pool), id.clone());
        self.0
            .tasks
            .spawn(async move { pool.work(&id, stop).await });
    }
}

impl Member {
    const fn task(&mut self) -> Option<&mut Task> {
        match self {
            Self::Idle => None,
            Self::Waiting(task) | Self::Running { task, .. } => Some(task),
        }
    }

    const fn activity(&self) -> Activity {
        match self {
            Self::Idle => Activity::Idle,
            Self::Waiting(_) => Activity::Waiting,
            Self::Running { .. } => Activity::Running,
        }
    }
}

impl PoolState {
    fn members(&self) -> MutexGuard<'_, BTreeMap<SessionId, Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> MutexGuard<'_, ShutdownReport> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a session one of the pool.
    fn admit(&self, id: &SessionId) -> Result<(), PoolError> {
        if self.closing.is_cancelled() {
            return Err(PoolError::Closing);
        }
        let mut members = self.members();
        let most = self.limits.agents;
        if !members.contains_key(id) && members.len() >= most {
            return Err(PoolError::Full { most });
        }
        members.entry(id.clone()).or_insert(Member::Idle);
        Ok(())
    }
}
