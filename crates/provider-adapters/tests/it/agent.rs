//! The agent loop: budget, tool results, callbacks, failures.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ktx_llm_runtime::{
    LlmErrorKind, LlmRuntime as _, LoopRequest, Message, StepCallback, StopReason, ToolTrace,
    Transcript,
};
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
    handler_fn,
};
use ktx_vocabulary::ModelRole;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use crate::fake::{
    anthropic, bodies, label, message, refused, runtime, said, server, settings, sse, tool_use,
};

fn descriptor(name: &str, effect: WriteEffect, handler: Arc<dyn ToolHandler>) -> ToolDescriptor {
    ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: format!("does {name}"),
        input_schema: json!({
            "type": "object",
            "properties": {"query": {"type": "string"}},
        }),
        output_schema: None,
        effect,
        handler,
    }
}

pub(crate) fn sql() -> ToolDescriptor {
    descriptor(
        "sql",
        WriteEffect::ReadOnly,
        handler_fn(|arguments, _| {
            assert_ne!(arguments["query"], "panic", "the tool panics");
            match arguments["query"].as_str() {
                Some("bad") => Err(ToolError::new("no such table `bad`")),
                query => Ok(ToolOutput::new(
                    format!("rows of {}", query.unwrap_or("nothing")),
                    json!({"secret": "rows"}),
                )),
            }
        }),
    )
}

pub(crate) fn request(tools: Vec<ToolDescriptor>, step_budget: u32) -> LoopRequest {
    LoopRequest {
        role: ModelRole::Default,
        system: "Be exact.".to_owned(),
        prompt: "Go.".to_owned(),
        tools: ToolSet::new(tools).expect("a tool set"),
        step_budget,
        transcript: None,
        on_step: None,
        cancel: CancellationToken::new(),
        label: label(),
    }
}

fn calls(id: &str, queries: &[&str]) -> wiremock::ResponseTemplate {
    let blocks: Vec<Value> = queries
        .iter()
        .enumerate()
        .map(|(number, query)| {
            tool_use(&format!("{id}-t{number}"), "sql", &json!({"query": query}))
        })
        .collect();
    message(id, "tool_use", &blocks)
}

fn results(body: &Value, message: usize) -> Vec<String> {
    body["messages"][message]["content"]
        .as_array()
        .expect("content")
        .iter()
        .map(|block| {
            format!(
                "{} {} {}",
                block["tool_use_id"].as_str().unwrap_or_default(),
                block["content"].as_str().unwrap_or_default(),
                block["is_error"]
            )
        })
        .collect()
}

/// KTX-54, KTX-58, KTX-66.
#[tokio::test]
async fn tool_answers_go_back_as_markdown_in_call_order() {
    let server = server(vec![
        calls("m1", &["a", "bad", "panic"]),
        message(
            "m2",
            "tool_use",
            &[
                tool_use("u1", "sql", &json!({"query": 7})),
                tool_use("u2", "nope", &json!({})),
            ],
        ),
        said("m3", "done"),
    ])
    .await;
    let (runtime, events) = anthropic(&server.uri(), "sonnet");
    let outcome = runtime.run_agent_loop(request(vec![sql()], 10)).await;
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.stop_reason, StopReason::Natural);
    assert_eq!(outcome.text.as_deref(), Some("done"));
    assert_eq!(
        (outcome.metrics.steps, outcome.metrics.tool_failures),
        (3, 4)
    );
    assert_eq!(outcome.metrics.step_boundaries.len(), 3);
    assert_eq!(events.lines().len(), 3);
    let sent = bodies(&server).await;
    assert_eq!(
        results(&sent[1], 2),
        [
            "m1-t0 rows of a null",
            "m1-t1 no such table `bad` true",
            "m1-t2 the tool failed inside; do not call it again with the same arguments true",
        ]
    );
    assert_eq!(
        results(&sent[2], 4),
        [
            "u1 MCP error -32602: Input validation error: Invalid arguments for tool sql: /query: 7 is not of type \"string\"\nhint: correct `query`\nsend instead: {\"query\":\"7\"} true",
            "u2 MCP error -32602: Tool nope not found; available: sql true",
        ]
    );
    assert!(!sent[2].to_string().contains("secret"));
    let structured: Vec<Option<&Value>> = outcome
        .tools
        .iter()
        .map(|trace: &ToolTrace| trace.structured.as_ref())
        .collect();
    assert_eq!(
        structured,
        [Some(&json!({"secret": "rows"})), None, None, None, None]
    );
}

