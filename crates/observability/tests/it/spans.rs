//! All traces are in one test, because a process has one global subscriber.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ktx_llm_runtime::{
    CallLabel, LlmError, LlmErrorKind, LlmRuntime, LoopRequest, NoEvents, ObjectRequest, Reply,
    RunRequest, ScriptedRuntime, TextRequest,
};
use ktx_observability::{
    ContentCapture, Delivery, DeliveryReceipt, ExportSettings, Exporter, LogSettings, RunFacts,
    SharedRedactor, SpanShipment, TracedEvents, TracedRuntime, install,
};
use ktx_test_support::otlp::{SeenSpan, read};
use ktx_tool_descriptors::{
    ObjectSchema, ToolDescriptor, ToolError, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use ktx_vocabulary::{ConnectionId, ModelRole, RunId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Accepts only valid OTLP posts.
#[derive(Clone, Default)]
struct SpanLog(Arc<Mutex<Vec<SeenSpan>>>);

#[async_trait]
impl Delivery for SpanLog {
    async fn post(&self, shipment: SpanShipment<'_>) -> Result<DeliveryReceipt, String> {
        let body: Value =
            serde_json::from_slice(&shipment.body).map_err(|error| error.to_string())?;
        let (_, spans) = read(&body).map_err(|error| format!("{error:#}"))?;
        self.0.lock().expect("no poison").extend(spans);
        Ok(DeliveryReceipt {
            status: 200,
            ..DeliveryReceipt::default()
        })
    }
}

const RUN: &str = "0199b7f2-1c3d-7a4e-8f00-112233445566";

fn label(stage: &str) -> CallLabel {
    CallLabel {
        run_id: RunId::parse(RUN).expect("a run id"),
        stage: stage.to_owned(),
        unit: Some("orders".to_owned()),
        connection: Some(ConnectionId::parse("shop").expect("a connection id")),
    }
}

fn tool(name: &str, answer: Result<&'static str, &'static str>) -> ToolDescriptor {
    ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: String::new(),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: handler_fn(move |_, _| match answer {
            Ok(text) => Ok(ToolOutput::text(text)),
            Err(text) => Err(ToolError::new(text)),
        }),
    }
}

/// Runs one operation of each kind, with text that must not be exported.
async fn work(runtime: Arc<dyn LlmRuntime>) {
    let cancel = CancellationToken::new();
    let text = TextRequest {
        role: ModelRole::Triage,
        system: "private system".to_owned(),
        prompt: "private prompt".to_owned(),
        cancel: cancel.clone(),
        label: label("triage"),
    };
    runtime.generate_text(text.clone()).await.expect("text");
    runtime.generate_text(text).await.expect_err("a refusal");
    let object = ObjectRequest {
        role: ModelRole::Default,
        system: String::new(),
        prompt: "private prompt".to_owned(),
        schema: ObjectSchema::new(json!({ "type": "object" })).expect("a schema"),
        cancel: cancel.clone(),
        label: label("describe"),
    };
    runtime.generate_object(object).await.expect("an object");
    let tools = ToolSet::new(vec![
        tool("look", Ok("private rows")),
        tool("break", Err("private reason")),
    ])
    .expect("tools");
    let asked = LoopRequest {
        role: ModelRole::Curator,
        system: String::new(),
        prompt: "private prompt".to_owned(),
        tools: tools.clone(),
        step_budget: 5,
        transcript: None,
        on_step: None,
        cancel: cancel.clone(),
        label: label("curate"),
    };
    let outcome = runtime.run_agent_loop(asked).await;
    assert_eq!(outcome.metrics.tool_failures, 1);
    let run = RunRequest {
        role: ModelRole::Default,
        system: String::new(),
        messages: Vec::new(),
        tools,
        step_budget: 2,
        deltas: ktx_llm_runtime::Deltas::AsTheyCome,
        hook: None,
        settings: ktx_llm_runtime::CallSettings::default(),
        cancel,
        label: label("chat"),
        trace_id: Some("caller-7".to_owned()),
        ingress_request_id: None,
    };
    let last = runtime.start_run(run).finish().await;
    assert_eq!(last.result, Ok("private answer".to_owned()));
}

fn script() -> Vec<Reply> {
    let call = |name: &str| (name.to_owned(), json!({ "x": "private argument" }));
    vec![
        Reply::Text("private answer".to_owned()),
        Reply::Error(LlmError::new(
            LlmErrorKind::Overloaded,
            "the provider is overloaded",
        )),
        Reply::Object(json!({ "a": "private answer" })),
        Reply::Loop {
            calls: vec![call("look"), call("break")],
            text: "private answer".to_owned(),
        },
        Reply::Text("private answer".to_owned()),
    ]
}

fn runtime(capture: ContentCapture) -> Arc<dyn LlmRuntime> {
    let events = TracedEvents::new(Arc::new(NoEvents), |fact| {
        (fact.stage != "describe").then_some(0.25)
    });
    let inner = Arc::new(ScriptedRuntime::new(script(), Arc::new(events)));
    Arc::new(TracedRuntime::new(
        inner,
        RunFacts {
            workflow: "ingest".to_owned(),
            run_id: RunId::parse(RUN).expect("a run id"),
            provider: "anthropic".to_owned(),
            models: [
                (ModelRole::Default, "large".to_owned()),
                (ModelRole::Triage, "small".to_owned()),
            ]
            .into(),
            capture,
        },
    ))
}

/// One line per span: name, kind, failure, then the selected attributes.
fn tree(spans: &[SeenSpan], parent: Option<&str>, depth: usize, lines: &mut Vec<String>) {
    let mut below: Vec<&SeenSpan> = spans
        .iter()
        .filter(|span| span.parent.as_deref() == parent)
        .collect();
    below.sort_by_key(|span| (span.start, span.id.clone()));
    for span in below {
        let attributes: Vec<String> = span
            .attributes
            .iter()
            .filter(|(name, _)| {
                !["ktx.run_id", "gen_ai.provider.name", "gen_ai.tool.call.id"]
                    .contains(&name.as_str())
            })
            .map(|(name, value)| format!("{}={value}", name.trim_start_matches("gen_ai.")))
            .collect();
        let failure = span.failure.as_deref().unwrap_or_default();
        lines.push(format!(
            "{:depth$}{} [{}] {failure}({})",
            "",
            span.name,
            span.kind,
            attributes.join(" ")
        ));
        tree(spans, Some(&span.id), depth + 1, lines);
    }
}

/// COG-23, COG-27.
#[tokio::test]
async fn operations_become_spans_with_sums_and_without_words() {
    let kept = SpanLog::default();
    let redactor = SharedRedactor::default();
    let delivery = kept.clone();
    let settings = ExportSettings {
        url: "http://collector/v1/traces".to_owned(),
        headers: Vec::new(),
        timeout: Duration::from_secs(10),
        resource: vec![("service.name".to_owned(), "ktx".to_owned())],
    };
    let exporter = Arc::new(Exporter::new(settings, redactor.clone(), move || {
        Ok(Box::new(delivery))
    }));
    let warnings = install(
        &LogSettings::default(),
        Some(Arc::clone(&exporter)),
        redactor,
    );
    assert_eq!(warnings, Vec::<String>::new());

    work(runtime(ContentCapture::Off)).await;
    work(runtime(ContentCapture::On)).await;
    exporter.finish();

    let spans = kept.0.lock().expect("no poison").clone();
    let runs: Vec<&SeenSpan> = spans.iter().filter(|span| span.parent.is_none()).collect();
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run.trace == RUN.replace('-', "")));
    let (quiet, open) = if runs[0].start < runs[1].start {
        (runs[0], runs[1])
    } else {
        (runs[1], runs[0])
    };
    let mut lines = vec![quiet.name.clone()];
    tree(&spans, Some(&quiet.id), 1, &mut lines);
    let common = "ktx.connection=\"shop\" ktx.cost_usd=0.25 ktx.messages=1";
    let usage = "usage.cache_creation.input_tokens=0 usage.cache_read.input_tokens=0 usage.input_tokens=10 usage.output_tokens=5";
    assert_eq!(
        lines,
        [
            "ktx ingest".to_owned(),
            format!(" chat small [3] (operation.name=\"chat\" output.type=\"text\" request.model=\"small\" response.id=\"scripted-1\" response.model=\"scripted\" {usage} {common} ktx.role=\"triage\" ktx.stage=\"triage\" ktx.steps=1 ktx.unit=\"orders\")"),
            " chat small [3] the provider is overloaded(error.type=\"llm_overloaded\" operation.name=\"chat\" output.type=\"text\" request.model=\"small\" ktx.connection=\"shop\" ktx.role=\"triage\" ktx.stage=\"triage\" ktx.unit=\"orders\")".to_owned(),
            format!(" chat large [3] (operation.name=\"chat\" output.type=\"json\" request.model=\"large\" response.id=\"scripted-3\" response.model=\"scripted\" {usage} ktx.connection=\"shop\" ktx.messages=1 ktx.role=\"default\" ktx.stage=\"describe\" ktx.steps=1 ktx.unit=\"orders\")"),
            format!(" invoke_agent curate [1] (agent.name=\"curate\" operation.name=\"invoke_agent\" request.model=\"large\" response.id=\"scripted-4\" response.model=\"scripted\" {usage} {common} ktx.role=\"curator\" ktx.stage=\"curate\" ktx.steps=3 ktx.stop_reason=\"natural\" ktx.tool_calls=2 ktx.unit=\"orders\")"),
            "  execute_tool look [1] (operation.name=\"execute_tool\" tool.name=\"look\" tool.type=\"function\")".to_owned(),
            "  execute_tool break [1] the tool failed(error.type=\"tool_error\" operation.name=\"execute_tool\" tool.name=\"break\" tool.type=\"function\")".to_owned(),
            format!(" invoke_agent chat [1] (agent.name=\"chat\" operation.name=\"invoke_agent\" request.model=\"large\" response.id=\"scripted-5\" response.model=\"scripted\" {usage} {common} ktx.role=\"default\" ktx.stage=\"chat\" ktx.trace_id=\"caller-7\" ktx.unit=\"orders\")"),
        ]
    );
    let sum = |name: &str| quiet.attributes.get(name).cloned();
    assert_eq!(
        [
            sum("ktx.calls"),
            sum("ktx.tool_calls"),
            sum("ktx.messages"),
            sum("gen_ai.usage.input_tokens"),
            sum("gen_ai.usage.output_tokens"),
            sum("ktx.cost_usd"),
            sum("ktx.backend"),
        ],
        [
            Some(json!(5)),
            Some(json!(2)),
            Some(json!(4)),
            Some(json!(40)),
            Some(json!(20)),
            Some(json!(0.75)),
            Some(json!("scripted")),
        ]
    );
    assert!(quiet.end > quiet.start);
    let below = |run: &SeenSpan| {
        let of_run: Vec<&SeenSpan> = spans
            .iter()
            .filter(|span| span.start >= run.start && span.end <= run.end)
            .collect();
        format!("{of_run:?}")
    };
    assert!(!below(quiet).contains("private"), "{}", below(quiet));
    for words in [
        "private system",
        "private prompt",
        "private answer",
        "private argument",
        "private rows",
        "private reason",
    ] {
        assert!(below(open).contains(words), "{words}");
    }
}
