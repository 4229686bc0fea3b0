//! Sessions that are written, interrupted and continued.

mod approvals;
mod backends;
mod bad_input;
mod compaction;
mod conversations;
mod crashes;
mod delegation;
mod expiry;
mod forms;
mod full_disk;
mod manuals;
mod monitor;
mod pool;
mod schedule;
mod tasks;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use ktx_llm_runtime::{Deltas, NoEvents, Reply, ScriptedRuntime};
use ktx_project_store::Holder;
use ktx_session_log::{Channel, SessionId, SessionStore};
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
};
use ktx_vocabulary::RunId;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    Agent, AgentSettings, AgentTool, Clock, ContextSettings, LONGEST_MESSAGE, MOST_ASKED_AT_ONCE,
    OnAsk, Permissions, Session, Sessions, Spending, Strategy, Turn,
};

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

pub(crate) fn sessions(store: SessionStore) -> Sessions {
    sessions_at(store, Arc::new(|| Timestamp::UNIX_EPOCH))
}

fn sessions_at(store: SessionStore, clock: Clock) -> Sessions {
    let holder = Holder {
        pid: 7,
        command: "ktx agent".to_owned(),
        since: None,
        begun: None,
    };
    Sessions::new(store, holder, clock)
}

fn agent() -> Agent {
    Agent {
        name: "analyst".to_owned(),
        instructions: "Answer.".to_owned(),
        file: None,
        model: None,
        tools: vec![AgentTool::named("look"), AgentTool::named("save")],
        max_turns: 5,
        sources: Vec::new(),
        max_messages: 50,
        max_message_chars: LONGEST_MESSAGE,
        call_limits: BTreeMap::new(),
        spending: Spending::default(),
        permissions: Permissions::default(),
        settings: AgentSettings::default(),
        context: ContextSettings::default(),
        todo: None,
        agents: Vec::new(),
        max_parallel: MOST_ASKED_AT_ONCE,
        response_format: None,
    }
}

pub(crate) fn created(sessions: &Sessions) -> Arc<Session> {
    Arc::new(sessions.create(&id("one"), &agent()).unwrap())
}

fn resumed(sessions: &Sessions) -> Arc<Session> {
    Arc::new(sessions.resume(id("one"), Strategy::Crash).unwrap())
}

fn tool(name: &str, effect: WriteEffect, handler: Arc<dyn ToolHandler>) -> ToolDescriptor {
    ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: "Does something.".to_owned(),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        effect,
        handler,
    }
}

struct Says(&'static str);

#[async_trait]
impl ToolHandler for Says {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(self.0))
    }
}

fn tools(save: Arc<dyn ToolHandler>) -> ToolSet {
    ToolSet::new(vec![
        tool("look", WriteEffect::ReadOnly, Arc::new(Says("15 rows"))),
        tool("save", WriteEffect::Writes, save),
    ])
    .unwrap()
}

fn turn(tools: ToolSet) -> Turn {
    Turn {
        agent: agent(),
        tools,
        on_ask: OnAsk::Deny,
        deltas: Deltas::AsTheyCome,
        stage: "research".to_owned(),
        run_id: RunId::parse("run").unwrap(),
        cancel: CancellationToken::new(),
        delegation: None,
        previews: None,
        room: None,
    }
}

fn model(script: impl IntoIterator<Item = Reply>) -> ScriptedRuntime {
    ScriptedRuntime::new(script, Arc::new(NoEvents))
}

fn says(text: &str) -> Reply {
    Reply::Text(text.to_owned())
}

/// The model calls these tools, one per step, then answers.
fn calls(names: &[&str], text: &str) -> Reply {
    let call = |name: &&str| ((*name).to_owned(), json!({ "to": "a" }));
    Reply::Loop {
        calls: names.iter().map(call).collect(),
        text: text.to_owned(),
    }
}

pub(crate) fn conversation(session: &Session) -> String {
    let messages = serde_json::to_value(session.messages()).unwrap();
    let mut lines = Vec::new();
    for message in messages.as_array().unwrap() {
        for block in message["content"].as_array().unwrap() {
            lines.push(format!("{} {block}", message["role"].as_str().unwrap()));
        }
    }
    lines.join("\n")
}

fn events(sessions: &Sessions, channels: &[Channel]) -> String {
    let report = sessions.read(&id("one")).unwrap();
    let heard = report
        .records
        .iter()
        .filter(|it| channels.contains(&it.channel));
    let lines = heard.map(|record| {
        if record.channel != Channel::State {
            let told = Value::Object(record.event.clone());
            let wrong = crate::event::schema::violations(&told, record.channel);
            assert!(wrong.is_empty(), "{told}: {wrong:?}");
        }
        let place = match (record.turn, record.step) {
            (Some(turn), Some(step)) => format!("{turn}.{step}"),
            (Some(turn), None) => turn.to_string(),
            (None, _) => "-".to_owned(),
        };
        let mut event = record.event.clone();
        if let Some(Value::Object(call)) = event.get_mut("call") {
            call.remove("duration_ms");
        }
        format!("{place} {}", Value::Object(event))
    });
    lines.collect::<Vec<String>>().join("\n")
}
