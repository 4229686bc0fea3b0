//! Children, tools and models that crash or never finish.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_llm_runtime::{
    LlmErrorKind, LlmRuntime as _, RunEvent, RuntimeEvent, StopReason, UsageKind,
};
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
};
use serde_json::{Value, json};

use crate::support::{
    TestSetup, loop_request, object_request, run_request, short, text_request, until,
};

fn reported(bench: &TestSetup) -> (Vec<(u32, &'static str)>, Vec<String>) {
    let events = bench.event_log.all();
    let retries = events.iter().filter_map(|event| match event {
        RuntimeEvent::Retry { attempt, code } => Some((*attempt, code.as_str())),
        _ => None,
    });
    let paid = events.iter().filter_map(|event| match event {
        RuntimeEvent::Usage(fact) => Some(fact.message_id.clone()),
        _ => None,
    });
    (retries.collect(), paid.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_child_is_followed_by_one_other() {
    let crashed =
        json!({ "message_ids": "a", "steps": [{ "broken_stream": "Half" }, { "exit": 1 }] });
    let whole = json!({ "message_ids": "b", "steps": [{ "text": "Whole." }] });
    let bench = TestSetup::new(json!({ "sequence": [crashed, whole] }));
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    assert_eq!(outcome.text, "Whole.");
    let paid = vec!["msg_a_0001".to_owned(), "msg_b_0001".to_owned()];
    assert_eq!(reported(&bench), (vec![(2, "llm_crashed")], paid));
    let alone = TestSetup::new(json!({ "steps": [{ "text": "Whole." }] }));
    let one = alone
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    assert!(outcome.metrics.usage.total() > one.metrics.usage.total());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_other_is_enough() {
    for (scenario, kind, children) in [
        (
            json!({ "steps": [{ "exit": 1 }] }),
            LlmErrorKind::Crashed,
            2,
        ),
        (
            json!({ "before": [{ "exit": 3 }] }),
            LlmErrorKind::Process,
            1,
        ),
    ] {
        let bench = TestSetup::new(scenario);
        let outcome = bench
            .runtime()
            .generate_object(object_request("Look."))
            .await;
        assert_eq!(short(outcome).0, kind);
        assert_eq!(bench.records().len(), children);
    }
}

/// A loop may have written something.
#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_loop_is_not_repeated() {
    let bench = TestSetup::new(json!({ "steps": [
        { "tools": [{ "name": "answer", "input": { "key": "k" } }] }, { "exit": 1 },
    ] }));
    let outcome = bench
        .runtime()
        .run_agent_loop(loop_request("Work.", 5))
        .await;
    assert_eq!(
        outcome.error.map(|error| error.kind),
        Some(LlmErrorKind::Crashed)
    );
    assert_eq!((bench.records().len(), outcome.tools.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn heartbeats_do_not_hold_a_call_for_ever() {
    let beat = [
        json!({ "raw": { "type": "keep_alive" } }),
        json!({ "sleep": 100 }),
    ];
    let steps: Vec<Value> = beat.iter().cycle().take(600).cloned().collect();
    let mut bench = TestSetup::new(json!({ "steps": steps }));
    bench.settings.timeouts.idle = Duration::from_millis(1500);
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    let expected = "Claude Code was running but did not work for 1.5 s";
    assert_eq!(short(outcome), (LlmErrorKind::Timeout, expected.to_owned()));
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
}

struct StuckTool;

#[async_trait]
impl ToolHandler for StuckTool {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        std::future::pending().await
    }
}

pub(crate) fn stuck() -> ToolSet {
    let tool = ToolDescriptor {
        name: "stuck".to_owned(),
        title: "Stuck".to_owned(),
        description: "Never ends.".to_owned(),
        input_schema: json!({ "type": "object", "properties": {} }),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: Arc::new(StuckTool),
    };
    ToolSet::new(vec![tool]).unwrap()
}

fn call_of_stuck() -> Value {
    json!({ "tools": [{ "name": "stuck", "input": {} }] })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_has_a_deadline() {
    let mut bench =
        TestSetup::new(json!({ "steps": [call_of_stuck(), { "text": "Without it." }] }));
    bench.settings.timeouts.tool = Duration::from_millis(500);
    let mut request = loop_request("Work.", 5);
    request.tools = stuck();
    let outcome = bench.runtime().run_agent_loop(request).await;
    let calls: Vec<(String, bool)> = outcome
        .tools
        .into_iter()
        .map(|trace| (trace.markdown, trace.is_error))
        .collect();
    let message = "the call took longer than 0.5 s and was stopped".to_owned();
    assert_eq!(calls, [(message, true)]);
    assert_eq!(outcome.text.as_deref(), Some("Without it."));
}

/// COG-06.
#[tokio::test(flavor = "multi_thread")]
async fn an_open_call_ends_with_its_run() {
    let bench = TestSetup::new(json!({ "steps": [call_of_stuck()] }));
    let mut request = run_request("Work.");
    request.tools = stuck();
    let cancel = request.cancel.clone();
    let mut handle = bench.runtime().start_run(request);
    let mut ends = Vec::new();
    while let Some(event) = handle.next_event().await {
        match event {
            RunEvent::ToolCallStart { .. } => cancel.cancel(),
            RunEvent::ToolCallResult {
                markdown, is_error, ..
            } => ends.push((markdown, is_error)),
            _ => {}
        }
    }
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert!(ends.iter().all(|(_, is_error)| *is_error), "{ends:?}");
}

/// KTX-64.
#[tokio::test(flavor = "multi_thread")]
async fn turns_are_counted_here_too() {
    let said = |number: u32| {
        json!({ "raw": {
            "type": "assistant", "parent_tool_use_id": null,
            "message": { "id": format!("msg_{number}"), "model": "m", "content": [
                { "type": "tool_use", "id": format!("toolu_{number}"), "name": "mcp__ktx__answer", "input": {} },
            ] },
        } })
    };
    let answered = |number: u32| {
        json!({ "raw": {
            "type": "user", "parent_tool_use_id": null, "message": { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": format!("toolu_{number}"), "content": "**k**" },
            ] },
        } })
    };
    let mut steps: Vec<Value> = (1..=20).flat_map(|n| [said(n), answered(n)]).collect();
    steps.push(json!("hang"));
    let bench = TestSetup::new(json!({ "steps": steps }));
    let outcome = bench
        .runtime()
        .run_agent_loop(loop_request("Work.", 3))
        .await;
    assert_eq!(
        (outcome.stop_reason, outcome.error, outcome.metrics.steps),
        (StopReason::Budget, None, 8)
    );
}

/// COG-14.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_outside_messages_are_reported() {
    let used = json!({
        "fake-sonnet": { "inputTokens": 100, "outputTokens": 20, "cacheReadInputTokens": 7,
            "cacheCreationInputTokens": 30 },
        "fake-haiku": { "inputTokens": 300, "outputTokens": 40 },
    });
    let bench = TestSetup::new(json!({
        "message_ids": "a", "steps": [{ "text": "Fine." }], "result": { "modelUsage": used },
    }));
    bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    let facts: Vec<(UsageKind, String, u64)> = bench
        .event_log
        .all()
        .into_iter()
        .filter_map(|event| match event {
            RuntimeEvent::Usage(fact) => Some((fact.kind, fact.model, fact.usage.total())),
            _ => None,
        })
        .collect();
    assert_eq!(
        facts,
        [
            (UsageKind::Message, "fake-sonnet".to_owned(), 157),
            (UsageKind::Unattributed, "fake-haiku".to_owned(), 340),
        ]
    );
}

/// COG-14, C-18.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_complete_process_reports_the_cost_of_a_call() {
    let crashed =
        json!({ "message_ids": "a", "steps": [{ "broken_stream": "Half" }, { "exit": 1 }] });
    let used = json!({
        "fake-sonnet": { "inputTokens": 100, "outputTokens": 20, "cacheReadInputTokens": 7,
            "cacheCreationInputTokens": 30 },
        "fake-haiku": { "inputTokens": 300, "outputTokens": 40 },
    });
    let whole = json!({ "message_ids": "b", "steps": [{ "text": "Whole." }],
        "result": { "modelUsage": used, "total_cost_usd": 0.75 } });
    let stopped = json!({ "message_ids": "c", "steps": [
        { "tools": [{ "name": "answer", "input": { "key": "k" } }] }, { "mark": "stop" }, "hang",
    ] });
    let nobody = json!({ "account": { "tokenSource": "none" } });
    let bench = TestSetup::new(json!({ "sequence": [crashed, whole, stopped, nobody] }));
    let runtime = bench.runtime();
    runtime.generate_text(text_request("One.")).await.unwrap();
    let mut request = loop_request("Two.", 3);
    request.label.run_id = ktx_vocabulary::RunId::parse("run-2").unwrap();
    let cancel = request.cancel.clone();
    let marker = bench.settings.project_dir.join("stop");
    let (outcome, ()) = tokio::join!(runtime.run_agent_loop(request), async {
        until("the model works", || marker.exists()).await;
        cancel.cancel();
    });
    let stopped = outcome.error.map(|error| error.kind);
    assert_eq!(stopped, Some(LlmErrorKind::Cancelled));
    runtime
        .generate_text(text_request("Three."))
        .await
        .unwrap_err();
    let events = bench.event_log.all();
    let mut calls = Vec::new();
    let reported: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            RuntimeEvent::Usage(fact) => Some(format!("{:?} {}", fact.kind, fact.reference())),
            RuntimeEvent::CostReported(reported) => {
                calls.push(reported.call.clone());
                let units = reported.message_ids.join(" ");
                Some(format!(
                    "{} {} of {units}",
                    reported.label.run_id, reported.dollars
                ))
            }
            _ => None,
        })
        .collect();
    let [first, second] = calls.as_slice() else {
        panic!("{reported:?}");
    };
    assert_ne!(first, second);
    let reported = reported.join("\n").replace(first, "[CALL]");
    insta::assert_snapshot!(reported, @r"
    Incomplete run-1/0/msg_a_0001
    Message run-1/0/msg_b_0001
    Unattributed run-1/0/[CALL]/unattributed/fake-haiku
    run-1 0.75 of msg_b_0001 [CALL]/unattributed/fake-haiku
    Message run-2/0/msg_c_0001
    run-2 0.0007596 of msg_c_0001
    ");
}
