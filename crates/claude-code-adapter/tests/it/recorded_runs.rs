//! Recorded loops of the real program, replayed by a process.

use std::path::PathBuf;

use ktx_llm_runtime::{LlmRuntime as _, RunEvent, RunFinal, UsageFact};
use ktx_tool_descriptors::{ToolDescriptor, ToolOutput, ToolSet, WriteEffect, handler_fn};
use serde_json::{Value, json};

use crate::support::{TestSetup, run_request};

fn recording(version: &str, name: &str) -> PathBuf {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/claude");
    let file = fixtures.join(version).join(name);
    file.canonicalize().unwrap()
}

fn tools() -> ToolSet {
    let tool = |name: &str, required: Value, answer: &'static str| ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: json!({ "type": "object", "required": required }),
        output_schema: None,
        effect: WriteEffect::Writes,
        handler: handler_fn(move |_, _| Ok(ToolOutput::text(answer))),
    };
    ToolSet::new(vec![
        tool("read_file", json!(["path"]), "# file\nhello"),
        tool("emit", json!(["key"]), "stored"),
    ])
    .unwrap()
}

async fn run(version: &str, name: &str) -> (Vec<RunEvent>, RunFinal) {
    let bench = TestSetup::new(json!({ "replay": recording(version, name) }));
    let mut request = run_request("Do the work.");
    request.tools = tools();
    let mut handle = bench.runtime().start_run(request);
    let mut events = Vec::new();
    while let Some(event) = handle.next_event().await {
        events.push(event);
    }
    let last = handle.finish().await;
    assert_eq!(bench.survivors(), Vec::<u32>::new());
    (events, last)
}

fn usage(fact: &UsageFact) -> String {
    let used = &fact.usage;
    format!(
        "usage_report {} {} input {} writes {}+{} reads {} output {}",
        fact.reference(),
        fact.model,
        used.input,
        used.cache_write_5m,
        used.cache_write_1h,
        used.cache_read,
        used.output
    )
}

/// COG-05 defines the event names.
fn line(event: &RunEvent) -> String {
    match event {
        RunEvent::TextDelta(text) => format!("text_delta {text:?}"),
        RunEvent::ReasoningDelta(text) => format!("reasoning_delta {text:?}"),
        RunEvent::ToolCallStart {
            call_id,
            name,
            arguments,
        } => format!("tool_call_start {call_id} {name} {arguments}"),
        RunEvent::ToolCallResult {
            call_id,
            markdown,
            is_error,
        } => format!("tool_call_result {call_id} {markdown:?} error {is_error}"),
        RunEvent::UsageReport(fact) => usage(fact),
        RunEvent::Status(status) => format!("status {status}"),
        RunEvent::Error(error) => format!("error {:?} {}", error.kind, error.message),
        RunEvent::AssistantFinal(text) => format!("assistant_final {text:?}"),
        RunEvent::Done => "done".to_owned(),
    }
}

