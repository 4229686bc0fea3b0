//! Backends and conversations: allowed moves and ends.

use std::sync::Mutex;

use async_trait::async_trait;
use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::{LlmError, LlmErrorKind, LlmRuntime};

use super::*;
use crate::{
    AgentBackend, AgentSessionError, AgentStage, Channels, Equipment, Fresh, SessionSettings,
    ToolsRequest, TurnStart,
};

struct Scripted {
    model: Arc<ScriptedRuntime>,
    /// One entry per failing request.
    missing: Mutex<Vec<&'static str>>,
    closed: Arc<Mutex<u32>>,
}

#[async_trait]
impl Equipment for Scripted {
    fn model(&self) -> Result<Arc<dyn LlmRuntime>, Failure> {
        Ok(Arc::clone(&self.model) as _)
    }

    async fn tools(&self, _: &ToolsRequest<'_>) -> Result<ToolSet, Failure> {
        match self.missing.lock().unwrap().pop() {
            Some(why) => Err(Failure::new(Code::McpUnavailable, why)),
            None => Ok(tools(Arc::new(Says("saved")))),
        }
    }

    async fn close(&self) {
        *self.closed.lock().unwrap() += 1;
    }
}

struct Bench {
    _folder: tempfile::TempDir,
    sessions: Sessions,
    backend: AgentBackend<'static>,
    closed: Arc<Mutex<u32>>,
}

impl Bench {
    fn new(script: impl IntoIterator<Item = Reply>, missing: &[&'static str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let closed = Arc::new(Mutex::new(0));
        Self {
            sessions: sessions(SessionStore::new(folder.path())),
            _folder: folder,
            backend: AgentBackend::new(Scripted {
                model: Arc::new(model(script)),
                missing: Mutex::new(missing.to_vec()),
                closed: Arc::clone(&closed),
            }),
            closed,
        }
    }

    fn fresh(&self, name: &str) -> Fresh<'_> {
        Fresh {
            sessions: &self.sessions,
            id: id(name),
            settings: settings(),
        }
    }
}

fn settings() -> SessionSettings {
    SessionSettings {
        agent: agent(),
        on_ask: OnAsk::Deny,
        deltas: Deltas::AsTheyCome,
        stage: "research".to_owned(),
        run_id: RunId::parse("run").unwrap(),
        delegation: None,
        previews: None,
    }
}

fn told<T: std::fmt::Debug>(result: Result<T, AgentSessionError>) -> String {
    result.unwrap_err().to_string()
}

/// HOLO-33.
#[tokio::test]
async fn a_backend_is_used_between_its_begin_and_its_end() {
    let bench = Bench::new([says("One."), says("Two.")], &[]);
    let backend = &bench.backend;
    let cancel = CancellationToken::new();
    let early = backend.invoke_once(bench.fresh("one"), "a", &cancel).await;
    insta::assert_snapshot!(told(early), @"the backend of the agent has not been opened: it takes no question");
    insta::assert_snapshot!(told(backend.begin_session(bench.fresh("one"))), @"the backend of the agent has not been opened: it takes no question");
    backend.initialize().unwrap();
    insta::assert_snapshot!(told(backend.initialize()), @"the backend of the agent waits for a question: it cannot be opened");
    for (name, answer) in [("one", "One."), ("two", "Two.")] {
        let result = backend.invoke_once(bench.fresh(name), "Which?", &cancel);
        assert_eq!(result.await.unwrap().response, answer);
        let report = bench.sessions.read(&id(name)).unwrap();
        assert_eq!(report.history.messages().len(), 2);
    }
    let session = backend.begin_session(bench.fresh("three")).unwrap();
    backend.teardown().await;
    backend.teardown().await;
    assert_eq!(backend.stage(), AgentStage::Closed);
    let late = session.send(TurnStart::from("Well?"), &cancel).await;
    insta::assert_snapshot!(told(late), @"the backend of the agent is closed: it takes no question");
    assert_eq!(session.kept().history().turn(), 0);
    assert_eq!(*bench.closed.lock().unwrap(), 2);
}

/// HOLO-32, HOLO-35.
#[tokio::test]
async fn a_conversation_takes_one_question_at_a_time() {
    let script = [calls(&["look"], "One."), says("Two.")];
    let bench = Bench::new(script, &["no server"]);
    bench.backend.initialize().unwrap();
    let session = bench.backend.begin_session(bench.fresh("one")).unwrap();
    let cancel = CancellationToken::new();
    assert_eq!(session.stage(), AgentStage::Created);
    let send = |text| session.send(TurnStart::from(text), &cancel);
    assert_eq!(told(send("Which?").await), "no server");
    assert_eq!(session.stage(), AgentStage::Ready);
    assert_eq!(session.kept().history().turn(), 0);
    let streamed =
        || session.send_streaming(TurnStart::from("Which?"), Channels::default(), &cancel);
    let mut exchange = streamed().unwrap();
    assert_eq!(session.stage(), AgentStage::Streaming);
    insta::assert_snapshot!(told(send("And?").await), @"the session answers a question: it takes no question");
    insta::assert_snapshot!(told(streamed()), @"the session answers a question: it takes no question");
    insta::assert_snapshot!(told(session.close()), @"the session answers a question: it cannot be closed");
    let mut text = String::new();
    while let Some(piece) = exchange.next_text().await {
        text.push_str(&piece);
    }
    let result = exchange.finish().await.unwrap();
    assert_eq!((text.as_str(), result.response.as_str()), ("One.", "One."));
    assert_eq!(session.stage(), AgentStage::Ready);
    // Nothing was asked.
    drop(streamed().unwrap());
    assert_eq!(session.stage(), AgentStage::Ready);
    assert_eq!(send("And?").await.unwrap().response, "Two.");
    session.close().unwrap();
    session.close().unwrap();
    insta::assert_snapshot!(told(send("More?").await), @"the session is closed: it takes no question");
    assert_eq!(session.kept().history().turn(), 2);
}

/// HOLO-36.
#[tokio::test]
async fn a_crash_closes_the_conversation_and_loses_nothing() {
    let crashed = LlmError::new(LlmErrorKind::Crashed, "Claude Code ended");
    let failed = LlmError::new(LlmErrorKind::Server, "the provider failed");
    let script = [
        says("One."),
        Reply::Error(failed),
        Reply::Error(crashed),
        says("Two."),
    ];
    let bench = Bench::new(script, &[]);
    bench.backend.initialize().unwrap();
    let session = bench.backend.begin_session(bench.fresh("one")).unwrap();
    let cancel = CancellationToken::new();
    let send = |text| session.send(TurnStart::from(text), &cancel);
    send("Which?").await.unwrap();
    assert_eq!(told(send("And?").await), "the model failed");
    assert_eq!(session.stage(), AgentStage::Ready);
    assert_eq!(told(send("Now?").await), "the model failed");
    assert_eq!(session.stage(), AgentStage::Closed);
    let last = session.kept().last();
    let refused = told(send("Now?").await);
    insta::assert_snapshot!(refused, @"the session is closed: the process of the model ended during its last turn");
    assert_eq!(told(send("Now?").await), refused);
    session.close().unwrap();
    assert_eq!(session.kept().last(), last);
    let kept = Arc::clone(session.kept());
    let next = bench.backend.create_session(kept, settings()).unwrap();
    let result = next.send(TurnStart::Resumed, &cancel).await;
    assert_eq!(result.unwrap().response, "Two.");
}
