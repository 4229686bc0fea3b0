//! A runtime that records conversations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use async_trait::async_trait;
use jiff::Timestamp;
use ktx_llm_runtime::{
    Abilities, BackendInfo, CallLabel, ContentBlock, EventSink, ListenerRegistration, LlmError,
    LlmRuntime, LoopOutcome, LoopRequest, Message, MessageRole, ObjectOutcome, ObjectRequest,
    ProbeReport, ProbeRequest, RunHandle, RunRequest, TextOutcome, TextRequest, Transcript,
};
use ktx_tool_descriptors::{CallContext, ToolError, ToolHandler, ToolOutput, ToolSet};
use ktx_vocabulary::{ConnectionId, ModelRole};
use serde_json::{Value, json};

/// In characters.
const LONGEST_TEXT: usize = 20_000;

/// Bytes of arguments or of a result.
const LONGEST_PART: usize = 4_000;

/// In bytes.
const LONGEST_RECORD: usize = 16 << 20;

/// Receives redacted JSON lines.
pub trait RecordSink: Send + Sync {
    fn now(&self) -> Timestamp;

    fn redact(&self, text: &str) -> String;

    /// A failed write loses only the line.
    fn append(&self, line: &str);
}

/// Does not record single runs: their callers have logs of their own.
pub struct RecordedRuntime {
    inner: Arc<dyn LlmRuntime>,
    record: Arc<RecordedRun>,
}

impl std::fmt::Debug for RecordedRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordedRuntime").finish_non_exhaustive()
    }
}

impl RecordedRuntime {
    pub fn new(inner: Arc<dyn LlmRuntime>, sink: Arc<dyn RecordSink>) -> Self {
        Self {
            inner,
            record: Arc::new(RecordedRun {
                sink,
                calls: AtomicU32::new(0),
                bytes: AtomicUsize::new(0),
            }),
        }
    }
}

struct RecordedRun {
    sink: Arc<dyn RecordSink>,
    calls: AtomicU32,
    bytes: AtomicUsize,
}

impl RecordedRun {
    fn append(&self, line: &Value) {
        let text = line.to_string();
        let before = self.bytes.fetch_add(text.len(), Ordering::Relaxed);
        if before + text.len() <= LONGEST_RECORD {
            self.sink.append(&text);
        } else if before <= LONGEST_RECORD {
            self.sink.append(&json!({ "kind": "full" }).to_string());
        }
    }

    /// Redacts before it cuts: a part of a secret has no shape.
    fn bounded(&self, text: &str, longest: usize) -> String {
        let text = self.sink.redact(text);
        let length = text.chars().count();
        if length <= longest {
            return text;
        }
        let shown: String = text.chars().take(longest).collect();
        format!("{shown}… ({} more characters)", length - longest)
    }

    fn begin(
        self: &Arc<Self>,
        role: ModelRole,
        label: &CallLabel,
        asked: RecordedPrompt<'_>,
    ) -> RecordedCall {
        let call = RecordedCall {
            record: Arc::clone(self),
            number: self.calls.fetch_add(1, Ordering::Relaxed) + 1,
        };
        call.append(&json!({
            "kind": "asked",
            "stage": label.stage,
            "unit": label.unit.as_ref().map(|unit| self.bounded(unit, LONGEST_PART)),
            "connection": label.connection.as_ref().map(ConnectionId::as_str),
            "role": role.as_str(),
            "system": self.bounded(asked.system, LONGEST_TEXT),
            "prompt": self.bounded(asked.prompt, LONGEST_TEXT),
        }));
        call
    }
}

#[derive(Clone, Copy)]
struct RecordedPrompt<'a> {
    system: &'a str,
    prompt: &'a str,
}

#[derive(Clone)]
struct RecordedCall {
    record: Arc<RecordedRun>,
    number: u32,
}

impl RecordedCall {
    fn append(&self, line: &Value) {
        let mut whole = json!({ "call": self.number, "at": self.record.sink.now().to_string() });
        if let (Some(whole), Some(line)) = (whole.as_object_mut(), line.as_object()) {
            whole.extend(line.clone());
        }
        self.record.append(&whole);
    }

    fn record_text(&self, kind: &str, text: &str) {
        let text = self.record.bounded(text, LONGEST_TEXT);
        self.append(&json!({ "kind": kind, "text": text }));
    }

    fn failed(&self, error: &LlmError) {
        let message = self.record.bounded(&error.message, LONGEST_PART);
        self.append(
            &json!({ "kind": "failed", "code": error.kind.code().as_str(), "message": message }),
        );
    }

