//! Runs: ordered events, one final record.

use ktx_llm_runtime::{
    ContentBlock, LlmErrorKind, LlmRuntime as _, MediaSource, Message, MessageRole, RunEvent,
    RunFinal, RunHandle, RunRequest,
};
use ktx_tool_descriptors::{ToolDescriptor, ToolOutput, WriteEffect, handler_fn};
use serde_json::json;

use crate::fake::{anthropic, bodies, label, message, said, server, sse, tool_use};

pub(crate) fn request(step_budget: u32) -> RunRequest {
    let tool = ToolDescriptor {
        name: "sql".to_owned(),
        title: "sql".to_owned(),
        description: "asks".to_owned(),
        input_schema: json!({"type": "object"}),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: handler_fn(|_, _| Ok(ToolOutput::text("rows"))),
    };
    let asked = crate::agent::request(vec![tool], step_budget);
    RunRequest {
        role: asked.role,
        system: asked.system,
        messages: vec![
            Message::text(MessageRole::User, "Hello."),
            Message::text(MessageRole::Assistant, "Hi."),
            Message::text(MessageRole::User, "Go."),
        ],
        tools: asked.tools,
        step_budget,
        deltas: ktx_llm_runtime::Deltas::AsTheyCome,
        hook: None,
        settings: ktx_llm_runtime::CallSettings::default(),
        cancel: asked.cancel,
        label: label(),
        trace_id: None,
        ingress_request_id: Some("q7".to_owned()),
    }
}

async fn read(mut handle: RunHandle) -> (Vec<String>, RunFinal) {
    let mut lines = Vec::new();
    while let Some(event) = handle.next_event().await {
        lines.push(match event {
            RunEvent::TextDelta(text) => format!("text {text}"),
            RunEvent::ReasoningDelta(text) => format!("reasoning {text}"),
            RunEvent::ToolCallStart { call_id, name, .. } => format!("start {call_id} {name}"),
            RunEvent::ToolCallResult {
                call_id, markdown, ..
            } => format!("result {call_id} {markdown}"),
            RunEvent::UsageReport(fact) => format!("usage {}", fact.message_id),
            RunEvent::Status(text) => format!("status {text}"),
            RunEvent::Error(error) => format!("error {error}"),
            RunEvent::AssistantFinal(text) => format!("final {text}"),
            RunEvent::Done => "done".to_owned(),
        });
    }
    (lines, handle.finish().await)
}

/// COG-03, COG-05.
#[tokio::test]
async fn a_run_reports_everything_in_order_and_ends_once() {
    let turn = message(
        "m1",
        "tool_use",
        &[
            json!({"type": "text", "text": "Looking."}),
            tool_use("t1", "sql", &json!({})),
        ],
    );
    let server = server(vec![turn, said("m2", "42")]).await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let (lines, last) = read(runtime.start_run(request(5))).await;
    assert_eq!(
        lines,
        [
            "status asking claude-sonnet-5-5",
            "text Looking.",
            "usage m1",
            "start t1 sql",
            "result t1 rows",
            "text 42",
            "usage m2",
            "final 42",
            "done",
        ]
    );
    assert_eq!(last.result, Ok("42".to_owned()));
    assert_eq!(last.request_id.as_deref(), Some("q7"));
    assert_eq!(last.usage.output, 14);
    assert_eq!(
        bodies(&server).await[0]["messages"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
}

#[tokio::test]
async fn a_run_whose_turns_are_used_up_fails_with_max_turns() {
    let turn = message("m1", "tool_use", &[tool_use("t1", "sql", &json!({}))]);
    let server = server(vec![turn]).await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let last = runtime.start_run(request(1)).finish().await;
    assert_eq!(
        last.result.map_err(|error| error.kind),
        Err(LlmErrorKind::MaxTurns)
    );
    assert_eq!(last.usage.output, 7, "the bill arrives without a listener");
}

#[tokio::test]
async fn text_that_was_shown_is_never_repeated() {
    let broken =
        include_str!("../../../../fixtures/providers/streams/anthropic_error_after_text.sse");
    let server = server(vec![sse(broken), said("m2", "again")]).await;
    let (runtime, _) = anthropic(&server.uri(), "haiku");
    let (lines, last) = read(runtime.start_run(request(5))).await;
    assert_eq!(
        lines,
        [
            "status asking claude-haiku-5-5",
            "text Half an ans",
            "usage msg_02",
            "error the provider failed",
            "done",
        ]
    );
    assert_eq!(
        last.result.map_err(|error| error.kind),
        Err(LlmErrorKind::Server)
    );
    assert_eq!(bodies(&server).await.len(), 1);
}

/// KODE-05.
#[tokio::test]
async fn omitted_media_are_reported_once() {
    let turn = message("m1", "tool_use", &[tool_use("t1", "sql", &json!({}))]);
    let server = server(vec![turn, said("m2", "42")]).await;
    let (runtime, events) = anthropic(&server.uri(), "sonnet");
    let mut asked = request(5);
    asked.messages.push(Message::new(
        MessageRole::User,
        vec![ContentBlock::Audio {
            source: MediaSource {
                filename: Some("call.wav".to_owned()),
                ..MediaSource::default()
            },
        }],
    ));
    let last = runtime.start_run(asked).finish().await;
    assert_eq!(last.result, Ok("42".to_owned()));
    let lines: Vec<String> = events
        .lines()
        .into_iter()
        .filter(|line| line.starts_with("warning"))
        .collect();
    assert_eq!(
        lines,
        ["warning audio `call.wav` was left out: this model cannot read it"]
    );
    let bodies = bodies(&server).await;
    assert!(
        bodies[1]
            .to_string()
            .contains("[audio `call.wav` was left out: this model cannot read it]")
    );
}
