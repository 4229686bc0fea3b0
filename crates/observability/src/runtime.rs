//! A runtime whose operations are spans, for any backend.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use ktx_llm_runtime::{
    Abilities, BackendInfo, CallLabel, EventSink, ListenerRegistration, LlmError, LlmRuntime,
    LoopOutcome, LoopRequest, Message, ObjectOutcome, ObjectRequest, ProbeReport, ProbeRequest,
    RunHandle, RunRequest, SPANS, TextOutcome, TextRequest,
};
use ktx_vocabulary::{ModelRole, RunId};
use serde_json::{Value, json};
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use crate::settings::ContentCapture;
use crate::tools::traced;

#[derive(Debug, Clone)]
pub struct RunFacts {
    pub workflow: String,
    pub run_id: RunId,
    /// Such as `anthropic` or `gcp.gemini`.
    pub provider: String,
    pub models: BTreeMap<ModelRole, String>,
    pub capture: ContentCapture,
}

/// Makes every operation a span below the run's, which ends with the last handle. Almost free
/// without traces.
pub struct TracedRuntime {
    inner: Arc<dyn LlmRuntime>,
    facts: RunFacts,
    run: OnceLock<Span>,
}

impl std::fmt::Debug for TracedRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TracedRuntime")
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl TracedRuntime {
    /// The run's span begins with the first operation.
    pub fn new(inner: Arc<dyn LlmRuntime>, facts: RunFacts) -> Self {
        Self {
            inner,
            facts,
            run: OnceLock::new(),
        }
    }

    fn run(&self) -> &Span {
        self.run.get_or_init(|| {
            tracing::info_span!(
                target: SPANS,
                parent: None,
                "run",
                otel.name = format!("ktx {}", self.facts.workflow),
                gen_ai.operation.name = "invoke_workflow",
                gen_ai.workflow.name = self.facts.workflow,
                gen_ai.provider.name = self.facts.provider,
                ktx.run_id = %self.facts.run_id,
                ktx.backend = self.inner.describe().name,
            )
        })
    }

    /// Loops are local; single turns are remote calls.
    fn call(&self, operation: &'static str, role: ModelRole, label: &CallLabel) -> Span {
        let model = self
            .facts
            .models
            .get(&role)
            .or_else(|| self.facts.models.get(&ModelRole::Default));
        let (kind, subject) = match operation {
            "chat" => ("client", model.map_or("", String::as_str)),
            _ => ("internal", label.stage.as_str()),
        };
        let agent = (operation == "invoke_agent").then_some(label.stage.as_str());
        tracing::info_span!(
            target: SPANS,
            parent: self.run(),
            "call",
            otel.name = format!("{operation} {subject}").trim_end(),
            otel.kind = kind,
            gen_ai.operation.name = operation,
            gen_ai.provider.name = self.facts.provider,
            gen_ai.request.model = model,
            gen_ai.agent.name = agent,
            gen_ai.output.type = Empty,
            gen_ai.response.id = Empty,
            gen_ai.response.model = Empty,
            gen_ai.system_instructions = Empty,
            gen_ai.input.messages = Empty,
            gen_ai.output.messages = Empty,
            ktx.run_id = %label.run_id,
            ktx.stage = label.stage,
            ktx.role = role.as_str(),
            ktx.unit = label.unit,
            ktx.connection = label.connection.as_ref().map(ktx_vocabulary::ConnectionId::as_str),
            ktx.trace_id = Empty,
            ktx.stop_reason = Empty,
            ktx.steps = Empty,
            error.type = Empty,
            otel.status_description = Empty,
        )
    }

    fn record_prompt(&self, span: &Span, system: &str, prompt: &str) {
        if self.facts.capture == ContentCapture::On {
            span.record("gen_ai.system_instructions", text_parts(system).to_string());
            let messages = json!([{ "role": "user", "parts": text_parts(prompt) }]);
            span.record("gen_ai.input.messages", messages.to_string());
        }
    }

    fn record_answer(&self, span: &Span, text: &str) {
        if self.facts.capture == ContentCapture::On {
            let messages = json!([{ "role": "assistant", "parts": text_parts(text) }]);
            span.record("gen_ai.output.messages", messages.to_string());
        }
    }
}

