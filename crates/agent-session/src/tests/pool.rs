//! Many sessions in one process (KODE-70).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::{LlmRuntime, Reply};
use ktx_session_log::{SessionId, SessionStore};
use ktx_tool_descriptors::{CallContext, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect};
use ktx_vocabulary::RunId;
use serde_json::Value;

use super::{Says, agent, calls, id, model, says, sessions, tool, tools, turn};
use crate::{
    Activity, Agent, Cause, Continued, Decision, DecisionRecord, Host, Joined, OnAsk, Pool,
    PoolError, PoolLimits, Ready, Sessions, ShutdownReport, Spending, Trigger, TriggerKind, Turn,
    TurnEnd, ask,
};

struct OneModel {
    runtime: Arc<dyn LlmRuntime>,
    tools: ToolSet,
}

#[async_trait]
impl Host for OneModel {
    fn agent(&self, _: Option<&str>) -> Result<Agent, Failure> {
        Ok(agent())
    }

    async fn ready(&self, _: &Agent) -> Result<Ready, Failure> {
        Ok(Ready {
            tools: self.tools.clone(),
            runtime: Arc::clone(&self.runtime),
            delegation: None,
            run_id: RunId::parse("run").unwrap(),
            stage: "research".to_owned(),
            previews: None,
            release: Box::pin(async {}),
        })
    }

    fn new_id(&self, topic: &str) -> Result<SessionId, Failure> {
        SessionId::parse(topic)
            .map_err(|error| Failure::new(Code::InvalidSession, error.to_string()))
    }
}

fn pool(sessions: &Sessions, script: Vec<Reply>, tools: ToolSet, agents: usize) -> Pool {
    let host = OneModel {
        runtime: Arc::new(model(script)),
        tools,
    };
    let limits = PoolLimits { agents, running: 2 };
    Pool::new(sessions.clone(), Arc::new(host), limits)
}

fn no_tools() -> ToolSet {
    ToolSet::new(Vec::new()).unwrap()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn allowed() -> DecisionRecord {
    DecisionRecord {
        call_id: "call-1".to_owned(),
        decision: Decision::Allow,
        decided_by: "a person".to_owned(),
        note: None,
        session: None,
    }
}

#[tokio::test]
async fn idle_sessions_hold_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let pool = pool(&sessions, vec![says("Hello.")], no_tools(), 1000);
    let first = pool.join(None, Some(id("one-0")), "").await.unwrap();
    assert_eq!(first.1, Joined::Created);
    pool.send(&id("one-0"), "Hello?", None).await.unwrap();
    pool.settle().await;
    let before = descriptors();
    for number in 1..1000 {
        let id = id(&format!("one-{number}"));
        pool.join(None, Some(id), "").await.unwrap();
    }
    assert_eq!(descriptors(), before);
    let full = pool.join(None, Some(id("more")), "").await;
    assert!(matches!(full, Err(PoolError::Full { most: 1000 })));
    let known = pool.join(None, Some(id("one-7")), "").await.unwrap();
    assert_eq!(known.1, Joined::Resumed);
    assert!(pool.list().iter().all(|(_, it)| *it == Activity::Idle));
}

#[tokio::test]
async fn a_turn_continues_when_its_call_is_allowed_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let script = vec![calls(&["save"], "never"), says("I saved it.")];
    let pool = pool(&sessions, script, tools(Arc::new(Says("saved"))), 5);
    pool.join(None, Some(id("one")), "").await.unwrap();
    pool.send(&id("one"), "Save it.", None).await.unwrap();
    pool.settle().await;
    pool.decide(&id("one"), allowed(), "a").await.unwrap();
    pool.settle().await;
    let report = sessions.read(&id("one")).unwrap();
    assert_eq!(report.history.last_answer(), "I saved it.");
}

/// KODE-66.
#[tokio::test]
async fn scheduled_sessions_leave_the_pool() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let script = vec![says("All is well."), says("All is well.")];
    let pool = pool(&sessions, script, no_tools(), 1);
    for name in ["first", "second"] {
        let session = sessions.create(&id(name), &agent()).unwrap();
        let trigger = Trigger {
            task_id: "reporter/hourly".to_owned(),
            spec: "0 * * * *".to_owned(),
            kind: TriggerKind::Cron,
            scheduled: Some(Timestamp::UNIX_EPOCH),
            on_ask: None,
            max_turns: None,
            limits: Spending::default(),
        };
        session.begin_by(trigger).unwrap();
        session.queue("Is all well?").unwrap();
        drop(session);
        pool.resume_all(&[id(name)]).unwrap();
        pool.settle().await;
        let report = sessions.read(&id(name)).unwrap();
        assert_eq!(report.history.last_answer(), "All is well.");
    }
    assert_eq!(pool.list(), []);
}

struct Waits;

#[async_trait]
impl ToolHandler for Waits {
    async fn call(&self, _: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        context.cancel.cancelled().await;
        Err(ToolError::new("stopped"))
    }
}