/// KTX-60, KTX-65.
#[tokio::test]
async fn a_used_up_budget_is_budget_and_never_natural() {
    let turns = |count: usize| {
        (0..count)
            .map(|n| calls(&format!("m{n}"), &["a"]))
            .collect()
    };
    let server = server(turns(3)).await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let outcome = runtime.run_agent_loop(request(vec![sql()], 3)).await;
    assert_eq!(outcome.stop_reason, StopReason::Budget);
    assert_eq!((outcome.error, outcome.text), (None, None));
    assert_eq!((outcome.metrics.steps, outcome.tools.len()), (3, 3));
    assert_eq!(bodies(&server).await.len(), 3);
}

/// KTX-68, KTX-69: steps count from 1.
#[tokio::test]
async fn each_turn_reports_one_step_even_if_the_callback_fails() {
    let server = server(vec![
        calls("m1", &["a"]),
        calls("m2", &["b"]),
        said("m3", "done"),
    ])
    .await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let callback: StepCallback = {
        let seen = seen.clone();
        Arc::new(move |step| {
            seen.lock().unwrap().push((step.index, step.budget));
            match step.index {
                1 => Err("no".to_owned()),
                2 => panic!("no"),
                _ => Ok(()),
            }
        })
    };
    let mut asked = request(vec![sql()], 5);
    asked.on_step = Some(callback);
    let outcome = runtime.run_agent_loop(asked).await;
    assert_eq!(outcome.stop_reason, StopReason::Natural);
    assert_eq!(*seen.lock().unwrap(), [(1, 5), (2, 5), (3, 5)]);
}

struct MeetingTool {
    barrier: Arc<Barrier>,
}

#[async_trait]
impl ToolHandler for MeetingTool {
    async fn call(&self, arguments: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        self.barrier.wait().await;
        Ok(ToolOutput::text(format!("met {}", arguments["query"])))
    }
}

struct SoloTool {
    running: AtomicUsize,
}

#[async_trait]
impl ToolHandler for SoloTool {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        let others = self.running.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        Ok(ToolOutput::text(format!("beside {others}")))
    }
}

/// The barrier needs both reads.
#[tokio::test]
async fn reads_run_together_and_writes_alone() {
    let meet = |id: &str| tool_use(id, "meet", &json!({"query": id}));
    let write = |id: &str| tool_use(id, "write", &json!({}));
    let blocks = [meet("a"), meet("b"), write("c"), write("d")];
    let server = server(vec![message("m1", "tool_use", &blocks), said("m2", "done")]).await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let tools = vec![
        descriptor(
            "meet",
            WriteEffect::ReadOnly,
            Arc::new(MeetingTool {
                barrier: Arc::new(Barrier::new(2)),
            }),
        ),
        descriptor(
            "write",
            WriteEffect::Writes,
            Arc::new(SoloTool {
                running: AtomicUsize::new(0),
            }),
        ),
    ];
    let outcome = runtime.run_agent_loop(request(tools, 5)).await;
    assert_eq!(outcome.error, None);
    assert_eq!(
        results(&bodies(&server).await[1], 2),
        [
            "a met \"a\" null",
            "b met \"b\" null",
            "c beside 0 null",
            "d beside 0 null",
        ]
    );
}

struct StuckTool;