fn text_parts(text: &str) -> Value {
    json!([{ "type": "text", "content": text }])
}

fn failed(span: &Span, error: &LlmError) {
    span.record("error.type", error.kind.code().as_str());
    span.record("otel.status_description", error.message.as_str());
}

#[async_trait]
impl LlmRuntime for TracedRuntime {
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError> {
        let span = self.call("chat", request.role, &request.label);
        span.record("gen_ai.output.type", "text");
        self.record_prompt(&span, &request.system, &request.prompt);
        let work = self.inner.generate_text(request).instrument(span.clone());
        let outcome = work.await;
        match &outcome {
            Ok(outcome) => {
                span.record("ktx.steps", outcome.metrics.steps);
                self.record_answer(&span, &outcome.text);
            }
            Err(error) => failed(&span, error),
        }
        outcome
    }

    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        let span = self.call("chat", request.role, &request.label);
        span.record("gen_ai.output.type", "json");
        self.record_prompt(&span, &request.system, &request.prompt);
        let work = self.inner.generate_object(request).instrument(span.clone());
        let outcome = work.await;
        match &outcome {
            Ok(outcome) => {
                span.record("ktx.steps", outcome.metrics.steps);
                if self.facts.capture == ContentCapture::On {
                    self.record_answer(&span, &outcome.value.to_string());
                }
            }
            Err(error) => failed(&span, error),
        }
        outcome
    }

    async fn run_agent_loop(&self, mut request: LoopRequest) -> LoopOutcome {
        let span = self.call("invoke_agent", request.role, &request.label);
        self.record_prompt(&span, &request.system, &request.prompt);
        request.tools = traced(&request.tools, &span, self.facts.capture);
        let work = self.inner.run_agent_loop(request).instrument(span.clone());
        let outcome = work.await;
        span.record("ktx.stop_reason", outcome.stop_reason.as_str());
        span.record("ktx.steps", outcome.metrics.steps);
        if let Some(text) = &outcome.text {
            self.record_answer(&span, text);
        }
        if let Some(error) = &outcome.error {
            failed(&span, error);
        }
        outcome
    }

    fn start_run(&self, mut request: RunRequest) -> RunHandle {
        let span = self.call("invoke_agent", request.role, &request.label);
        if let Some(trace) = &request.trace_id {
            span.record("ktx.trace_id", trace.as_str());
        }
        if self.facts.capture == ContentCapture::On {
            span.record(
                "gen_ai.system_instructions",
                text_parts(&request.system).to_string(),
            );
            span.record("gen_ai.input.messages", conversation(&request.messages));
        }
        request.tools = traced(&request.tools, &span, self.facts.capture);
        // The backend's spans keep this one open.
        let handle = span.in_scope(|| self.inner.start_run(request));
        if span.is_disabled() {
            return handle;
        }
        let capture = self.facts.capture;
        handle.observed(move |last| match &last.result {
            Ok(text) if capture == ContentCapture::On => {
                let messages = json!([{ "role": "assistant", "parts": text_parts(text) }]);
                span.record("gen_ai.output.messages", messages.to_string());
            }
            Ok(_) => {}
            Err(error) => failed(&span, error),
        })
    }

    async fn probe(&self, request: ProbeRequest) -> Result<ProbeReport, LlmError> {
        let label = CallLabel::of_probe(&request.run_id);
        let span = self.call("chat", ModelRole::Default, &label);
        let report = self.inner.probe(request).instrument(span.clone()).await;
        if let Err(error) = &report {
            failed(&span, error);
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
            facts: self.facts.clone(),
            run: self.run.clone(),
        }))
    }

    fn listen(&self, listener: Arc<dyn EventSink>) -> Option<ListenerRegistration> {
        self.inner.listen(listener)
    }
}

fn conversation(messages: &[Message]) -> String {
    let messages: Vec<Value> = messages
        .iter()
        .map(|message| json!({ "role": message.role, "parts": message.content }))
        .collect();
    Value::Array(messages).to_string()
}
