//! Answers that are not what they claim to be.

use std::time::{Duration, SystemTime};

use ktx_claude_code_adapter::Timeouts;
use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _, RuntimeEvent, StopReason};
use serde_json::{Value, json};

use crate::support::{TestSetup, loop_request, probe_request, run_request, short, text_request};

use LlmErrorKind::{Overloaded, Protocol, RateLimit, Timeout};

async fn asked(scenario: Value) -> (LlmErrorKind, String) {
    let bench = TestSetup::new(scenario);
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
    short(outcome)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_text_is_an_error() {
    for (answer, message) in [
        // The fake removes a field that is changed to null.
        (
            Value::Null,
            "Claude Code returned an answer whose text is missing",
        ),
        (
            json!({ "text": "ok" }),
            "Claude Code returned an answer whose text is an object",
        ),
        (
            json!(["ok"]),
            "Claude Code returned an answer whose text is a list",
        ),
        (json!(" \n"), "Claude Code returned an empty answer"),
    ] {
        let bench =
            TestSetup::new(json!({ "steps": [{ "text": "x" }], "result": { "result": answer } }));
        let runtime = bench.runtime();
        let expected = (Protocol, message.to_owned());
        assert_eq!(
            short(runtime.generate_text(text_request("Hello.")).await),
            expected
        );
        assert_eq!(short(runtime.probe(probe_request()).await), expected);
        let last = runtime.start_run(run_request("Work.")).finish().await;
        assert_eq!(short(last.result), expected);
        let outcome = runtime.run_agent_loop(loop_request("Work.", 3)).await;
        let is_text = answer.is_string();
        assert_eq!(
            outcome.stop_reason == StopReason::Natural,
            is_text,
            "{answer}"
        );
        assert_eq!(outcome.error.is_some(), !is_text, "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_awaited_message_that_is_not_json_ends_the_call() {
    let broken = "{\"subtype\": \"success\", \"type\" : \"result\", \"total_cost_usd\": NaN}\n";
    let message =
        "Claude Code wrote a `result` message that is not JSON: expected value at line 1 column 61";
    let found = asked(json!({ "steps": [{ "text": "Hello." }, { "junk": broken }, "hang"] })).await;
    assert_eq!(found, (Protocol, message.to_owned()));
    let broken = "{\"type\":\"control_response\",\u{feff}\"response\":{}}\n";
    let message = "Claude Code wrote a `control_response` message that is not JSON: key must be a string at line 1 column 28";
    let found = asked(json!({ "before": [{ "junk": broken }, "hang"] })).await;
    assert_eq!(found, (Protocol, message.to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_byte_order_mark_before_a_message_is_read_over() {
    let result =
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": "Fine." });
    let marked = format!("\u{feff}{result}\n");
    let mut bench =
        TestSetup::new(json!({ "steps": [{ "text": "Fine." }, { "junk": marked }, "hang"] }));
    bench.settings.timeouts.exit = Duration::from_millis(100);
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    assert_eq!(outcome.unwrap().text, "Fine.");
}

fn event(event: &Value) -> Value {
    json!({ "raw": { "type": "stream_event", "parent_tool_use_id": null, "event": event } })
}

/// The message counts by its observed output.
#[tokio::test(flavor = "multi_thread")]
async fn implausible_counts_are_ignored() {
    let steps = [
        event(&json!({ "type": "message_start", "message": {
            "id": "msg_wrong", "model": "m", "usage": { "input_tokens": 100, "cache_read_input_tokens": u64::MAX },
        } })),
        event(
            &json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": "Twelve bytes" } }),
        ),
        event(&json!({ "type": "message_delta", "usage": { "output_tokens": u64::MAX } })),
        event(&json!({ "type": "message_stop" })),
        json!({ "text": "Fine." }),
    ];
    let changes = json!({ "total_cost_usd": 1e300, "modelUsage": { "m": { "inputTokens": u64::MAX, "outputTokens": 4 } } });
    let bench = TestSetup::new(json!({ "steps": steps, "result": changes }));
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    assert!(
        outcome.metrics.usage.total() < 1000,
        "{:?}",
        outcome.metrics
    );
    assert_eq!(outcome.metrics.reported_cost_usd, None);
    let mut warnings = 0;
    for event in bench.events() {
        match event {
            RuntimeEvent::Usage(fact) => assert!(fact.usage.total() < 1000, "{fact:?}"),
            RuntimeEvent::Warning(warning) => {
                warnings += 1;
                let expected = "Claude Code reported 18446744073709551615 tokens, which is impossible; ktx ignores the count";
                assert_eq!(warning, expected);
            }
            RuntimeEvent::CostReported(cost) => panic!("{cost:?}"),
            _ => {}
        }
    }
    assert_eq!(warnings, 1);
}

fn now() -> i64 {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

/// Plausible: in the future, and within the longest window.
#[tokio::test(flavor = "multi_thread")]
async fn an_implausible_reset_is_not_shown() {
    let days = 24 * 60 * 60;
    for reset in [-5, 0, now() - days, now() + 9 * days] {
        let bench = TestSetup::new(json!({ "steps": [
            { "rate_limit": { "status": "rejected", "resetsAt": reset, "rateLimitType": "five_hour" } },
            { "api_error": { "class": "rate_limit", "status": 429 } },
        ] }));
        let failed = bench
            .runtime()
            .generate_text(text_request("Say hello."))
            .await;
        let message = "the 5-hour usage limit of your Claude plan is reached";
        assert_eq!(short(failed), (RateLimit, message.to_owned()), "{reset}");
        for event in bench.events() {
            match event {
                RuntimeEvent::RateLimitObserved { resets_at, .. }
                | RuntimeEvent::RateLimitRefused { resets_at, .. } => {
                    assert_eq!(resets_at, None, "{reset}");
                }
                _ => {}
            }
        }
    }
}

/// As a success or as an error.
#[tokio::test(flavor = "multi_thread")]
async fn the_old_text_of_a_limit_is_a_limit_with_its_time() {
    let reset = now() + 3600;
    let until = jiff::Timestamp::from_second(reset).unwrap();
    let message = format!(
        "a usage limit of your Claude plan is reached until {}",
        until.strftime("%Y-%m-%d %H:%M UTC")
    );
    for is_error in [false, true] {
        let text = format!("Claude AI usage limit reached|{reset}");
        let result = json!({ "result": text, "is_error": is_error });
        let found = asked(json!({ "steps": [{ "text": text }], "result": result })).await;
        assert_eq!(found, (RateLimit, message.clone()), "{is_error}");
    }
    let text = "Claude AI usage limit reached";
    let found = asked(json!({ "steps": [{ "text": text }] })).await;
    assert_eq!(found.0, RateLimit);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_has_a_separate_deadline() {
    assert_eq!(Timeouts::default().probe, Duration::from_mins(1));
    let retry = json!({ "retry": { "attempt": 1, "retry_delay_ms": 60_000, "error_status": 529 } });
    for (steps, kind) in [
        (json!(["hang"]), Timeout),
        (json!([retry, "hang"]), Overloaded),
    ] {
        let mut bench = TestSetup::new(json!({ "steps": steps }));
        bench.settings.timeouts.probe = Duration::from_secs(3);
        let message = "Claude Code did not answer the test of the session within 3 s";
        let failed = bench.runtime().probe(probe_request()).await;
        assert_eq!(short(failed), (kind, message.to_owned()));
        assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
    }
    let mut bench = TestSetup::new(json!({ "before": ["hang"] }));
    bench.settings.timeouts.probe = Duration::from_millis(700);
    assert_eq!(
        short(bench.runtime().probe(probe_request()).await).0,
        Timeout
    );
}