#[async_trait]
impl ToolHandler for StuckTool {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_stuck_tool_is_stopped_and_the_model_learns_it() {
    let stuck = message("m1", "tool_use", &[tool_use("a", "stuck", &json!({}))]);
    let server = server(vec![stuck, said("m2", "done")]).await;
    let mut settings = settings(ktx_vocabulary::Provider::Anthropic, "sonnet", &server.uri());
    settings.timeouts.tool = Duration::from_millis(20);
    let (runtime, _) = runtime(settings);
    let tools = vec![descriptor(
        "stuck",
        WriteEffect::ReadOnly,
        Arc::new(StuckTool),
    )];
    let outcome = runtime.run_agent_loop(request(tools, 5)).await;
    assert_eq!(outcome.stop_reason, StopReason::Natural);
    assert_eq!(
        outcome.tools[0].markdown,
        "the call took longer than 0.02 s and was stopped"
    );
}

/// KODE-57.
#[tokio::test]
async fn cancelling_while_a_tool_runs_ends_the_loop() {
    let stuck = message("m1", "tool_use", &[tool_use("a", "stuck", &json!({}))]);
    let server = server(vec![stuck]).await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let tools = vec![descriptor(
        "stuck",
        WriteEffect::ReadOnly,
        Arc::new(StuckTool),
    )];
    let mut asked = request(tools, 5);
    let cancel = CancellationToken::new();
    asked.cancel = cancel.clone();
    let callback: StepCallback = Arc::new(move |_| {
        cancel.cancel();
        Ok(())
    });
    asked.on_step = Some(callback);
    let outcome = runtime.run_agent_loop(asked).await;
    assert_eq!(
        outcome.error.map(|error| error.kind),
        Some(LlmErrorKind::Cancelled)
    );
    assert_eq!(outcome.tools[0].markdown, "the call was cancelled");
}

#[tokio::test]
async fn cut_arguments_are_never_executed() {
    let cut = include_str!("../../../../fixtures/providers/streams/anthropic_cut_arguments.sse");
    let server = server(vec![sse(cut), said("m2", "done")]).await;
    let (runtime, _) = anthropic(&server.uri(), "haiku");
    let write = descriptor(
        "write",
        WriteEffect::Writes,
        handler_fn(|_, _| Ok(ToolOutput::text("written"))),
    );
    let outcome = runtime.run_agent_loop(request(vec![write], 5)).await;
    assert_eq!(outcome.stop_reason, StopReason::Natural);
    assert_eq!(
        outcome.tools[0].markdown,
        "the arguments are not a complete JSON object; send the call again"
    );
}

/// KTX-67.
#[tokio::test]
async fn a_failure_in_the_middle_keeps_earlier_results() {
    let server = server(vec![
        calls("m1", &["a"]),
        refused(401, "authentication_error"),
    ])
    .await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let outcome = runtime.run_agent_loop(request(vec![sql()], 5)).await;
    assert_eq!(outcome.stop_reason, StopReason::Error);
    assert_eq!(
        outcome.error.map(|error| error.kind),
        Some(LlmErrorKind::Auth)
    );
    assert_eq!((outcome.tools.len(), outcome.metrics.steps), (1, 1));
}

#[tokio::test]
async fn a_budget_of_zero_is_refused() {
    let (runtime, _) = anthropic("http://localhost:1", "sonnet");
    let outcome = runtime.run_agent_loop(request(vec![sql()], 0)).await;
    assert_eq!(
        outcome.error.map(|error| error.kind),
        Some(LlmErrorKind::InvalidRequest)
    );
}

/// KTX-54.
#[tokio::test]
async fn a_long_answer_is_read_in_parts() {
    let cursor = json!({"_cursor": "part-1"});
    let server = server(vec![
        calls("m1", &["a"]),
        message("m2", "tool_use", &[tool_use("u1", "sql", &cursor)]),
        message("m3", "tool_use", &[tool_use("u2", "sql", &cursor)]),
        said("m4", "done"),
    ])
    .await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let mut tool = sql();
    tool.handler = handler_fn(|_, _| Ok(ToolOutput::new("x".repeat(600_000), json!({"n": 1}))));
    let outcome = runtime.run_agent_loop(request(vec![tool], 10)).await;
    assert_eq!(outcome.error, None);
    let note = "\n\n[cut: 100500 characters are left. Call the same tool with only {\"_cursor\": \"part-1\"} to read on.]";
    let seen: Vec<(&str, bool)> = outcome
        .tools
        .iter()
        .map(|trace| (&*trace.markdown, trace.is_error))
        .collect();
    let (head, tail) = (
        format!("{}{note}", "x".repeat(499_500)),
        "x".repeat(100_500),
    );
    let gone = "this part does not exist or was read already";
    assert!(seen == [(&*head, false), (&*tail, false), (gone, true)]);
    let sent = bodies(&server).await;
    assert!(results(&sent[1], 2) == [format!("m1-t0 {head} null")]);
    assert!(results(&sent[2], 4) == [format!("u1 {tail} null")]);
}

#[derive(Default)]
struct StoredTranscript {
    earlier: Vec<Message>,
    kept: Mutex<Vec<Message>>,
}

impl Transcript for StoredTranscript {
    fn earlier(&self) -> Vec<Message> {
        self.earlier.clone()
    }

