//! Agent loops: tools, turns, budgets, both forms of results (KTX-54, KTX-57, KTX-60…70).

use std::sync::{Arc, Mutex};

use ktx_llm_runtime::{LlmRuntime as _, LoopStep, RunEvent, StopReason, ToolTrace};
use serde_json::{Value, json};

use crate::support::{TestSetup, loop_request, one_call, run_request};

fn call(name: &str, key: &str) -> Value {
    json!({ "name": name, "input": { "key": key } })
}

/// KTX-54, KTX-57.
#[tokio::test(flavor = "multi_thread")]
async fn a_loop_calls_tools_and_closes_with_text() {
    let bench = TestSetup::new(one_call());
    let outcome = bench
        .runtime()
        .run_agent_loop(loop_request("Work.", 5))
        .await;
    assert_eq!(
        (outcome.stop_reason, outcome.text.as_deref(), outcome.error),
        (StopReason::Natural, Some("All done."), None)
    );
    assert_eq!(
        outcome.tools,
        [ToolTrace {
            call_id: "toolu_0001".to_owned(),
            name: "answer".to_owned(),
            arguments: json!({ "key": "orders" }),
            markdown: "**orders**".to_owned(),
            structured: Some(json!({ "secret_face": "orders" })),
            is_error: false,
        }]
    );
    assert_eq!(
        (outcome.metrics.steps, outcome.metrics.tool_failures),
        (2, 0)
    );
    assert!(
        !bench
            .records()
            .remove(0)
            .to_string()
            .contains("secret_face")
    );
}

/// KTX-66.
#[tokio::test(flavor = "multi_thread")]
async fn failed_calls_are_counted_and_reported_to_the_model() {
    let bench = TestSetup::new(json!({ "steps": [
        { "tools": [call("fail", "k")] },
        { "tools": [call("panic", "k")] },
        { "tools": [{ "name": "answer", "input": { "key": 7 } }, { "name": "answer" }] },
        { "text": "Gave up." },
    ] }));
    let outcome = bench
        .runtime()
        .run_agent_loop(loop_request("Work.", 5))
        .await;
    assert_eq!(outcome.stop_reason, StopReason::Natural);
    let mut seen: Vec<(String, bool)> = outcome
        .tools
        .into_iter()
        .map(|trace| (trace.markdown, trace.is_error))
        .collect();
    seen.sort();
    let texts = [
        "MCP error -32602: Input validation error: Invalid arguments for tool answer: (root): \"key\" is a required property\nhint: add `key`",
        "MCP error -32602: Input validation error: Invalid arguments for tool answer: /key: 7 is not of type \"string\"\nhint: correct `key`\nsend instead: {\"key\":\"7\"}",
        "the tool failed inside; do not call it again with the same arguments",
        "there is no such table; try `orders`",
    ];
    assert_eq!(seen, texts.map(|text| (text.to_owned(), true)));
    assert_eq!(
        (outcome.metrics.tool_failures, outcome.metrics.steps),
        (4, 4)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_one_message_run_side_by_side() {
    let calls: Vec<Value> = (0..10)
        .map(|number| call("answer", &number.to_string()))
        .collect();
    let bench = TestSetup::new(json!({ "steps": [{ "tools": calls }, { "text": "All done." }] }));
    let outcome = bench
        .runtime()
        .run_agent_loop(loop_request("Work.", 5))
        .await;
    let answers: Vec<String> = outcome
        .tools
        .into_iter()
        .map(|trace| trace.markdown)
        .collect();
    let expected: Vec<String> = (0..10).map(|number| format!("**{number}**")).collect();
    assert_eq!((answers, outcome.metrics.steps), (expected, 2));
}

/// KTX-61, KTX-64, KTX-68, KTX-70.
#[tokio::test(flavor = "multi_thread")]
async fn a_used_up_budget_is_not_an_error() {
    let again = json!({ "tools": [call("answer", "k")] });
    let bench = TestSetup::new(json!({ "steps": vec![again; 9] }));
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&steps);
    let mut request = loop_request("Work.", 3);
    request.on_step = Some(Arc::new(move |step| {
        seen.lock().unwrap().push(step);
        Ok(())
    }));
    let outcome = bench.runtime().run_agent_loop(request).await;
    assert_eq!(
        (
            outcome.stop_reason,
            outcome.text,
            outcome.error,
            outcome.tools.len()
        ),
        (StopReason::Budget, None, None, 3)
    );
    let expected = [1, 2, 3].map(|index| LoopStep { index, budget: 3 });
    assert_eq!(*steps.lock().unwrap(), expected);
    assert_eq!(outcome.metrics.step_boundaries.len(), 3);
}

/// KTX-64.
#[tokio::test(flavor = "multi_thread")]
async fn any_sign_of_used_up_turns_is_a_used_up_budget() {
    for end in [
        json!({ "terminal_reason": "max_turns" }),
        json!({ "stop_reason": "max_turns" }),
    ] {
        let bench = TestSetup::new(json!({ "steps": [{ "text": "Half." }], "result": end }));
        let outcome = bench
            .runtime()
            .run_agent_loop(loop_request("Work.", 3))
            .await;
        assert_eq!(outcome.stop_reason, StopReason::Budget);
    }
}

/// KTX-69.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_callback_ends_nothing() {
    let bench = TestSetup::new(one_call());
    let mut request = loop_request("Work.", 3);
    request.on_step = Some(Arc::new(|step| match step.index {
        1 => Err("the board is full".to_owned()),
        _ => panic!("a bug in a callback"),
    }));
    let outcome = bench.runtime().run_agent_loop(request).await;
    assert_eq!(
        (outcome.stop_reason, outcome.metrics.steps),
        (StopReason::Natural, 2)
    );
}

