//! Many sessions in one process (KODE-70). An idle session is only a name: no task, descriptor or
//! lock.

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

const LOOKS: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    pub agents: usize,
    pub running: usize,
}

pub struct Ready {
    pub tools: ToolSet,
    pub runtime: Arc<dyn LlmRuntime>,
    pub delegation: Option<Delegation>,
    pub run_id: RunId,
    pub stage: String,
    pub previews: Option<Arc<dyn Previews>>,
    pub release: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ready")
            .field("run_id", &self.run_id)
            .finish_non_exhaustive()
    }
}

#[async_trait]
pub trait Host: Send + Sync {
    /// Without a name, returns the built-in agent.
    fn agent(&self, name: Option<&str>) -> Result<Agent, Failure>;

    async fn ready(&self, agent: &Agent) -> Result<Ready, Failure>;

    fn new_id(&self, topic: &str) -> Result<SessionId, Failure>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    pub turn: u32,
    pub seq: u64,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    Created,
    Resumed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continued {
    Here,
    Elsewhere,
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    Idle,
    Waiting,
    Running,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct ShutdownReport {
    pub completed: usize,
    pub interrupted: usize,
    pub failed: usize,
}

/// The sessions of one process. Clones share them.
#[derive(Clone)]
pub struct Pool(Arc<PoolState>);

struct PoolState {
    sessions: Sessions,
    host: Arc<dyn Host>,
    limits: PoolLimits,
    on_ask: OnAsk,
    room: Semaphore,
    members: Mutex<BTreeMap<SessionId, Member>>,
    /// Two tasks of this process must not compete for a log's lock.
    opening: tokio::sync::Mutex<()>,
    closing: CancellationToken,
    tasks: TaskTracker,
    ended: Mutex<ShutdownReport>,
}

enum Member {
    Idle,
    Waiting(TurnControl),
    Running {
        session: Arc<Session>,
        task: TurnControl,
    },
}

#[derive(Clone, Default)]
struct TurnControl {
    stop: CancellationToken,
    /// True if something arrived that the turn may have missed.
    again: bool,
}

impl TurnControl {
    /// Stops the turn. Later messages begin another one.
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
    /// Calls that need a decision wait without a task.
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

    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    pub fn host(&self) -> &Arc<dyn Host> {
        &self.0.host
    }

    pub fn list(&self) -> Vec<(SessionId, Activity)> {
        let members = self.0.members();
        let activity = |(id, member): (&SessionId, &Member)| (id.clone(), member.activity());
        members.iter().map(activity).collect()
    }

    pub fn activity(&self, id: &SessionId) -> Option<Activity> {
        self.0.members().get(id).map(Member::activity)
    }

    /// Adds a session to the pool, creating it if needed.
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
            // A file can have another name than its agent.
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

    /// Stores a message on disk and starts to answer it. A repeated key returns the earlier
    /// acceptance.
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

    /// Decides a call and continues its turn, in any process.
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
        // Also continues a turn that another process parked.
        if pool.admit(&first).is_err() {
            return Ok(Continued::Not);
        }
        self.work_on(&first);
        Ok(Continued::Here)
    }

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

    pub fn resume_all(&self, ids: &[SessionId]) -> Result<(), PoolError> {
        for id in ids {
            self.0.admit(id)?;
            self.work_on(id);
        }
        Ok(())
    }

    pub async fn settle(&self) {
        while self.list().iter().any(|(_, it)| *it != Activity::Idle) {
            tokio::time::sleep(LOOKS).await;
        }
    }

    /// Stops taking messages, lets turns end, and interrupts them after `patience`.
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

    fn work_on(&self, id: &SessionId) {
        let pool = &self.0;
        let mut members = pool.members();
        if let Some(task) = members.get_mut(id).and_then(Member::task) {
            task.again = true;
            return;
        }
        let task = TurnControl::default();
        let stop = task.stop.clone();
        members.insert(id.clone(), Member::Waiting(task));
        let (pool, id) = (Arc::clone(pool), id.clone());
        self.0
            .tasks
            .spawn(async move { pool.work(&id, stop).await });
    }
}

impl Member {
    const fn task(&mut self) -> Option<&mut TurnControl> {
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
