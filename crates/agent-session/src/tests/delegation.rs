//! Sub-agents (KODE-70).

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use insta::assert_snapshot;
use ktx_llm_runtime::{LlmRuntime, Reply};
use ktx_session_log::{Channel, SessionStore};
use ktx_tool_descriptors::{CallContext, ToolError, ToolHandler, ToolOutput, ToolSet};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Says, agent, calls, conversation, created, events, id, model, resumed, says, sessions, tools,
    turn,
};
use crate::{
    ASK_AGENT, Agent, AskError, Decision, DecisionRecord, Delegate, Delegates, Delegation, OnAsk,
    Parent, Session, Sessions, Turn, ask, go_on,
};

struct Crew {
    runtime: Arc<dyn LlmRuntime>,
    tools: ToolSet,
    agents: Vec<String>,
    ready: Mutex<Vec<String>>,
}

impl Crew {
    fn new(script: impl IntoIterator<Item = Reply>, tools: ToolSet) -> Self {
        Self {
            runtime: Arc::new(model(script)),
            tools,
            agents: Vec::new(),
            ready: Mutex::default(),
        }
    }
}

#[async_trait]
impl Delegates for Crew {
    async fn ready(&self, name: &str, recorded: Option<Agent>) -> Result<Delegate, String> {
        let again = if recorded.is_some() { " again" } else { "" };
        self.ready.lock().unwrap().push(format!("{name}{again}"));
        if name == "absent" {
            return Err("its file has a fault".to_owned());
        }
        Ok(Delegate {
            agent: Agent {
                name: name.to_owned(),
                agents: self.agents.clone(),
                ..agent()
            },
            tools: self.tools.clone(),
            runtime: Arc::clone(&self.runtime),
            previews: None,
            delegates: None,
            release: Box::pin(async {}),
        })
    }
}

fn asks(agents: &[&str]) -> Reply {
    let call = |agent: &&str| {
        let input = json!({ "agent": agent, "message": "Check it." });
        (ASK_AGENT.to_owned(), input)
    };
    Reply::Loop {
        calls: agents.iter().map(call).collect(),
        text: "It is checked.".to_owned(),
    }
}

fn asking(sessions: &Sessions, crew: &Arc<Crew>, agents: &[&str]) -> Turn {
    let mut turn = turn(tools(Arc::new(Says("saved"))));
    turn.agent.agents = agents.iter().map(|name| (*name).to_owned()).collect();
    turn.delegation = Some(Delegation {
        sessions: sessions.clone(),
        delegates: Arc::clone(crew) as _,
        level: 0,
    });
    turn
}