    fn record(&self, message: &Message) {
        self.kept.lock().expect("no poison").push(message.clone());
    }
}

/// After results, after an answer whose calls did not run, and after the end.
#[tokio::test]
async fn a_loop_continues_where_another_was_cut() {
    let answers = || {
        vec![
            calls("m1", &["a", "bad"]),
            calls("m2", &["b"]),
            said("m3", "done"),
        ]
    };
    let whole = server(answers()).await;
    let (runtime, _) = anthropic(&whole.uri(), "sonnet");
    let notebook = Arc::new(StoredTranscript::default());
    let mut asked = request(vec![sql()], 10);
    asked.transcript = Some(notebook.clone());
    let outcome = runtime.run_agent_loop(asked).await;
    assert_eq!(outcome.text.as_deref(), Some("done"));
    let kept = notebook.kept.lock().expect("no poison").clone();
    assert_eq!(kept.len(), 5);
    let sent = bodies(&whole).await;
    for cut in 0..=kept.len() {
        // The first turns are in the transcript; the server has only the rest.
        let paid = cut.div_ceil(2);
        let rest = server(answers().split_off(paid)).await;
        let (runtime, _) = anthropic(&rest.uri(), "sonnet");
        let second = Arc::new(StoredTranscript {
            earlier: kept[..cut].to_vec(),
            kept: Mutex::default(),
        });
        let mut asked = request(vec![sql()], 10);
        asked.transcript = Some(second.clone());
        let outcome = runtime.run_agent_loop(asked).await;
        assert_eq!(outcome.text.as_deref(), Some("done"), "{cut}");
        assert_eq!(bodies(&rest).await, sent[paid..], "{cut}");
        let all = [&kept[..cut], &second.kept.lock().expect("no poison")].concat();
        assert_eq!(all, kept, "{cut}");
    }
}

#[tokio::test]
async fn a_continued_loop_has_the_remaining_turns() {
    let first = server(vec![calls("m1", &["a"]), calls("m2", &["b"])]).await;
    let (runtime, _) = anthropic(&first.uri(), "sonnet");
    let notebook = Arc::new(StoredTranscript::default());
    let mut asked = request(vec![sql()], 2);
    asked.transcript = Some(notebook.clone());
    assert_eq!(
        runtime.run_agent_loop(asked).await.stop_reason,
        StopReason::Budget
    );
    let earlier = notebook.kept.lock().expect("no poison").clone();
    let second = server(vec![calls("m3", &["c"])]).await;
    let (runtime, _) = anthropic(&second.uri(), "sonnet");
    let mut asked = request(vec![sql()], 3);
    asked.transcript = Some(Arc::new(StoredTranscript {
        earlier,
        kept: Mutex::default(),
    }));
    let outcome = runtime.run_agent_loop(asked).await;
    assert_eq!(
        (outcome.stop_reason, outcome.metrics.steps),
        (StopReason::Budget, 1)
    );
}
