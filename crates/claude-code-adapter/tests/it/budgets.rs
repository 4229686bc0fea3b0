//! The cost of a call: checked before further turns and reported once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use ktx_llm_runtime::{
    LlmError, LlmErrorKind, LlmRuntime as _, OpenGate, PlannedTurn, RunEvent, RuntimeEvent,
    TurnGate, TurnPermit, UsageFact, UsageKind,
};
use serde_json::{Value, json};

use crate::support::{TestSetup, object_request, run_request, short, text_request, until};

#[derive(Debug, Default)]
struct ClosingGate(AtomicBool);

#[async_trait]
impl TurnGate for ClosingGate {
    async fn admit(&self, turn: PlannedTurn) -> Result<Box<dyn TurnPermit>, LlmError> {
        OpenGate.admit(turn).await
    }

    fn begin(&self, _bytes: usize) -> Result<(), LlmError> {
        if self.0.load(Ordering::Relaxed) {
            return Err(LlmError::new(LlmErrorKind::Budget, "used up"));
        }
        Ok(())
    }
}

/// While it waits for a place or for the end of a limit.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_has_waited_asks_the_budget_again() {
    let mut bench = TestSetup::new(json!({ "steps": [{ "sleep": 1500 }, { "text": "ok" }] }));
    bench.settings.max_children = Some(1);
    let gate = Arc::<ClosingGate>::default();
    bench.settings.gate = Arc::clone(&gate) as Arc<dyn TurnGate>;
    let runtime = bench.runtime();
    let first = runtime.generate_text(text_request("First."));
    let second = async {
        until("the first one works", || bench.notes() == 1).await;
        let waiting = runtime.generate_text(text_request("Second."));
        let closed = async {
            tokio::task::yield_now().await;
            gate.0.store(true, Ordering::Relaxed);
        };
        tokio::join!(waiting, closed).0
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.unwrap().text, "ok");
    assert_eq!(short(second), (LlmErrorKind::Budget, "used up".to_owned()));
    assert_eq!(bench.records().len(), 1);
}

#[derive(Debug)]
struct UsedUpGate;

#[async_trait]
impl TurnGate for UsedUpGate {
    async fn admit(&self, turn: PlannedTurn) -> Result<Box<dyn TurnPermit>, LlmError> {
        OpenGate.admit(turn).await
    }

    fn look(&self) -> Result<(), LlmError> {
        Err(LlmError::new(LlmErrorKind::Budget, "used up"))
    }
}

fn used_up(scenario: Value) -> TestSetup {
    let mut bench = TestSetup::new(scenario);
    bench.settings.gate = Arc::new(UsedUpGate);
    bench
}

fn paid(bench: &TestSetup) -> Vec<UsageFact> {
    let events = bench.events().into_iter();
    let facts = events.filter_map(|event| match event {
        RuntimeEvent::Usage(fact) => Some(fact),
        _ => None,
    });
    facts.collect()
}