async fn ended(session: Arc<Session>) {
    while Arc::strong_count(&session) > 1 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_agent_asks_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let script = [calls(&["look"], "All 15 rows are right.")];
    let crew = Arc::new(Crew::new(script, tools(Arc::new(Says("saved")))));
    let names = ["reviewer", "absent"];
    let of = asking(&sessions, &crew, &names);
    let script = model([asks(&["reviewer", "absent", "stranger"])]);
    ask(&session, &script, of, "Is it right?").await.unwrap();
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Is it right?"}
    assistant {"type":"tool_use","id":"use-1","name":"ask_agent","input":{"agent":"reviewer","message":"Check it."}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"All 15 rows are right.","is_error":false}
    assistant {"type":"tool_use","id":"use-2","name":"ask_agent","input":{"agent":"absent","message":"Check it."}}
    user {"type":"tool_result","tool_use_id":"use-2","content":"`absent` cannot be asked: its file has a fault","is_error":true}
    assistant {"type":"tool_use","id":"use-3","name":"ask_agent","input":{"agent":"stranger","message":"Check it."}}
    user {"type":"tool_result","tool_use_id":"use-3","content":"MCP error -32602: Input validation error: Invalid arguments for tool ask_agent: /agent: \"stranger\" is not one of \"reviewer\" or \"absent\"\nhint: correct `agent`","is_error":true}
    assistant {"type":"text","text":"It is checked."}
    "#);
    assert_snapshot!(crew.ready.lock().unwrap().join(", "), @"reviewer, absent");
    let child = sessions.read(&id("one-call-1")).unwrap();
    assert_eq!(
        child.history.agent().parent,
        Some(Parent::Call {
            session: id("one"),
            call: "call-1".to_owned(),
        })
    );
    let told = events(&sessions, &[Channel::Monitor]);
    let told: Vec<&str> = told
        .lines()
        .filter(|line| line.contains("subagent"))
        .collect();
    assert_snapshot!(told.join("\n"), @r#"
    1.1 {"type":"subagent","session":"one-call-1","agent":"reviewer","call":"call-1","state":"working"}
    1.1 {"type":"subagent","session":"one-call-1","agent":"reviewer","call":"call-1","state":"answered"}
    "#);
}

#[tokio::test]
async fn a_waiting_call_of_the_other_agent_parks_both() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let script = [calls(&["save"], "never"), says("I saved it.")];
    let crew = Arc::new(Crew::new(script, tools(Arc::new(Says("saved")))));
    let mut of = asking(&sessions, &crew, &["reviewer"]);
    of.on_ask = OnAsk::Park;
    let script = model([asks(&["reviewer"]), says("It is saved.")]);
    let parked = ask(&session, &script, of.clone(), "Save it.")
        .await
        .unwrap_err();
    assert_snapshot!(parked, @"`call-1` (save) of the session `one-call-1` waits for a decision");
    ended(session).await;

    let session = resumed(&sessions);
    assert!(session.sealed().is_empty());
    let again = go_on(&session, &script, of.clone()).await.unwrap_err();
    assert!(matches!(again, AskError::Waiting { calls } if calls.len() == 1));
    ended(session).await;

    let allow = DecisionRecord {
        call_id: "call-1".to_owned(),
        decision: Decision::Allow,
        decided_by: "ktx agent decide".to_owned(),
        note: None,
        session: None,
    };
    sessions.decide(&id("one-call-1"), allow, "a").unwrap();
    let session = resumed(&sessions);
    go_on(&session, &script, of).await.unwrap();
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Save it."}
    assistant {"type":"tool_use","id":"use-1","name":"ask_agent","input":{"agent":"reviewer","message":"Check it."}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"I saved it.","is_error":false}
    assistant {"type":"text","text":"It is saved."}
    "#);
    assert_snapshot!(events(&sessions, &[Channel::Control, Channel::Progress]), @r#"
    1.1 {"type":"tool:start","call":{"id":"call-1","name":"ask_agent","state":"PENDING","input_preview":"{\"agent\":\"reviewer\",\"message\":\"Check it.\"}"}}
    1.1 {"type":"permission_required","call":{"id":"call-1","name":"save","state":"APPROVAL_REQUIRED","input_preview":"{\"to\":\"a\"}"},"session":"one-call-1"}
    1.1 {"type":"done","reason":"interrupted","cause":"parked"}
    1.1 {"type":"done","reason":"interrupted","cause":"parked"}
    1.1 {"type":"tool:end","call":{"id":"call-1","name":"ask_agent","state":"COMPLETED","input_preview":"{\"agent\":\"reviewer\",\"message\":\"Check it.\"}","result_preview":"I saved it."}}
    1.2 {"type":"text_chunk_start"}
    1.2 {"type":"text_chunk","delta":"It is saved."}
    1.2 {"type":"text_chunk_end","text":"It is saved."}
    1.2 {"type":"done","reason":"completed"}
    "#);
    let child = sessions.read(&id("one-call-1")).unwrap();
    let runs = child
        .records
        .iter()
        .filter(|record| record.kind() == "call" && record.event["state"] == "EXECUTING");
    assert_eq!(runs.count(), 1);
    assert_snapshot!(crew.ready.lock().unwrap().join(", "), @"reviewer, reviewer again, reviewer again");
}

#[tokio::test]
async fn the_third_agent_asks_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let script = [asks(&["reviewer"]), asks(&["reviewer"])];
    let mut crew = Crew::new(script, tools(Arc::new(Says("saved"))));
    crew.agents = vec!["reviewer".to_owned()];
    let crew = Arc::new(crew);
    let of = asking(&sessions, &crew, &["reviewer"]);
    let script = model([asks(&["reviewer"])]);
    ask(&session, &script, of, "Is it right?").await.unwrap();
    let last = sessions.read(&id("one-call-1-call-1")).unwrap();
    let results: Vec<String> = last
        .history
        .messages()
        .iter()
        .map(|message| serde_json::to_string(&message.content).unwrap())
        .collect();
    assert_snapshot!(results.join("\n"), @r#"
    [{"type":"text","text":"Check it."}]
    [{"type":"tool_use","id":"use-1","name":"ask_agent","input":{"agent":"reviewer","message":"Check it."}}]
    [{"type":"tool_result","tool_use_id":"use-1","content":"MCP error -32602: Tool ask_agent not found; available: look, save","is_error":true}]
    [{"type":"text","text":"It is checked."}]
    "#);
    let ids = sessions.store().list().unwrap();
    assert_eq!(ids.len(), 3);
}

struct StopsAsker(CancellationToken);

#[async_trait]
impl ToolHandler for StopsAsker {
    async fn call(&self, _: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        self.0.cancel();
        context.cancel.cancelled().await;
        Err(ToolError::new("stopped"))
    }
}

#[tokio::test]
async fn an_interrupt_reaches_the_other_agent() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let cancel = CancellationToken::new();
    let stopping = super::tool(
        "look",
        ktx_tool_descriptors::WriteEffect::ReadOnly,
        Arc::new(StopsAsker(cancel.clone())),
    );
    let crew = Crew::new(
        [calls(&["look"], "never")],
        ToolSet::new(vec![stopping]).unwrap(),
    );
    let crew = Arc::new(crew);
    let mut of = asking(&sessions, &crew, &["reviewer"]);
    of.cancel = cancel;
    let script = model([asks(&["reviewer"])]);
    let stopped = ask(&session, &script, of, "Is it right?").await;
    assert!(matches!(stopped, Err(AskError::Model(_))));
    for name in ["one", "one-call-1"] {
        let report = sessions.read(&id(name)).unwrap();
        let end = report.records.iter().rfind(|it| it.kind() == "done");
        assert_eq!(
            end.map(|record| record.event["cause"].clone()),
            Some(json!("user")),
            "{name}"
        );
    }
}