fn lines(events: &[RunEvent]) -> String {
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[derive(Debug, PartialEq)]
struct RecordedMessage {
    id: String,
    text: String,
    calls: Vec<String>,
}

fn recorded_messages(version: &str, name: &str) -> Vec<RecordedMessage> {
    let text = std::fs::read_to_string(recording(version, name)).unwrap();
    let mut messages: Vec<RecordedMessage> = Vec::new();
    for event in text.lines().map(serde_json::from_str::<Value>) {
        let message = &event.unwrap()["line"]["message"];
        if message["role"] != "assistant" {
            continue;
        }
        let id = message["id"].as_str().unwrap();
        if messages.last().is_none_or(|last| last.id != id) {
            messages.push(RecordedMessage {
                id: id.to_owned(),
                text: String::new(),
                calls: Vec::new(),
            });
        }
        let last = messages.last_mut().unwrap();
        let block = &message["content"][0];
        last.text
            .push_str(block["text"].as_str().unwrap_or_default());
        last.calls.extend(block["id"].as_str().map(str::to_owned));
    }
    messages
}

/// COG-05.
fn check_order(events: &[RunEvent], messages: &[RecordedMessage]) {
    let mut open = Vec::new();
    let (mut text, mut calls) = (String::new(), Vec::new());
    let mut whole: Vec<RecordedMessage> = Vec::new();
    for event in events {
        match event {
            RunEvent::TextDelta(piece) => text.push_str(piece),
            RunEvent::ToolCallStart { call_id, .. } => {
                open.push(call_id.clone());
                calls.push(call_id.clone());
            }
            RunEvent::ToolCallResult { call_id, .. } => {
                let started = open.iter().position(|open| open == call_id);
                open.remove(started.expect("a call starts before its result"));
            }
            RunEvent::UsageReport(fact) => whole.push(RecordedMessage {
                id: fact.message_id.clone(),
                text: std::mem::take(&mut text),
                calls: std::mem::take(&mut calls),
            }),
            RunEvent::ReasoningDelta(_)
            | RunEvent::Status(_)
            | RunEvent::Error(_)
            | RunEvent::AssistantFinal(_)
            | RunEvent::Done => {}
        }
    }
    assert_eq!((whole.as_slice(), open), (messages, Vec::new()));
    let at = |wanted: fn(&RunEvent) -> bool| -> Vec<usize> {
        let places = events.iter().enumerate();
        let places = places.filter(|(_, event)| wanted(event));
        places.map(|(at, _)| events.len() - at).collect()
    };
    let is_end =
        |event: &RunEvent| matches!(event, RunEvent::AssistantFinal(_) | RunEvent::Error(_));
    assert_eq!(
        at(is_end),
        [2],
        "the answer or the error is the last but one"
    );
    assert_eq!(at(|event| *event == RunEvent::Done), [1], "`done` is last");
}

/// COG-05, COG-06, COG-09.
#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_loop_is_these_events() {
    let (events, last) = run("v2.1.142", "adapter-loop.jsonl").await;
    check_order(
        &events,
        &recorded_messages("v2.1.142", "adapter-loop.jsonl"),
    );
    insta::assert_snapshot!(lines(&events), @r##"
    text_delta "Reading two files."
    tool_call_start toolu_0001_2 read_file {"path":"a.md"}
    tool_call_start toolu_0001_3 read_file {"path":"b.md"}
    usage_report run-1/0/msg_0001 claude-sonnet-4-6 input 1000 writes 60+0 reads 50 output 300
    tool_call_result toolu_0001_2 "# file\nhello" error false
    tool_call_result toolu_0001_3 "# file\nhello" error false
    tool_call_start toolu_0002_0 emit {"key":"k1","value":1}
    usage_report run-1/0/msg_0002 claude-sonnet-4-6 input 2000 writes 0+0 reads 0 output 40
    tool_call_result toolu_0002_0 "stored" error false
    text_delta "All done."
    usage_report run-1/0/msg_0003 claude-sonnet-4-6 input 3000 writes 0+0 reads 0 output 5
    assistant_final "All done."
    done
    "##);
    assert_eq!(last.result.as_deref(), Ok("All done."));
    let (events, last) = run("v2.1.330", "adapter-loop.jsonl").await;
    check_order(
        &events,
        &recorded_messages("v2.1.330", "adapter-loop.jsonl"),
    );
    insta::assert_snapshot!(lines(&events), @r##"
    text_delta "Reading two files."
    tool_call_start toolu_0001_2 read_file {"path":"a.md"}
    tool_call_start toolu_0001_3 read_file {"path":"b.md"}
    usage_report run-1/0/msg_0001 claude-sonnet-5-5 input 1000 writes 60+0 reads 50 output 300
    tool_call_result toolu_0001_2 "# file\nhello" error false
    tool_call_result toolu_0001_3 "# file\nhello" error false
    tool_call_start toolu_0002_0 emit {"key":"k1","value":1}
    usage_report run-1/0/msg_0002 claude-sonnet-5-5 input 2000 writes 0+0 reads 0 output 40
    tool_call_result toolu_0002_0 "stored" error false
    text_delta "All done."
    usage_report run-1/0/msg_0003 claude-sonnet-5-5 input 3000 writes 0+0 reads 0 output 5
    assistant_final "All done."
    done
    "##);
    assert_eq!(last.result.as_deref(), Ok("All done."));
}

/// COG-05, COG-06.
#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_loop_without_turns_is_these_events() {
    let (events, last) = run("v2.1.330", "adapter-loop-budget.jsonl").await;
    check_order(
        &events,
        &recorded_messages("v2.1.330", "adapter-loop-budget.jsonl"),
    );
    insta::assert_snapshot!(lines(&events), @r##"
    tool_call_start toolu_0001_0 read_file {"path":"a.md"}
    usage_report run-1/0/msg_0001 claude-sonnet-5-5 input 100 writes 0+0 reads 0 output 20
    tool_call_result toolu_0001_0 "# file\nhello" error false
    tool_call_start toolu_0002_0 read_file {"path":"a.md"}
    usage_report run-1/0/msg_0002 claude-sonnet-5-5 input 100 writes 0+0 reads 0 output 20
    tool_call_result toolu_0002_0 "# file\nhello" error false
    tool_call_start toolu_0003_0 read_file {"path":"a.md"}
    usage_report run-1/0/msg_0003 claude-sonnet-5-5 input 100 writes 0+0 reads 0 output 20
    tool_call_result toolu_0003_0 "# file\nhello" error false
    error MaxTurns the model used up its turns before it answered
    done
    "##);
    assert_eq!(last.result.unwrap_err().kind.run_code().as_str(), "timeout");
}
