//! Children that misbehave: each ends with its own kind of error, within its deadline.

use std::time::Duration;

use ktx_claude_code_adapter::Timeouts;
use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _};
use serde_json::{Value, json};

use crate::support::{TestSetup, far, short, text_request};

use LlmErrorKind::{Crashed, Isolation, Process, Protocol, Timeout};

/// For a child that does not end by itself. The three watchdogs stay far away.
fn near() -> Timeouts {
    Timeouts {
        exit: Duration::from_millis(500),
        interrupt: Duration::from_millis(500),
        terminate: Duration::from_secs(2),
        drain: Duration::from_millis(500),
        ..far()
    }
}

async fn fails(scenario: Value) -> (LlmErrorKind, String) {
    fails_within(scenario, near()).await
}

async fn fails_within(scenario: Value, limits: Timeouts) -> (LlmErrorKind, String) {
    let mut bench = TestSetup::new(scenario);
    bench.settings.timeouts = limits;
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
    short(outcome)
}

async fn succeeds(scenario: Value) -> String {
    let mut bench = TestSetup::new(scenario);
    bench.settings.timeouts = near();
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
    outcome.expect("the call succeeds").text
}

#[track_caller]
fn check(found: &(LlmErrorKind, String), kind: LlmErrorKind, message: &str) {
    assert_eq!(*found, (kind, message.to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_has_three_watchdogs() {
    let soon = Duration::from_millis(700);
    let limits = Timeouts {
        initialize: soon,
        ..near()
    };
    check(
        &fails_within(json!({ "before": ["hang"] }), limits).await,
        Timeout,
        "Claude Code did not start its session within 0.7 s",
    );
    let limits = Timeouts {
        surface: soon,
        ..near()
    };
    let no_surface = json!({ "init": { "type": "informational" }, "steps": ["hang"] });
    check(
        &fails_within(no_surface, limits).await,
        Timeout,
        "Claude Code did not report what the model can reach within 0.7 s",
    );
    let limits = Timeouts {
        silence: soon,
        ..near()
    };
    check(
        &fails_within(json!({ "steps": ["hang"] }), limits).await,
        Timeout,
        "Claude Code was silent for 0.7 s",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tries_without_an_answer_come_to_an_end() {
    let retry = |attempt: u32| json!({ "retry": { "attempt": attempt, "retry_delay_ms": 1, "error_status": 529 } });
    let tries = |count| (1..=count).map(retry).collect::<Vec<_>>();
    let mut steps = tries(40);
    steps.push(json!("hang"));
    let bench = TestSetup::new(json!({ "steps": steps }));
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    check(
        &short(outcome),
        LlmErrorKind::Overloaded,
        "Claude Code tried its request 31 times in a row without an answer",
    );
    let mut steps = tries(30);
    steps.push(json!({ "text": "Back." }));
    let bench = TestSetup::new(json!({ "steps": steps }));
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    assert_eq!(outcome.unwrap().text, "Back.");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_announced_wait_is_waited_for() {
    let mut bench = TestSetup::new(json!({ "steps": [
        { "retry": { "attempt": 1, "retry_delay_ms": 60_000 } }, { "sleep": 4000 }, { "text": "Back." },
    ] }));
    bench.settings.timeouts.silence = Duration::from_secs(3);
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    assert_eq!(outcome.text, "Back.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_within_an_announced_wait_does_not_end_it() {
    let limit =
        json!({ "status": "allowed", "resetsAt": 4_102_444_800_u64, "rateLimitType": "five_hour" });
    let mut bench = TestSetup::new(json!({ "steps": [
        { "retry": { "attempt": 1, "retry_delay_ms": 60_000 } }, { "rate_limit": limit },
        { "sleep": 4000 }, { "text": "Back." },
    ] }));
    bench.settings.timeouts.silence = Duration::from_secs(3);
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    assert_eq!(outcome.unwrap().text, "Back.");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_announced_wait_beyond_the_end_of_the_run_is_not_waited_for() {
    let mut bench = TestSetup::new(json!({ "steps": [
        { "retry": { "attempt": 1, "retry_delay_ms": 600_000 } }, "hang",
    ] }));
    bench.settings.ends_at = Some(std::time::Instant::now() + Duration::from_mins(5));
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    check(
        &short(outcome),
        LlmErrorKind::RateLimit,
        "Claude asks to wait 600 s before the next try, longer than the run may take",
    );
    assert_eq!(bench.survivors(), Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_without_result_is_an_error() {
    check(
        &fails(json!({ "before": [{ "exit": 3 }] })).await,
        Process,
        "Claude Code ended with exit code 3 before it began to work",
    );
    check(
        &fails(json!({ "steps": [{ "exit": 0 }] })).await,
        Crashed,
        "Claude Code ended with exit code 0 before it gave a result",
    );
    check(
        &fails(json!({ "steps": [{ "text": "Half" }, "die"] })).await,
        Crashed,
        "Claude Code ended by signal 9 before it gave a result",
    );
    check(
        &fails(json!({ "before": ["die"] })).await,
        Crashed,
        "Claude Code ended by signal 9 before it began to work",
    );
    check(
        &fails(json!({ "steps": [{ "broken_stream": "Half" }, { "exit": 1 }] })).await,
        Crashed,
        "Claude Code ended with exit code 1 before it gave a result",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_output_ends_the_call() {
    check(
        &fails(json!({ "steps": ["ignore_termination", "close_stdout", "hang"] })).await,
        Crashed,
        "Claude Code closed its output before it gave a result",
    );
    check(
        &fails(json!({ "before": ["close_stdout", "hang"] })).await,
        Crashed,
        "Claude Code closed its output before it began to work",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_survives_a_bad_end() {
    let after = [
        json!(["hang"]),
        json!(["ignore_termination", "hang"]),
        json!(["die"]),
        json!([{ "exit": 7 }]),
        json!(["close_stdout", "hang"]),
        json!([{ "flood_stderr": 4_000_000 }]),
        json!([{ "junk": "not json\n" }]),
        json!([{ "big_line": 30_000_000 }]),
        json!([{ "daemon": "same" }]),
        json!([{ "daemon": "own" }]),
    ];
    for after in after {
        let scenario = json!({ "steps": [{ "text": "Fine." }], "after": after });
        assert_eq!(succeeds(scenario).await, "Fine.", "{after}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_surviving_process_is_found() {
    for group in ["same", "own"] {
        check(
            &fails(json!({ "steps": [{ "daemon": group }, { "exit": 0 }] })).await,
            Crashed,
            "Claude Code ended with exit code 0 before it gave a result",
        );
    }
}

/// The deadline is `drain`, not the time of a thinking model.
#[tokio::test(flavor = "multi_thread")]
async fn lines_after_the_end_are_not_signs_of_life() {
    let lines = "{\"type\":\"keep_alive\"}\n".repeat(2000);
    let scenario = json!({ "steps": [{ "daemon": "own" }, { "junk": lines }, { "exit": 3 }] });
    let limits = Timeouts {
        silence: Duration::from_hours(1),
        ..near()
    };
    for _ in 0..6 {
        check(
            &fails_within(scenario.clone(), limits.clone()).await,
            Crashed,
            "Claude Code ended with exit code 3 before it gave a result",
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_result_changes_nothing() {
    let second =
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": "BAD" });
    let scenario = json!({ "steps": [{ "text": "Fine." }], "after": [{ "raw": second }] });
    assert_eq!(succeeds(scenario).await, "Fine.");
}

#[tokio::test(flavor = "multi_thread")]
async fn noise_is_read_over() {
    let scenario = json!({ "before": [{ "junk": "Warning: a stray line\n\n[1, 2]\n" }], "steps": [
        { "flood_stderr": 4_000_000 },
        { "junk": "{\"half\": \n" },
        { "raw": { "type": "news", "value": 1 } },
        { "raw": { "type": "system", "subtype": "dream" } },
        { "raw": { "type": "control_response", "response": { "subtype": "success", "request_id": "nobody" } } },
        { "raw": { "type": "control_cancel_request", "request_id": "nobody" } },
        { "raw": { "type": "keep_alive" } },
        { "raw": {} },
        { "split": "Grüße 🙂" },
    ] });
    assert_eq!(succeeds(scenario).await, "Grüße 🙂");
}

/// 99 MB and 101 MB.
#[tokio::test(flavor = "multi_thread")]
async fn lines_have_a_bound() {
    let scenario = |bytes: u64| json!({ "steps": [{ "big_line": bytes }, { "text": "Fine." }] });
    let megabyte = 1024 * 1024;
    assert_eq!(succeeds(scenario(99 * megabyte)).await, "Fine.");
    check(
        &fails(scenario(101 * megabyte)).await,
        Protocol,
        "Claude Code wrote a line without an end",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_session_is_an_error() {
    let refused = json!({ "type": "control_response", "response": {
        "subtype": "error", "request_id": "ktx-initialize", "error": "Already initialized",
    } });
    check(
        &fails(json!({ "before": [{ "raw": refused }, "hang"] })).await,
        Protocol,
        "Claude Code refused to start the session",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_surface_that_changes_ends_the_call() {
    let later = json!({
        "type": "system", "subtype": "init", "tools": ["Bash"], "mcp_servers": [], "plugins": [],
        "permissionMode": "dontAsk", "apiKeySource": "none",
    });
    let found = fails(json!({ "steps": [{ "raw": later }, { "text": "BAD" }] })).await;
    assert_eq!(found.0, Isolation);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_never_ends_is_stopped() {
    let said = |number: u32| {
        json!({ "raw": {
            "type": "assistant", "parent_tool_use_id": null,
            "message": { "id": format!("msg_{number}"), "model": "m", "content": [{ "type": "text", "text": "No." }] },
        } })
    };
    let steps = |count: u32| (1..=count).map(said).collect::<Vec<_>>();
    let endless = [steps(10), vec![json!("hang")]].concat();
    check(
        &fails(json!({ "steps": endless })).await,
        LlmErrorKind::MaxTurns,
        "the model used up its turns before it answered",
    );
    // Continuations and retries are not turns.
    let many = [steps(8), vec![json!({ "text": "Fine." })]].concat();
    let mut bench = TestSetup::new(json!({ "steps": many }));
    bench.settings.timeouts = near();
    let outcome = bench
        .runtime()
        .run_agent_loop(crate::support::loop_request("Work.", 2))
        .await;
    assert_eq!(outcome.text.as_deref(), Some("Fine."));
}

#[tokio::test(flavor = "multi_thread")]
async fn complaints_are_for_the_log() {
    let scenario = json!({ "steps": [
        { "flood_stderr": 100_000 },
        { "complain": "fatal: the key is canary-secret-value\n" },
        { "exit": 1 },
    ] });
    let mut bench = TestSetup::new(scenario);
    let key = ("MY_API_KEY".to_owned(), "canary-secret-value".to_owned());
    bench.settings.environment.extend([key]);
    let error = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap_err();
    let detail = error.detail.unwrap();
    assert!(detail.ends_with("fatal: the key is ***"), "{detail}");
    assert!(detail.len() <= 8 * 1024 + 16, "{}", detail.len());
    assert!(!error.message.contains("fatal"));
}

/// The checks of the fake can fail a test.
#[tokio::test(flavor = "multi_thread")]
async fn the_fake_refuses_what_is_wrong() {
    let mut bench = TestSetup::new(json!({ "echo": {} }));
    bench
        .settings
        .models
        .insert(ktx_vocabulary::ModelRole::Default, "sonnet".to_owned());
    bench.settings.environment.remove("LC_KTX_FAKE_CLAUDE");
    let error = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind, error.detail.as_deref()),
        (
            Process,
            Some("stderr: fake claude: the variable `LC_KTX_FAKE_CLAUDE` is missing")
        )
    );
}
