//! A project with a scenario for the fake, and requests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ktx_claude_code_adapter::{ClaudeCodeRuntime, ClaudeCodeSettings, Launcher, Timeouts};
use ktx_llm_runtime::{
    CallLabel, EventSink, GovernorSettings, Jitter, LlmError, LlmErrorKind, LoopRequest, Message,
    MessageRole, ObjectRequest, ProbeRequest, RunRequest, RuntimeEvent, TextRequest,
};
use ktx_test_support::fake_claude;
use ktx_tool_descriptors::{
    ObjectSchema, ToolDescriptor, ToolError, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use ktx_vocabulary::{ModelRole, RunId};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Default)]
pub(crate) struct EventLog(Mutex<Vec<RuntimeEvent>>);

impl EventSink for EventLog {
    fn event(&self, event: RuntimeEvent) {
        self.0.lock().expect("no test panics here").push(event);
    }
}

impl EventLog {
    pub(crate) fn all(&self) -> Vec<RuntimeEvent> {
        self.0.lock().expect("no test panics here").clone()
    }
}

pub(crate) struct TestSetup {
    pub(crate) folder: TempDir,
    pub(crate) settings: ClaudeCodeSettings,
    pub(crate) event_log: Arc<EventLog>,
}

impl TestSetup {
    pub(crate) fn new(scenario: Value) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("ktx-claude-")
            .tempdir()
            .expect("a folder");
        let root = folder.path().canonicalize().expect("the folder exists");
        let project = root.join("project");
        std::fs::create_dir(&project).expect("the project folder");
        let file = root.join("scenario.json");
        let mut scenario = scenario;
        scenario["record"] = json!(root.join("record.jsonl"));
        std::fs::write(&file, scenario.to_string()).expect("the scenario");
        let environment = [
            ("PATH", "/usr/bin:/bin".to_owned()),
            ("HOME", root.to_string_lossy().into_owned()),
            (
                fake_claude::SCENARIO_VARIABLE,
                file.to_string_lossy().into_owned(),
            ),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value));
        let mut settings = ClaudeCodeSettings::new(project, environment.into(), "sonnet");
        settings.program = Some(fake_claude::executable().expect("the fake is built"));
        settings.state_dir = Some(root.join("state"));
        settings.launcher = Launcher::Guarded(driver());
        settings.timeouts = far();
        settings.max_spares = 0;
        settings.rate_limit = no_waits();
        Self {
            folder,
            settings,
            event_log: Arc::default(),
        }
    }

    pub(crate) fn runtime(&self) -> ClaudeCodeRuntime {
        let events = Arc::clone(&self.event_log) as Arc<dyn EventSink>;
        ClaudeCodeRuntime::new(self.settings.clone(), events).expect("the settings are good")
    }

    /// In the order in which the processes ended.
    pub(crate) fn records(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.root().join("record.jsonl")).unwrap_or_default();
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().expect("the record is JSON")
    }

    pub(crate) fn events(&self) -> Vec<RuntimeEvent> {
        self.event_log.all()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder
            .path()
            .canonicalize()
            .expect("the folder exists")
    }

    pub(crate) fn survivors(&self) -> Vec<u32> {
        let mark = format!("{}/scenario.json", self.root().display());
        let entries = std::fs::read_dir("/proc").expect("the tests run on Linux");
        entries
            .flatten()
            .filter_map(|entry| {
                entry
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse().ok())
            })
            .filter(|process: &u32| *process != std::process::id())
            .filter(|process| {
                let environment = std::fs::read(format!("/proc/{process}/environ"));
                environment.is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(&mark))
            })
            .collect()
    }

    pub(crate) fn notes(&self) -> usize {
        self.noted().len()
    }

    pub(crate) fn below(&self) -> String {
        let notes = std::fs::read_dir(self.root().join("state/claude-children"));
        let files = notes
            .into_iter()
            .flatten()
            .flatten()
            .map(|note| note.path());
        files
            .filter(|file| file.extension() == Some("below".as_ref()))
            .filter_map(|file| std::fs::read_to_string(file).ok())
            .collect()
    }

    pub(crate) fn noted(&self) -> Vec<u32> {
        let notes = std::fs::read_dir(self.root().join("state/claude-children"));
        let notes = notes.into_iter().flatten().flatten();
        notes
            .filter(|note| Path::new(&note.file_name()).extension() == Some("json".as_ref()))
            .filter_map(|note| note.file_name().to_str()?.split('-').next()?.parse().ok())
            .collect()
    }
}

pub(crate) fn driver() -> PathBuf {
    let here = std::env::current_exe().expect("a test has a path");
    let profile = here
        .parent()
        .and_then(Path::parent)
        .expect("a test is in `deps`");
    profile.join("examples/driver")
}