/// KTX-54.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_result_is_read_in_parts() {
    let rest = json!({ "name": "flood", "input": { "_cursor": "part-1" } });
    let bench = TestSetup::new(json!({ "steps": [
        { "tools": [call("flood", "k")] }, { "tools": [rest] }, { "text": "All done." },
    ] }));
    let outcome = bench
        .runtime()
        .run_agent_loop(loop_request("Work.", 5))
        .await;
    let seen: Vec<(usize, Option<&str>)> = outcome
        .tools
        .iter()
        .map(|trace| trace.markdown.split_once("\n\n"))
        .zip(&outcome.tools)
        .map(|(cut, trace)| match cut {
            Some((head, note)) => (head.len(), Some(note)),
            None => (trace.markdown.len(), None),
        })
        .collect();
    let note = "[cut: 100500 characters are left. Call the same tool with only {\"_cursor\": \"part-1\"} to read on.]";
    assert_eq!(outcome.stop_reason, StopReason::Natural);
    assert_eq!(seen, [(499_500, Some(note)), (100_500, None)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_of_zero_starts_nothing() {
    let bench = TestSetup::new(one_call());
    let outcome = bench
        .runtime()
        .run_agent_loop(loop_request("Work.", 0))
        .await;
    assert_eq!(outcome.stop_reason, StopReason::Error);
    assert_eq!(bench.records(), Vec::<Value>::new());
}

/// KTX-68: its usage is counted.
#[tokio::test(flavor = "multi_thread")]
async fn nested_messages_are_paid_for_and_nothing_else() {
    let line = |line: Value| {
        let mut line = line;
        line["parent_tool_use_id"] = json!("toolu_parent");
        json!({ "raw": line })
    };
    let event = |event: Value| line(json!({ "type": "stream_event", "event": event }));
    let block = json!({ "type": "tool_use", "id": "toolu_in", "name": "Inner", "input": {} });
    let message = json!({ "id": "msg_in", "model": "inner", "role": "assistant", "content": [block],
        "usage": { "input_tokens": 11, "output_tokens": 1 } });
    let steps = json!([
        event(json!({ "type": "message_start", "message": message })),
        event(json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": "BAD" } })),
        line(json!({ "type": "assistant", "message": message })),
        { "text": "Ours." },
        event(json!({ "type": "message_delta", "usage": { "output_tokens": 5 } })),
        event(json!({ "type": "message_stop" })),
        line(json!({ "type": "user", "message": { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "toolu_in", "content": "BAD" },
        ] } })),
    ]);
    let bench = TestSetup::new(json!({ "steps": steps, "message_ids": "a" }));
    let mut handle = bench.runtime().start_run(run_request("Work."));
    let mut calls = Vec::new();
    while let Some(event) = handle.next_event().await {
        calls.push(match event {
            RunEvent::TextDelta(text) => text,
            RunEvent::UsageReport(fact) => {
                format!("{} {} {}", fact.message_id, fact.model, fact.usage.output)
            }
            other => format!("{other:?}"),
        });
    }
    assert_eq!(
        calls,
        [
            "Ou",
            "rs.",
            "msg_a_0001 fake-sonnet 20",
            "msg_in inner 5",
            "AssistantFinal(\"Ours.\")",
            "Done",
        ]
    );
    let outcome = bench
        .runtime()
        .run_agent_loop(loop_request("Work.", 5))
        .await;
    assert_eq!((outcome.metrics.steps, outcome.tools), (1, Vec::new()));
    assert_eq!(outcome.metrics.usage.input, 100 + 11);
}