fn right() -> Value {
    json!({ "name": "orders", "score": 1 })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_object_is_corrected_only_within_the_budget() {
    let scenario = json!({ "steps": [
        { "object": { "name": "orders" } }, { "sleep": 2000 }, { "object": right() },
    ] });
    let bench = used_up(scenario.clone());
    let outcome = bench.runtime().generate_object(object_request("Go.")).await;
    assert_eq!(short(outcome), (LlmErrorKind::Budget, "used up".to_owned()));
    assert_eq!((paid(&bench).len(), bench.survivors()), (1, Vec::new()));

    let bench = TestSetup::new(scenario);
    let outcome = bench.runtime().generate_object(object_request("Go.")).await;
    assert_eq!(outcome.unwrap().value, right());
    assert_eq!(paid(&bench).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_was_not_announced_is_cut_off() {
    let bench = used_up(json!({ "steps": [
        { "text": "No object." }, { "broken_stream": "Still none" }, "hang",
    ] }));
    let outcome = bench.runtime().generate_object(object_request("Go.")).await;
    assert_eq!(short(outcome), (LlmErrorKind::Budget, "used up".to_owned()));
    let kinds: Vec<UsageKind> = paid(&bench).iter().map(|fact| fact.kind).collect();
    assert_eq!(kinds, [UsageKind::Message, UsageKind::Incomplete]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_object_is_never_discarded() {
    let refused = json!({ "api_error": { "class": "server_error", "status": 500 } });
    for behind in [
        json!({ "broken_stream": "Anything else?" }),
        json!({ "exit": 3 }),
        refused,
    ] {
        let bench = used_up(json!({ "steps": [{ "object": right() }, behind] }));
        let outcome = bench.runtime().generate_object(object_request("Go.")).await;
        assert_eq!(
            outcome.map(|outcome| outcome.value),
            Ok(right()),
            "{behind}"
        );
        let is_retry = |event: &RuntimeEvent| matches!(event, RuntimeEvent::Retry { .. });
        assert!(!bench.events().iter().any(is_retry), "{behind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_call_is_made_again_only_within_the_budget() {
    let scenario = json!({ "steps": [{ "broken_stream": "Half an answer" }, { "exit": 3 }] });
    let bench = used_up(scenario.clone());
    let outcome = bench.runtime().generate_object(object_request("Go.")).await;
    assert_eq!(short(outcome), (LlmErrorKind::Budget, "used up".to_owned()));
    assert_eq!((bench.records().len(), paid(&bench).len()), (1, 1));

    let bench = TestSetup::new(scenario);
    let outcome = bench.runtime().generate_object(object_request("Go.")).await;
    assert_eq!(short(outcome).0, LlmErrorKind::Crashed);
    assert_eq!((bench.records().len(), paid(&bench).len()), (2, 2));
}

/// COG-12, COG-15.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_message_has_one_fact() {
    let stream = |event: Value| json!({ "raw": { "type": "stream_event", "event": event } });
    let usage = json!({ "input_tokens": 900, "output_tokens": 90 });
    let message = json!({
        "id": "msg_a_0001", "model": "fake-sonnet", "role": "assistant", "usage": usage,
        "content": [{ "type": "text", "text": "again" }], "stop_reason": "end_turn",
    });
    let bench = TestSetup::new(json!({ "message_ids": "a", "steps": [
        { "tools": [{ "name": "answer", "input": { "key": "orders" } }] },
        stream(json!({ "type": "message_start", "message": message })),
        stream(json!({ "type": "message_delta", "delta": {}, "usage": usage })),
        stream(json!({ "type": "message_stop" })),
        { "raw": { "type": "assistant", "parent_tool_use_id": null, "message": message } },
        { "text": "All done." },
    ], "after": [{ "raw": { "type": "result", "subtype": "success", "is_error": false, "result": "again" } }] }));
    let runtime = bench.runtime();
    let mut run = runtime.start_run(run_request("Look."));
    let mut reported = Vec::new();
    while let Some(event) = run.next_event().await {
        if let RunEvent::UsageReport(fact) = event {
            reported.push(fact);
        }
    }
    let usage = run.finish().await.usage;
    let facts = paid(&bench);
    let names: Vec<String> = facts.iter().map(UsageFact::reference).collect();
    assert_eq!(names, ["run-1/0/msg_a_0001", "run-1/0/msg_a_0002"]);
    assert_eq!(reported, facts);
    let begun: BTreeSet<String> = bench
        .events()
        .into_iter()
        .filter_map(|event| match event {
            RuntimeEvent::UsageBegun(fact) => Some(fact.reference()),
            _ => None,
        })
        .collect();
    assert_eq!(begun.into_iter().collect::<Vec<_>>(), names);
    let sum: u64 = facts.iter().map(|fact| fact.usage.total()).sum();
    assert_eq!(usage.total(), sum);
    assert!(facts.iter().all(|fact| fact.usage.input == 100));
}