#[tokio::test]
async fn a_shutdown_interrupts_what_does_not_end() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let waits = tool("look", WriteEffect::ReadOnly, Arc::new(Waits));
    let tools = ToolSet::new(vec![waits]).unwrap();
    let pool = pool(&sessions, vec![calls(&["look"], "never")], tools, 5);
    pool.join(None, Some(id("one")), "").await.unwrap();
    pool.send(&id("one"), "Look.", None).await.unwrap();
    while pool.activity(&id("one")) != Some(Activity::Running) {
        tokio::task::yield_now().await;
    }
    let report = pool.shutdown(Duration::from_millis(50)).await;
    let expected = ShutdownReport {
        interrupted: 1,
        ..ShutdownReport::default()
    };
    assert_eq!(report, expected);
    let end = sessions.read(&id("one")).unwrap().history.end().unwrap();
    assert_eq!(
        (end.reason, end.cause),
        (TurnEnd::Interrupted, Some(Cause::User))
    );
    let refused = pool.send(&id("one"), "And?", None).await;
    assert!(matches!(refused, Err(PoolError::Closing)));
}

/// KODE-62.
#[tokio::test]
async fn a_turn_that_a_command_has_parked_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let parked = Arc::new(sessions.create(&id("one"), &agent()).unwrap());
    let asked = Turn {
        on_ask: OnAsk::Park,
        ..turn(tools(Arc::new(Says("saved"))))
    };
    let command = model(vec![calls(&["save"], "never")]);
    ask(&parked, &command, asked, "Save it.").await.unwrap_err();
    drop(parked);
    let script = vec![says("I saved it.")];
    let pool = pool(&sessions, script, tools(Arc::new(Says("saved"))), 1);
    let continued = pool.decide(&id("one"), allowed(), "a").await.unwrap();
    assert_eq!(continued, Continued::Here);
    pool.settle().await;
    let history = sessions.read(&id("one")).unwrap().history;
    assert_eq!(history.last_answer(), "I saved it.");
    assert!(!history.is_promised());
}

/// KODE-55, KODE-70.
#[tokio::test]
async fn an_accepted_message_is_a_promise() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let killed = pool(&sessions, Vec::new(), no_tools(), 5);
    killed.join(None, Some(id("one")), "").await.unwrap();
    // The server dies before it handles the message.
    let session = sessions.touch(id("one")).unwrap();
    session.accept("Hello?", None).unwrap();
    drop(session);
    let is_promised = || sessions.read(&id("one")).unwrap().history.is_promised();
    assert!(is_promised());
    let pool = pool(&sessions, vec![says("Hello.")], no_tools(), 5);
    pool.resume_all(&[id("one")]).unwrap();
    pool.settle().await;
    assert!(!is_promised());
    let history = sessions.read(&id("one")).unwrap().history;
    assert_eq!(history.last_answer(), "Hello.");
}

#[tokio::test]
async fn a_decided_turn_is_still_a_promise() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let script = vec![calls(&["save"], "never"), says("I saved it.")];
    let pool = pool(&sessions, script, tools(Arc::new(Says("saved"))), 5);
    pool.join(None, Some(id("one")), "").await.unwrap();
    pool.send(&id("one"), "Save it.", None).await.unwrap();
    pool.settle().await;
    let is_promised = || sessions.read(&id("one")).unwrap().history.is_promised();
    assert!(!is_promised(), "a person has to decide first");
    // The process dies after the decision.
    sessions.decide(&id("one"), allowed(), "a").unwrap();
    assert!(is_promised());
    pool.resume_all(&[id("one")]).unwrap();
    pool.settle().await;
    assert!(!is_promised());
    let history = sessions.read(&id("one")).unwrap().history;
    assert_eq!(history.last_answer(), "I saved it.");
}

/// Also if the turn has not begun or not ended yet.
#[tokio::test]
async fn a_message_after_an_interrupt_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let waits = tool("look", WriteEffect::ReadOnly, Arc::new(Waits));
    let tools = ToolSet::new(vec![waits]).unwrap();
    let script = vec![calls(&["look"], "never"), says("Hello.")];
    let pool = pool(&sessions, script, tools, 5);
    pool.join(None, Some(id("one")), "").await.unwrap();
    pool.send(&id("one"), "Look.", None).await.unwrap();
    while sessions
        .read(&id("one"))
        .unwrap()
        .history
        .open_calls()
        .next()
        .is_none()
    {
        tokio::task::yield_now().await;
    }
    pool.interrupt(&id("one"), "a").await.unwrap();
    pool.send(&id("one"), "Hello?", None).await.unwrap();
    pool.settle().await;
    let history = sessions.read(&id("one")).unwrap().history;
    assert_eq!(history.last_answer(), "Hello.");
    assert!(history.queued().is_empty());
    pool.interrupt(&id("one"), "b").await.unwrap();
    pool.settle().await;
}
