//! The run handle: ordered events and one final record in every case (COG-03…06, COG-17…25).

use ktx_llm_runtime::{
    ContentBlock, LlmErrorKind, LlmRuntime as _, MediaSource, Message, MessageRole, RunEvent,
    RunHandle, RuntimeEvent, TokenUsage,
};
use serde_json::json;

use crate::support::{TestSetup, kill, one_call, run_request, until};

async fn events(handle: &mut RunHandle) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(event) = handle.next_event().await {
        all.push(match event {
            RunEvent::TextDelta(text) => format!("text {text}"),
            RunEvent::ReasoningDelta(text) => format!("reasoning {text}"),
            RunEvent::ToolCallStart {
                name, arguments, ..
            } => format!("start {name} {arguments}"),
            RunEvent::ToolCallResult {
                markdown, is_error, ..
            } => {
                format!("result {markdown} {is_error}")
            }
            RunEvent::UsageReport(fact) => format!("usage {}", fact.reference()),
            RunEvent::Status(status) => format!("status {status}"),
            RunEvent::Error(error) => format!("error {:?}", error.kind),
            RunEvent::AssistantFinal(text) => format!("final {text}"),
            RunEvent::Done => "done".to_owned(),
        });
    }
    all
}

/// COG-05, COG-06.
#[tokio::test(flavor = "multi_thread")]
async fn events_come_in_order() {
    let bench = TestSetup::new(one_call());
    let mut handle = bench.runtime().start_run(run_request("Work."));
    assert_eq!(
        events(&mut handle).await,
        [
            "start answer {\"key\":\"orders\"}",
            "usage run-1/0/msg_a_0001",
            "result **orders** false",
            "text All ",
            "text done.",
            "usage run-1/0/msg_a_0002",
            "final All done.",
            "done",
        ]
    );
    let last = handle.finish().await;
    assert_eq!(last.run_id.as_str(), "run-1");
    assert_eq!(last.request_id.as_deref(), Some("request-1"));
    assert_eq!(last.result.as_deref(), Ok("All done."));
    let two = TokenUsage {
        input: 200,
        cache_write_5m: 20,
        cache_write_1h: 40,
        cache_read: 14,
        output: 40,
        reasoning: 0,
    };
    assert_eq!(last.usage, two);
}

/// COG-04.
#[tokio::test(flavor = "multi_thread")]
async fn the_conversation_is_the_prompt() {
    let bench = TestSetup::new(one_call());
    let mut request = run_request("How many orders?");
    request
        .messages
        .push(Message::text(MessageRole::Assistant, "Seven."));
    request
        .messages
        .push(Message::text(MessageRole::User, "And customers?"));
    bench.runtime().start_run(request).finish().await;
    let prompt = bench.records().remove(0)["prompt"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        prompt,
        "<message role=\"user\">\nHow many orders?\n</message>\n\n<message role=\"assistant\">\nSeven.\n</message>\n\n<message role=\"user\">\nAnd customers?\n</message>\n\nWrite the next assistant message of this conversation."
    );
}

/// COG-25.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_has_one_final_record() {
    let bench = TestSetup::new(
        json!({ "message_ids": "a", "steps": [{ "tools": [{ "name": "answer", "input": { "key": "k" } }] }, "die"] }),
    );
    let mut handle = bench.runtime().start_run(run_request("Work."));
    assert_eq!(
        events(&mut handle).await,
        [
            "start answer {\"key\":\"k\"}",
            "usage run-1/0/msg_a_0001",
            "result **k** false",
            "error Crashed",
            "done",
        ]
    );
    let last = handle.finish().await;
    let error = last.result.unwrap_err();
    assert_eq!(
        (error.kind, error.kind.run_code().as_str()),
        (LlmErrorKind::Crashed, "internal")
    );
    assert_eq!(last.usage.input, 100);
}

/// COG-03.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_without_listeners() {
    let bench = TestSetup::new(one_call());
    let last = bench
        .runtime()
        .start_run(run_request("Work."))
        .finish()
        .await;
    assert_eq!(
        (last.result.as_deref(), last.usage.output),
        (Ok("All done."), 40)
    );
}