/// Deadlines that no passing test reaches.
pub(crate) fn far() -> Timeouts {
    let minute = Duration::from_mins(1);
    Timeouts {
        probe: minute,
        initialize: minute,
        surface: minute,
        silence: minute,
        idle: minute,
        tool: minute,
        exit: minute,
        interrupt: minute,
        terminate: minute,
        drain: Duration::from_secs(5),
        spawn_backoff: Duration::from_millis(10),
        spare_pause: Duration::ZERO,
        spare_idle: minute,
    }
}

pub(crate) fn no_waits() -> GovernorSettings {
    GovernorSettings {
        max_wait: Some(Duration::ZERO),
        base_delay: Duration::from_millis(1),
        jitter: Jitter::Off,
        ..GovernorSettings::default()
    }
}

pub(crate) fn label() -> CallLabel {
    CallLabel {
        run_id: RunId::parse("run-1").expect("a run id"),
        stage: "descriptions".to_owned(),
        unit: Some("orders".to_owned()),
        connection: None,
    }
}

pub(crate) fn probe_request() -> ProbeRequest {
    ProbeRequest::of(&label().run_id)
}

pub(crate) fn text_request(prompt: &str) -> TextRequest {
    TextRequest {
        role: ModelRole::Default,
        system: "You are terse.".to_owned(),
        prompt: prompt.to_owned(),
        cancel: CancellationToken::new(),
        label: label(),
    }
}

pub(crate) fn object_request(prompt: &str) -> ObjectRequest {
    let schema = json!({
        "type": "object", "required": ["name", "score"], "additionalProperties": false,
        "properties": { "name": { "type": "string" }, "score": { "type": "number", "minimum": 0 } },
    });
    ObjectRequest {
        role: ModelRole::Default,
        system: String::new(),
        prompt: prompt.to_owned(),
        schema: ObjectSchema::new(schema).expect("a schema"),
        cancel: CancellationToken::new(),
        label: label(),
    }
}

pub(crate) fn toolbox() -> ToolSet {
    let tool = |name: &str, effect, handler| ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: json!({
            "type": "object", "required": ["key"],
            "properties": { "key": { "type": "string" }, "_cursor": { "type": "string" } },
        }),
        output_schema: None,
        effect,
        handler,
    };
    let answer = handler_fn(|arguments, _| {
        let key = arguments["key"].as_str().unwrap_or_default();
        Ok(ToolOutput::new(
            format!("**{key}**"),
            json!({ "secret_face": key }),
        ))
    });
    let fail = handler_fn(|_, _| Err(ToolError::new("there is no such table; try `orders`")));
    let panic = handler_fn(|_, _| -> Result<ToolOutput, ToolError> { panic!("a bug in a tool") });
    let flood = handler_fn(|_, _| Ok(ToolOutput::text("x".repeat(600_000))));
    ToolSet::new(vec![
        tool("answer", WriteEffect::ReadOnly, answer),
        tool("fail", WriteEffect::Writes, fail),
        tool("panic", WriteEffect::Writes, panic),
        tool("flood", WriteEffect::ReadOnly, flood),
    ])
    .expect("the tools are good")
}

pub(crate) fn loop_request(prompt: &str, step_budget: u32) -> LoopRequest {
    LoopRequest {
        role: ModelRole::Default,
        system: "You work.".to_owned(),
        prompt: prompt.to_owned(),
        tools: toolbox(),
        step_budget,
        transcript: None,
        on_step: None,
        cancel: CancellationToken::new(),
        label: label(),
    }
}

pub(crate) fn run_request(prompt: &str) -> RunRequest {
    RunRequest {
        role: ModelRole::Default,
        system: "You work.".to_owned(),
        messages: vec![Message::text(MessageRole::User, prompt)],
        tools: toolbox(),
        step_budget: 4,
        deltas: ktx_llm_runtime::Deltas::AsTheyCome,
        hook: None,
        settings: ktx_llm_runtime::CallSettings::default(),
        cancel: CancellationToken::new(),
        label: label(),
        trace_id: Some("trace-1".to_owned()),
        ingress_request_id: Some("request-1".to_owned()),
    }
}

pub(crate) fn short<T: std::fmt::Debug>(outcome: Result<T, LlmError>) -> (LlmErrorKind, String) {
    let error = outcome.expect_err("the call fails");
    (error.kind, error.message)
}

pub(crate) fn one_call() -> Value {
    json!({ "message_ids": "a", "steps": [
        { "tools": [{ "name": "answer", "input": { "key": "orders" } }] },
        { "text": "All done." },
    ] })
}

/// Variables that must not reach a child, each with a recognizable value.
pub(crate) fn canaries() -> BTreeMap<String, String> {
    let names = fake_claude::CANARIES.iter();
    names
        .map(|name| ((*name).to_owned(), format!("canary-{name}")))
        .collect()
}

pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let mut held = holds();
    for _ in 0..600 {
        if held {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        held = holds();
    }
    assert!(held, "never: {what}");
}

pub(crate) fn kill(process: &str) {
    let status = std::process::Command::new("kill")
        .args(["-KILL", process])
        .status()
        .expect("there is a program to send signals");
    assert!(status.success());
}
