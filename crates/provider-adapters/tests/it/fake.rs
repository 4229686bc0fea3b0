//! Fake providers: they check every request and answer from a script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ktx_llm_runtime::{
    CallLabel, EventSink, GovernorSettings, Jitter, ObjectRequest, RuntimeEvent, TextRequest,
};
use ktx_provider_adapters::{HttpRuntime, HttpSettings, Proxy, RateLimit};
use ktx_secrets::Secret;
use ktx_tool_descriptors::ObjectSchema;
use ktx_vocabulary::{ModelRole, Provider, RunId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::checkers;

#[derive(Debug, Default)]
pub(crate) struct EventRecorder(Mutex<Vec<String>>);

impl EventRecorder {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().expect("no poison").clone()
    }
}

impl EventRecorder {
    pub(crate) fn retries(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| line.starts_with("retry "));
        lines
    }
}

impl EventSink for EventRecorder {
    fn event(&self, event: RuntimeEvent) {
        let line = match event {
            RuntimeEvent::Usage(fact) => format!(
                "usage {} {} {} {}/{}/{}/{}/{}",
                fact.reference(),
                fact.source_system.as_str(),
                fact.model,
                fact.usage.input,
                fact.usage.cache_write_5m,
                fact.usage.cache_write_1h,
                fact.usage.cache_read,
                fact.usage.output
            ),
            // The tests in `bill` cover reports before and during a call.
            RuntimeEvent::UsageBegun(_) | RuntimeEvent::UsageDropped(_) => return,
            RuntimeEvent::CostReported(cost) => format!("cost {}", cost.dollars),
            RuntimeEvent::Retry { attempt, code } => format!("retry {attempt} {code}"),
            RuntimeEvent::WaitStarted { reason, .. } => format!("wait {reason}"),
            RuntimeEvent::WaitTick { .. } => return,
            RuntimeEvent::ConcurrencyAdjusted { from, to, reason } => {
                format!("concurrency {from} -> {to} ({reason})")
            }
            RuntimeEvent::RateLimitRefused { window, .. } => format!("refused {window}"),
            RuntimeEvent::WaitFinished => "wait finished".to_owned(),
            RuntimeEvent::RateLimitObserved { window, .. } => format!("observed {window}"),
            RuntimeEvent::Warning(text) => format!("warning {text}"),
            RuntimeEvent::IsolationVerified { version } => format!("isolation {version}"),
        };
        self.0.lock().expect("no poison").push(line);
    }
}

struct ScriptedResponder {
    answers: Mutex<VecDeque<ResponseTemplate>>,
}

impl Respond for ScriptedResponder {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let refuse = |reason: String| {
            ResponseTemplate::new(400).set_body_json(json!({
                "type": "error",
                "error": {"type": "invalid_request_error", "message": format!("the fake says: {reason}")},
            }))
        };
        let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
            return refuse("no JSON".to_owned());
        };
        let path = request.url.path();
        let checked = if path.ends_with("/messages") || path.contains("awPredict") {
            checkers::anthropic(&body)
        } else if path.ends_with("/chat/completions") {
            checkers::chat(&body)
        } else if path.ends_with("/responses") {
            checkers::responses(&body)
        } else if path.contains("enerateContent") {
            checkers::gemini(&body)
        } else {
            Err(format!("no such path: {path}"))
        };
        if let Err(reason) = checked {
            return refuse(reason);
        }
        let next = self.answers.lock().expect("no poison").pop_front();
        next.unwrap_or_else(|| refuse("the script has no more answers".to_owned()))
    }
}

pub(crate) async fn server(answers: Vec<ResponseTemplate>) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ScriptedResponder {
            answers: Mutex::new(answers.into()),
        })
        .mount(&server)
        .await;
    server
}

pub(crate) async fn bodies(server: &MockServer) -> Vec<Value> {
    let requests = server.received_requests().await.expect("recording is on");
    requests
        .iter()
        .map(|request| serde_json::from_slice(&request.body).expect("JSON"))
        .collect()
}

pub(crate) fn settings(provider: Provider, model: &str, address: &str) -> HttpSettings {
    let mut settings = HttpSettings::new(provider, Some(Secret::new("sk-test-key-123")), model);
    settings.base_url = Some(address.to_owned());
    settings.proxy = Proxy::Direct;
    settings.rate_limit = RateLimit::Own(GovernorSettings {
        base_delay: Duration::from_millis(1),
        max_delay: Duration::from_secs(2),
        jitter: Jitter::Off,
        ..GovernorSettings::default()
    });
    settings
}

pub(crate) fn runtime(settings: HttpSettings) -> (HttpRuntime, Arc<EventRecorder>) {
    let events = Arc::new(EventRecorder::default());
    let runtime = HttpRuntime::new(settings, events.clone()).expect("usable settings");
    (runtime, events)
}

pub(crate) fn anthropic(address: &str, model: &str) -> (HttpRuntime, Arc<EventRecorder>) {
    runtime(settings(Provider::Anthropic, model, address))
}

pub(crate) fn label() -> CallLabel {
    CallLabel {
        run_id: RunId::parse("r1").expect("a run id"),
        stage: "test".to_owned(),
        unit: None,
        connection: None,
    }
}

pub(crate) fn ask(prompt: &str) -> TextRequest {
    TextRequest {
        role: ModelRole::Default,
        system: "Be exact.".to_owned(),
        prompt: prompt.to_owned(),
        cancel: CancellationToken::new(),
        label: label(),
    }
}

pub(crate) fn ask_object(schema: Value) -> ObjectRequest {
    ObjectRequest {
        role: ModelRole::Default,
        system: "Be exact.".to_owned(),
        prompt: "Which?".to_owned(),
        schema: ObjectSchema::new(schema).expect("a schema"),
        cancel: CancellationToken::new(),
        label: label(),
    }
}

pub(crate) fn sse(text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(text.as_bytes().to_vec(), "text/event-stream")
}

pub(crate) fn stream_text(id: &str, stop: &str, blocks: &[Value]) -> String {
    let mut events = vec![json!({"type": "message_start", "message": {
        "id": id,
        "model": "claude-test",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 1},
    }})];
    for (index, block) in blocks.iter().enumerate() {
        if block["type"] == "tool_use" {
            let mut start = block.clone();
            start["input"] = json!({});
            events.push(
                json!({"type": "content_block_start", "index": index, "content_block": start}),
            );
            events.push(
                json!({"type": "content_block_delta", "index": index, "delta": {
                    "type": "input_json_delta", "partial_json": block["input"].to_string(),
                }}),
            );
        } else {
            events.push(
                json!({"type": "content_block_start", "index": index, "content_block": block}),
            );
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 7}}));
    events.push(json!({"type": "message_stop"}));
    let lines: Vec<String> = events
        .iter()
        .map(|event| {
            let name = event["type"].as_str().unwrap_or_default();
            format!("event: {name}\ndata: {event}\n\n")
        })
        .collect();
    lines.concat()
}

pub(crate) fn message(id: &str, stop: &str, blocks: &[Value]) -> ResponseTemplate {
    sse(&stream_text(id, stop, blocks))
}

pub(crate) fn said(id: &str, text: &str) -> ResponseTemplate {
    message(id, "end_turn", &[json!({"type": "text", "text": text})])
}

pub(crate) fn tool_use(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

pub(crate) fn refused(status: u16, class: &str) -> ResponseTemplate {
    ResponseTemplate::new(status)
        .set_body_json(json!({"type": "error", "error": {"type": class, "message": "words"}}))
}