/// COG-18.
#[tokio::test(flavor = "multi_thread")]
async fn used_up_turns_are_a_timeout_outside() {
    let again = json!({ "tools": [{ "name": "answer", "input": { "key": "k" } }] });
    let bench = TestSetup::new(json!({ "steps": vec![again; 9] }));
    let last = bench
        .runtime()
        .start_run(run_request("Work."))
        .finish()
        .await;
    let error = last.result.unwrap_err();
    assert_eq!(
        (error.kind, error.kind.run_code().as_str()),
        (LlmErrorKind::MaxTurns, "timeout")
    );
}

/// COG-22.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_is_aborted() {
    let bench = TestSetup::new(json!({ "steps": [
        { "tools": [{ "name": "answer", "input": { "key": "k" } }] }, "hang",
    ] }));
    let request = run_request("Work.");
    let cancel = request.cancel.clone();
    let mut handle = bench.runtime().start_run(request);
    while let Some(event) = handle.next_event().await {
        if matches!(event, RunEvent::ToolCallResult { .. }) {
            cancel.cancel();
        }
    }
    let last = handle.finish().await;
    let error = last.result.unwrap_err();
    assert_eq!(
        (error.kind.run_code().as_str(), last.usage.input),
        ("aborted", 100)
    );
    assert_eq!(bench.records().remove(0)["seen"], json!(["interrupted"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_content_ends_the_run_at_once() {
    let bench = TestSetup::new(one_call());
    let mut request = run_request("Look.");
    request.messages.push(Message::new(
        MessageRole::User,
        vec![ContentBlock::Image {
            source: MediaSource::default(),
        }],
    ));
    let last = bench.runtime().start_run(request).finish().await;
    assert_eq!(last.result.unwrap_err().kind, LlmErrorKind::InvalidRequest);
    assert!(bench.records().is_empty());
}

/// COG-03, COG-25.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_without_its_handle() {
    let bench = TestSetup::new(one_call());
    drop(bench.runtime().start_run(run_request("Work.")));
    let billed = || {
        let events = bench.events().into_iter();
        events
            .filter_map(|event| match event {
                RuntimeEvent::Usage(fact) => Some((fact.message_id, fact.usage.output)),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    let both = [("msg_a_0001".to_owned(), 20), ("msg_a_0002".to_owned(), 20)];
    until("both messages are billed", || billed() == both).await;
    until("no process remains", || {
        bench.survivors().is_empty() && bench.notes() == 0
    })
    .await;
    assert_eq!(bench.records().remove(0)["ending"], "done");
}

/// COG-03, COG-25: more unread events than the channel holds.
#[tokio::test(flavor = "multi_thread")]
async fn unread_events_hold_up_nothing() {
    let delta = json!({ "raw": { "type": "stream_event", "parent_tool_use_id": null, "event": {
        "type": "content_block_delta", "delta": { "type": "text_delta", "text": "x" },
    } } });
    let mut steps = vec![delta; 2000];
    steps.push(json!({ "text": "All done." }));
    let bench = TestSetup::new(json!({ "steps": steps }));
    let handle = bench.runtime().start_run(run_request("Work."));
    until("the child has ended", || bench.records().len() == 1).await;
    let last = handle.finish().await;
    assert_eq!(last.result.as_deref(), Ok("All done."));
}

/// COG-17, COG-18.
#[tokio::test(flavor = "multi_thread")]
async fn every_ending_has_its_code() {
    let table = [
        ("error_max_turns", "timeout"),
        ("error_max_budget_usd", "rate_limit"),
        ("error_during_execution", "internal"),
        ("error_max_structured_output_retries", "internal"),
        ("error_of_tomorrow", "internal"),
    ];
    for (subtype, code) in table {
        let ending = json!({ "subtype": subtype, "is_error": true, "result": null,
            "terminal_reason": null, "stop_reason": null });
        let bench = TestSetup::new(json!({ "steps": [{ "text": "So far." }, { "end": ending }] }));
        let last = bench
            .runtime()
            .start_run(run_request("Work."))
            .finish()
            .await;
        let error = last.result.unwrap_err();
        assert_eq!(error.kind.run_code().as_str(), code, "{subtype}: {error:?}");
    }
}

/// COG-19.
#[tokio::test(flavor = "multi_thread")]
async fn no_event_of_a_run_contains_text_of_the_backend() {
    let words = "WORDS-OF-THE-BACKEND";
    let version = format!("2.1.330.{words}\n");
    let plugin = json!({ "name": format!("{words}\u{1b}[2J"), "path": "builtin" });
    let scenarios = [
        json!({ "steps": [{ "api_error": { "class": "server_error", "status": 500, "text": words } }] }),
        json!({ "steps": [{ "complain": words }, { "exit": 3 }] }),
        json!({ "steps": [{ "end": { "subtype": "error_during_execution", "is_error": true,
            "errors": [words], "result": words } }] }),
        json!({ "init": { "tools": [words] } }),
        json!({ "init": { "claude_code_version": version, "plugins": [plugin] }, "steps": [{ "text": "ok" }] }),
    ];
    for scenario in scenarios {
        let bench = TestSetup::new(scenario.clone());
        let mut handle = bench.runtime().start_run(run_request("Work."));
        let mut outward = Vec::new();
        while let Some(event) = handle.next_event().await {
            outward.push(format!("{event:?}"));
        }
        let last = handle.finish().await;
        outward.push(format!("{last:?}"));
        outward.extend(bench.events().iter().map(|event| format!("{event:?}")));
        let leaks: Vec<&String> = outward.iter().filter(|text| text.contains(words)).collect();
        assert_eq!(leaks, Vec::<&String>::new(), "{scenario}");
    }
}

/// COG-15.
#[tokio::test(flavor = "multi_thread")]
async fn two_runs_report_each_message_once() {
    let bench = TestSetup::new(one_call());
    let runtime = bench.runtime();
    let runs = ["run-1", "run-2"].map(|run| {
        let mut request = run_request("Work.");
        request.label.run_id = ktx_vocabulary::RunId::parse(run).unwrap();
        runtime.start_run(request)
    });
    let mut listened = Vec::new();
    for mut run in runs {
        let of_run = events(&mut run).await.into_iter();
        listened.extend(of_run.filter(|line| line.starts_with("usage ")));
        assert_eq!(run.finish().await.result.as_deref(), Ok("All done."));
    }
    let mut reported: Vec<String> = bench
        .events()
        .iter()
        .filter_map(|event| match event {
            RuntimeEvent::Usage(fact) => Some(format!("usage {}", fact.reference())),
            _ => None,
        })
        .collect();
    reported.sort();
    let expected = [
        "usage run-1/0/msg_a_0001",
        "usage run-1/0/msg_a_0002",
        "usage run-2/0/msg_a_0001",
        "usage run-2/0/msg_a_0002",
    ];
    assert_eq!(
        (listened, reported),
        (
            expected.map(str::to_owned).to_vec(),
            expected.map(str::to_owned).to_vec()
        )
    );
}

/// COG-03, COG-25.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_child_has_one_final_record() {
    let bench = TestSetup::new(json!({ "message_ids": "a", "steps": [
        { "broken_stream": "Half of it" }, { "mark": "working" }, "hang",
    ] }));
    let marker = bench.settings.project_dir.join("working");
    let mut handle = bench.runtime().start_run(run_request("Work."));
    until("the model works", || marker.exists()).await;
    kill(&std::fs::read_to_string(&marker).unwrap());
    assert_eq!(
        events(&mut handle).await,
        [
            "text Half of it",
            "usage run-1/0/msg_a_0001",
            "error Crashed",
            "done",
        ]
    );
    let last = handle.finish().await;
    let error = last.result.unwrap_err();
    let code = error.kind.run_code();
    assert_eq!(
        (code.as_str(), &*error.message, last.usage.input),
        (
            "internal",
            "Claude Code ended by signal 9 before it gave a result",
            100
        )
    );
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
}

/// COG-25.
#[test]
fn a_run_that_is_lost_has_one_final_record() {
    let bench = TestSetup::new(json!({ "steps": ["hang"] }));
    let threads = tokio::runtime::Runtime::new().unwrap();
    let handle = threads.block_on(async { bench.runtime().start_run(run_request("Work.")) });
    threads.shutdown_background();
    let other = tokio::runtime::Runtime::new().unwrap();
    let last = other.block_on(handle.finish());
    let error = last.result.unwrap_err();
    assert_eq!(
        (last.run_id.as_str(), last.request_id.as_deref()),
        ("run-1", Some("request-1"))
    );
    assert_eq!(
        (error.kind.run_code().as_str(), &*error.message),
        ("internal", "the run ended without a result")
    );
    other.block_on(until("no process remains", || bench.survivors().is_empty()));
}
