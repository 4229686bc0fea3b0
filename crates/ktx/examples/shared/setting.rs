//! What the examples share: a model, an agent, a folder of sessions, a printer of events.
#![allow(dead_code, reason = "each example uses a part")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use ktx_agent_session::{
    Agent, AgentSettings, Channels, Clock, ContextSettings, Host, LONGEST_MESSAGE,
    MOST_ASKED_AT_ONCE, MOST_MESSAGES, OnAsk, Permissions, Ready, Session, Sessions, Spending,
    Turn,
};
use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::{Deltas, LlmRuntime, NoEvents, Reply, ScriptedRuntime};
use ktx_project_store::Holder;
use ktx_provider_adapters::{HttpRuntime, HttpSettings};
use ktx_secrets::Secret;
use ktx_session_log::{Channel, SessionId, SessionStore};
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
};
use ktx_vocabulary::{Provider, RunId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) type Done = Result<(), Box<dyn Error>>;

/// Whether a script answers in place of a model.
pub(crate) fn is_fake() -> bool {
    std::env::args().any(|word| word == "--fake")
}

/// The model: with `--fake` these answers, else the Anthropic API with the key of `ANTHROPIC_API_KEY` or
/// `ANTHROPIC_API_TOKEN`, at `ANTHROPIC_BASE_URL`, as `ANTHROPIC_MODEL_ID`.
#[expect(
    clippy::disallowed_methods,
    reason = "a program of its own reads its environment"
)]
pub(crate) fn model(
    fake: impl IntoIterator<Item = Reply>,
) -> Result<Arc<dyn LlmRuntime>, Box<dyn Error>> {
    if is_fake() {
        return Ok(Arc::new(ScriptedRuntime::new(fake, Arc::new(NoEvents))));
    }
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let key = variable("ANTHROPIC_API_KEY").or_else(|| variable("ANTHROPIC_API_TOKEN"));
    let key =
        key.ok_or("set ANTHROPIC_API_KEY, or add `-- --fake` for an answer without a model")?;
    let model = variable("ANTHROPIC_MODEL_ID").unwrap_or_else(|| "haiku".to_owned());
    let mut settings = HttpSettings::new(Provider::Anthropic, Some(Secret::new(key)), model);
    settings.base_url = variable("ANTHROPIC_BASE_URL");
    Ok(Arc::new(HttpRuntime::new(settings, Arc::new(NoEvents))?))
}

/// The model calls these tools, one a step, then says this.
pub(crate) fn calls(calls: &[(&str, Value)], text: &str) -> Reply {
    let calls = calls.iter();
    Reply::Loop {
        calls: calls
            .map(|(name, input)| ((*name).to_owned(), input.clone()))
            .collect(),
        text: text.to_owned(),
    }
}

/// The model says this.
pub(crate) fn says(text: &str) -> Reply {
    Reply::Text(text.to_owned())
}

/// An agent that asks before it writes.
pub(crate) fn agent(name: &str, instructions: &str) -> Agent {
    Agent {
        name: name.to_owned(),
        instructions: instructions.to_owned(),
        file: None,
        model: None,
        tools: Vec::new(),
        sources: Vec::new(),
        max_turns: 8,
        max_messages: MOST_MESSAGES,
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

/// Sessions in a folder. The clock is a value: the examples decide what time it is.
pub(crate) fn sessions(folder: &std::path::Path, clock: Clock) -> Sessions {
    let holder = Holder::this_process("an example", None);
    Sessions::new(SessionStore::new(folder.join("sessions")), holder, clock)
}

pub(crate) fn real_clock() -> Clock {
    Arc::new(Timestamp::now)
}

pub(crate) fn id(text: &str) -> Result<SessionId, Box<dyn Error>> {
    Ok(SessionId::parse(text)?)
}

/// A turn without a person to ask.
pub(crate) fn turn(agent: &Agent, tools: ToolSet) -> Result<Turn, Box<dyn Error>> {
    Ok(Turn {
        agent: agent.clone(),
        tools,
        on_ask: OnAsk::Deny,
        deltas: Deltas::AsTheyCome,
        stage: "example".to_owned(),
        run_id: RunId::parse("example")?,
        cancel: CancellationToken::new(),
        delegation: None,
        previews: None,
        room: None,
    })
}

/// A tool that answers with a text.
pub(crate) fn tool(name: &str, effect: WriteEffect, answer: &'static str) -> ToolDescriptor {
    ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: format!("{name} of the example."),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        effect,
        handler: Arc::new(Answers(answer)),
    }
}

struct Answers(&'static str);

#[async_trait]
impl ToolHandler for Answers {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(self.0))
    }
}

/// Prints the events of some channels that are in the log after a record.
pub(crate) fn print_events(session: &Session, channels: &[Channel], since: u64) -> Done {
    let channels = Channels::new(channels.iter().copied());
    let mut heard = session.subscribe(channels, since)?;
    let mut out = std::io::stdout();
    while let Some(record) = heard.next_written()? {
        writeln!(out, "{} {}", record.seq, Value::Object(record.event))?;
    }
    Ok(())
}

pub(crate) fn print(text: &str) -> Done {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// Gives every agent of a pool or a room the same model and tools.
pub(crate) struct SmallHost {
    pub(crate) runtime: Arc<dyn LlmRuntime>,
    pub(crate) tools: ToolSet,
}

#[async_trait]
impl Host for SmallHost {
    fn agent(&self, name: Option<&str>) -> Result<Agent, Failure> {
        Ok(agent(name.unwrap_or("helper"), "Answer in one sentence."))
    }

    async fn ready(&self, _: &Agent) -> Result<Ready, Failure> {
        let run_id = RunId::parse("example");
        Ok(Ready {
            tools: self.tools.clone(),
            runtime: Arc::clone(&self.runtime),
            delegation: None,
            run_id: run_id.map_err(|error| Failure::new(Code::Internal, error.to_string()))?,
            stage: "example".to_owned(),
            previews: None,
            release: Box::pin(async {}),
        })
    }

    fn new_id(&self, topic: &str) -> Result<SessionId, Failure> {
        let words = topic.to_ascii_lowercase().replace(' ', "-");
        SessionId::parse(&format!("example-{words}"))
            .map_err(|error| Failure::new(Code::InvalidSession, error.to_string()))
    }
}