    fn called(&self, name: &str, arguments: &str, result: &Result<ToolOutput, ToolError>) {
        let answer = match result {
            Ok(output) => &output.markdown,
            Err(error) => &error.message,
        };
        self.append(&json!({
            "kind": "tool",
            "name": name,
            "arguments": self.record.bounded(arguments, LONGEST_PART),
            "answer": self.record.bounded(answer, LONGEST_PART),
            "isRefused": result.is_err(),
        }));
    }

    fn tools(&self, tools: &ToolSet) -> ToolSet {
        tools.with_handlers(|tool| {
            Arc::new(RecordedTool {
                inner: Arc::clone(&tool.handler),
                name: tool.name.clone(),
                call: self.clone(),
            })
        })
    }
}

struct RecordedTool {
    inner: Arc<dyn ToolHandler>,
    name: String,
    call: RecordedCall,
}

#[async_trait]
impl ToolHandler for RecordedTool {
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        let asked = arguments.to_string();
        let result = self.inner.call(arguments, context).await;
        self.call.called(&self.name, &asked, &result);
        result
    }

    async fn workable(&self, arguments: Value) -> Vec<Value> {
        self.inner.workable(arguments).await
    }
}

/// Records the text between tool calls.
struct RecordedTurns {
    inner: Arc<dyn Transcript>,
    call: RecordedCall,
}

impl Transcript for RecordedTurns {
    fn earlier(&self) -> Vec<Message> {
        self.inner.earlier()
    }

    fn record(&self, message: &Message) {
        let calls_tools = |block: &ContentBlock| matches!(block, ContentBlock::ToolUse { .. });
        if message.role == MessageRole::Assistant && message.content.iter().any(calls_tools) {
            for block in &message.content {
                if let ContentBlock::Text { text } = block
                    && !text.trim().is_empty()
                {
                    self.call.record_text("said", text);
                }
            }
        }
        self.inner.record(message);
    }
}

#[async_trait]
impl LlmRuntime for RecordedRuntime {
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError> {
        let asked = RecordedPrompt {
            system: &request.system,
            prompt: &request.prompt,
        };
        let call = self.record.begin(request.role, &request.label, asked);
        let outcome = self.inner.generate_text(request).await;
        match &outcome {
            Ok(outcome) => call.record_text("answered", &outcome.text),
            Err(error) => call.failed(error),
        }
        outcome
    }

    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        let asked = RecordedPrompt {
            system: &request.system,
            prompt: &request.prompt,
        };
        let call = self.record.begin(request.role, &request.label, asked);
        let outcome = self.inner.generate_object(request).await;
        match &outcome {
            Ok(outcome) => call.record_text("answered", &outcome.value.to_string()),
            Err(error) => call.failed(error),
        }
        outcome
    }

    async fn run_agent_loop(&self, mut request: LoopRequest) -> LoopOutcome {
        let asked = RecordedPrompt {
            system: &request.system,
            prompt: &request.prompt,
        };
        let call = self.record.begin(request.role, &request.label, asked);
        request.tools = call.tools(&request.tools);
        request.transcript = request.transcript.take().map(|inner| {
            let call = call.clone();
            Arc::new(RecordedTurns { inner, call }) as Arc<dyn Transcript>
        });
        let outcome = self.inner.run_agent_loop(request).await;
        if let Some(text) = &outcome.text {
            call.record_text("answered", text);
        }
        match &outcome.error {
            Some(error) => call.failed(error),
            None => call.append(&json!({
                "kind": "ended",
                "stop": outcome.stop_reason.as_str(),
                "turns": outcome.metrics.steps,
            })),
        }
        outcome
    }

    fn start_run(&self, request: RunRequest) -> RunHandle {
        self.inner.start_run(request)
    }

    /// Records only failures.
    async fn probe(&self, request: ProbeRequest) -> Result<ProbeReport, LlmError> {
        let label = CallLabel::of_probe(&request.run_id);
        let report = self.inner.probe(request).await;
        if let Err(error) = &report {
            let asked = RecordedPrompt {
                system: "",
                prompt: "",
            };
            let call = self.record.begin(ModelRole::Default, &label, asked);
            call.failed(error);
        }
        report
    }

    async fn settle(&self) {
        self.inner.settle().await;
    }

    fn describe(&self) -> BackendInfo {
        self.inner.describe()
    }

    fn abilities(&self, role: ModelRole) -> Abilities {
        self.inner.abilities(role)
    }

    fn beside_runs(&self) -> Option<Arc<dyn LlmRuntime>> {
        let inner = self.inner.beside_runs()?;
        Some(Arc::new(Self {
            inner,
            record: Arc::clone(&self.record),
        }))
    }

    fn listen(&self, listener: Arc<dyn EventSink>) -> Option<ListenerRegistration> {
        self.inner.listen(listener)
    }
}
