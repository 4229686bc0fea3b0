//! Account limits: one request discovers a limit, no call follows before its reset, and a run with
//! enough time waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ktx_claude_code_adapter::KnownLimits;
use ktx_llm_runtime::{
    GovernorSwitch, LlmError, LlmErrorKind, LlmRuntime as _, RequestSent, RuntimeEvent, StopReason,
};
use serde_json::{Value, json};

use crate::support::{
    TestSetup, loop_request, object_request, probe_request, short, text_request, until,
};

const REACHED: &str = "the 5-hour usage limit of your Claude plan is reached until 2";

/// A reset that no test reaches, within the length of the window.
const FAR: (&str, u64) = ("resets_in", 4 * 60 * 60);

fn constant_part<T: std::fmt::Debug>(outcome: Result<T, LlmError>) -> (LlmErrorKind, String) {
    let (kind, message) = short(outcome);
    (kind, message.chars().take(REACHED.len()).collect())
}

fn limited(serves: u64, then: &Value) -> TestSetup {
    let bench = TestSetup::new(json!({}));
    let root = bench.root();
    let scenario = json!({
        "echo": {}, "record": root.join("record.jsonl"),
        "shared_account": { "file": root.join("account.json"), "serves": serves, "then": then },
    });
    std::fs::write(root.join("scenario.json"), scenario.to_string()).unwrap();
    bench
}

fn window(name: &str, resets: (&str, u64)) -> Value {
    json!({ "limit": { "window": name, resets.0: resets.1 } })
}

fn refused(bench: &TestSetup) -> u64 {
    let text = std::fs::read_to_string(bench.root().join("account.json")).unwrap();
    let state: Value = serde_json::from_str(&text).unwrap();
    state["refused"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_finds_a_limit_out() {
    let bench = limited(1, &window("five_hour", FAR));
    let runtime = bench.runtime();
    runtime.generate_text(text_request("One.")).await.unwrap();
    let error = runtime
        .generate_text(text_request("Two."))
        .await
        .unwrap_err();
    assert_eq!(
        (error.sent, error.hint.as_deref()),
        (
            RequestSent::Yes,
            Some("run the command again after that; finished work is kept")
        )
    );
    let limit = (LlmErrorKind::RateLimit, REACHED.to_owned());
    assert_eq!(constant_part(Err::<(), _>(error)), limit);
    let third = runtime
        .generate_object(object_request("Three."))
        .await
        .unwrap_err();
    assert_eq!(third.sent, RequestSent::No);
    assert_eq!(constant_part(Err::<(), _>(third)), limit);
    let outcome = runtime.run_agent_loop(loop_request("Four.", 3)).await;
    assert_eq!(constant_part(outcome.error.map_or(Ok(()), Err)), limit);
    drop(runtime);
    let next = bench.runtime();
    assert_eq!(constant_part(next.probe(probe_request()).await), limit);
    assert_eq!(
        constant_part(next.generate_text(text_request("Five.")).await),
        limit
    );
    assert_eq!((bench.records().len(), refused(&bench)), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_that_of_a_login() {
    let mut bench = limited(0, &window("five_hour", FAR));
    let runtime = bench.runtime();
    runtime
        .generate_text(text_request("One."))
        .await
        .unwrap_err();
    let other = ("CLAUDE_CONFIG_DIR".to_owned(), "/elsewhere".to_owned());
    bench.settings.environment.extend([other]);
    bench.runtime().probe(probe_request()).await.unwrap_err();
    assert_eq!(refused(&bench), 2);
    // The file has the announcements for the last login.
    std::fs::write(bench.root().join("state/limits.json"), "no JSON").unwrap();
    bench.runtime().probe(probe_request()).await.unwrap_err();
    assert_eq!(refused(&bench), 3);
    // Two tokens are two accounts, and neither token is stored.
    for (token, times) in [
        ("canary-token-one", 4),
        ("canary-token-one", 4),
        ("canary-token-two", 5),
    ] {
        let token = ("CLAUDE_CODE_OAUTH_TOKEN".to_owned(), token.to_owned());
        bench.settings.environment.extend([token]);
        bench.runtime().probe(probe_request()).await.unwrap_err();
        assert_eq!(refused(&bench), times);
        let stored = std::fs::read_to_string(bench.root().join("state/limits.json")).unwrap();
        assert!(!stored.contains("canary"), "{stored}");
    }
}

/// The previous account keeps its limit, and a file that is being written changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_that_of_an_account() {
    let bench = limited(0, &window("five_hour", FAR));
    let account = |id: &str| {
        let account = json!({ "oauthAccount": { "accountUuid": id, "organizationUuid": "o" } });
        std::fs::write(bench.root().join(".claude.json"), account.to_string()).unwrap();
    };
    let runtime = bench.runtime();
    for (id, times) in [("canary-ada", 1), ("canary-ada", 1), ("canary-grace", 2)] {
        account(id);
        for runtime in [&runtime, &bench.runtime()] {
            let outcome = runtime.generate_text(text_request("Say hello.")).await;
            assert_eq!(constant_part(outcome).1, REACHED);
        }
        assert_eq!(refused(&bench), times, "{id}");
    }
    std::fs::write(bench.root().join(".claude.json"), "{ \"oauthAcc").unwrap();
    let outcome = runtime.generate_text(text_request("Say hello.")).await;
    assert_eq!(
        (constant_part(outcome).1, refused(&bench)),
        (REACHED.to_owned(), 2)
    );
    account("canary-ada");
    bench.runtime().probe(probe_request()).await.unwrap_err();
    assert_eq!(refused(&bench), 2);
    let stored = std::fs::read_to_string(bench.root().join("state/limits.json")).unwrap();
    assert!(!stored.contains("canary"), "{stored}");
}

/// A call despite the stored limit is served: the limit is over for all runs.
#[tokio::test(flavor = "multi_thread")]
async fn an_outdated_limit_is_deleted() {
    let mut bench = limited(0, &window("seven_day", FAR));
    let told_itself = bench.runtime();
    let probe = told_itself.probe(probe_request()).await;
    assert_eq!(probe.unwrap_err().sent, RequestSent::Yes);
    bench.settings.known_limits = KnownLimits::Tried;
    let error = bench.runtime().probe(probe_request()).await.unwrap_err();
    assert_eq!((error.sent, refused(&bench)), (RequestSent::Yes, 2));
    let scenario = json!({ "echo": {}, "record": bench.root().join("record.jsonl") });
    std::fs::write(bench.root().join("scenario.json"), scenario.to_string()).unwrap();
    let held = told_itself.probe(probe_request()).await.unwrap_err();
    assert_eq!(held.sent, RequestSent::No);
    bench.runtime().probe(probe_request()).await.unwrap();
    let stored = std::fs::read_to_string(bench.root().join("state/limits.json")).unwrap();
    assert_eq!(stored, "{\"limits\":[]}\n");
    told_itself.probe(probe_request()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_beyond_its_window_is_tried() {
    let bench = limited(0, &window("five_hour", ("resets_at", 4_102_444_800)));
    for times in 1..=3 {
        let runtime = bench.runtime();
        for _ in 0..2 {
            let outcome = runtime.generate_text(text_request("Say hello.")).await;
            // An implausible end is not shown.
            let without_end = "the 5-hour usage limit of your Claude plan is reached";
            assert_eq!(constant_part(outcome).1, without_end);
        }
        assert_eq!(refused(&bench), times);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn simultaneous_runs_keep_each_others_limits() {
    let mut bench = limited(0, &window("five_hour", FAR));
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..8 {
        let token = format!("canary-token-{number}");
        let variables = &mut bench.settings.environment;
        variables.insert("CLAUDE_CODE_OAUTH_TOKEN".to_owned(), token);
        let runtime = bench.runtime();
        calls.spawn(async move { runtime.generate_text(text_request("Say hello.")).await });
    }
    assert!(calls.join_all().await.iter().all(Result::is_err));
    let stored = std::fs::read_to_string(bench.root().join("state/limits.json")).unwrap();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored["limits"].as_array().map(Vec::len), Some(8));
}

/// With one place, the calls after the refused one are held back.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_for_a_place_are_held_back() {
    let mut bench = limited(2, &window("five_hour", FAR));
    bench.settings.max_children = Some(1);
    let runtime = Arc::new(bench.runtime());
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let runtime = Arc::clone(&runtime);
        calls.spawn(async move { runtime.generate_text(text_request("Say hello.")).await });
    }
    let outcomes = calls.join_all().await;
    let served = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!((served, refused(&bench)), (2, 1));
    let failed = outcomes
        .into_iter()
        .filter(Result::is_err)
        .map(constant_part);
    assert!(failed.into_iter().all(|error| error.1 == REACHED));
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_wait_for_a_window_that_resets_soon() {
    let mut bench = limited(1, &window("five_hour", ("resets_in", 3)));
    bench.settings.rate_limit.max_wait = None;
    bench.settings.max_children = Some(1);
    let runtime = Arc::new(bench.runtime());
    runtime.generate_text(text_request("First.")).await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let runtime = Arc::clone(&runtime);
        calls.spawn(async move { runtime.generate_text(text_request("Say hello.")).await });
    }
    for outcome in calls.join_all().await {
        assert_eq!(outcome.unwrap().text, "ok");
    }
    assert_eq!(refused(&bench), 1);
    let waits: Vec<String> = bench
        .events()
        .into_iter()
        .filter_map(|event| match event {
            RuntimeEvent::WaitStarted { reason, duration } => {
                assert!(duration <= Duration::from_secs(3));
                Some(format!("wait: {reason}"))
            }
            RuntimeEvent::WaitFinished => Some("go on".to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(waits, ["wait: 5-hour window", "go on"]);
    let stored = std::fs::read_to_string(bench.root().join("state/limits.json")).unwrap();
    assert!(stored.contains("\"limits\":[]"), "{stored}");
}

/// A weekly window, a wait beyond the end of the run or the configured maximum, and a run that
/// never waits.
#[tokio::test(flavor = "multi_thread")]
async fn some_waits_are_not_begun() {
    let soon = ("resets_in", 30);
    let mut weekly = limited(0, &window("seven_day", soon));
    weekly.settings.rate_limit.max_wait = None;
    let mut out_of_time = limited(0, &window("five_hour", soon));
    out_of_time.settings.rate_limit.max_wait = None;
    out_of_time.settings.ends_at = Some(Instant::now() + Duration::from_secs(20));
    let mut impatient = limited(0, &window("five_hour", soon));
    impatient.settings.rate_limit.max_wait = Some(Duration::from_secs(20));
    let mut off = limited(0, &window("five_hour", soon));
    off.settings.rate_limit.max_wait = None;
    off.settings.rate_limit.governing = GovernorSwitch::Off;
    for (bench, name) in [
        (weekly, "7-day"),
        (out_of_time, "5-hour"),
        (impatient, "5-hour"),
        (off, "5-hour"),
    ] {
        let runtime = bench.runtime();
        for _ in 0..2 {
            let outcome = runtime.generate_text(text_request("Say hello.")).await;
            let (kind, message) = short(outcome);
            let start = format!("the {name} usage limit of your Claude plan is reached until 2");
            assert_eq!(kind, LlmErrorKind::RateLimit);
            assert!(message.starts_with(&start), "{message}");
        }
        assert_eq!(refused(&bench), 1);
        let waits = |event: &RuntimeEvent| matches!(event, RuntimeEvent::WaitStarted { .. });
        assert!(!bench.events().iter().any(waits));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_can_be_cancelled() {
    let mut bench = limited(0, &window("five_hour", ("resets_in", 3600)));
    bench.settings.rate_limit.max_wait = None;
    let runtime = bench.runtime();
    let request = text_request("Say hello.");
    let cancel = request.cancel.clone();
    let call = tokio::spawn(async move { runtime.generate_text(request).await });
    until("it waits", || {
        let events = bench.events();
        events
            .iter()
            .any(|event| matches!(event, RuntimeEvent::WaitStarted { .. }))
    })
    .await;
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
    cancel.cancel();
    assert_eq!(short(call.await.unwrap()).0, LlmErrorKind::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_in_milliseconds_is_waited_for() {
    let end = jiff::Timestamp::now().as_millisecond() + 3_000;
    let limit = json!({ "status": "rejected", "resetsAt": end, "rateLimitType": "five_hour" });
    let refused = json!({ "steps": [
        { "rate_limit": limit }, { "api_error": { "class": "rate_limit", "status": 429 } },
    ] });
    let mut bench = TestSetup::new(json!({ "sequence": [refused, { "echo": {} }] }));
    bench.settings.rate_limit.max_wait = None;
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    assert_eq!(outcome.unwrap().text, "ok");
    let waits = bench.events().into_iter().filter_map(|event| match event {
        RuntimeEvent::WaitStarted { reason, duration } => {
            assert!(duration <= Duration::from_secs(3));
            Some(reason)
        }
        _ => None,
    });
    assert_eq!(waits.collect::<Vec<_>>(), ["5-hour window"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_refusal_is_tried_again_a_few_times() {
    let refusal = json!({ "api_error": { "class": "rate_limit", "status": 429 } });
    let mut bench = TestSetup::new(json!({ "steps": [refusal] }));
    bench.settings.rate_limit.max_wait = None;
    bench.settings.rate_limit.max_attempts = 3;
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    assert_eq!(
        short(outcome),
        (
            LlmErrorKind::RateLimit,
            "Claude limits requests at the moment".to_owned()
        )
    );
    assert_eq!(bench.records().len(), 3);

    let mut bench = TestSetup::new(json!({ "sequence": [{ "steps": [refusal] }, { "echo": {} }] }));
    bench.settings.rate_limit.max_wait = None;
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    assert_eq!(outcome.unwrap().text, "ok");
}

/// A loop may have written something.
#[tokio::test(flavor = "multi_thread")]
async fn a_loop_refused_midway_is_not_repeated() {
    let mut bench = TestSetup::new(json!({ "steps": [
        { "tools": [{ "name": "answer", "input": { "key": "orders" } }] },
        { "rate_limit": { "status": "rejected", "resetsAt": 1, "rateLimitType": "five_hour" } },
        { "api_error": { "class": "rate_limit", "status": 429 } },
    ] }));
    bench.settings.rate_limit.max_wait = None;
    let outcome = bench
        .runtime()
        .run_agent_loop(loop_request("Work.", 3))
        .await;
    assert_eq!(
        (outcome.stop_reason, outcome.error.map(|error| error.kind)),
        (StopReason::Error, Some(LlmErrorKind::RateLimit))
    );
    assert_eq!((outcome.tools.len(), bench.records().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_window_of_extra_usage_does_not_limit_the_plan() {
    let limit = |status: &str, overage: &str| {
        json!({ "status": status, "resetsAt": 4_102_444_800_u64,
        "rateLimitType": "overage", "isUsingOverage": true, "overageStatus": overage })
    };
    let served =
        json!({ "steps": [{ "rate_limit": limit("allowed", "allowed") }, { "text": "Served." }] });
    let refused = json!({ "steps": [
        { "rate_limit": limit("rejected", "rejected") },
        { "api_error": { "class": "rate_limit", "status": 429 } },
    ] });
    let mut bench = TestSetup::new(json!({ "sequence": [served, refused] }));
    bench.settings.max_spares = 0;
    let runtime = bench.runtime();
    let outcome = runtime.generate_text(text_request("Say hello.")).await;
    assert_eq!(outcome.unwrap().text, "Served.");
    let error = runtime.generate_text(text_request("Say hello.")).await;
    assert_eq!(error.unwrap_err().kind, LlmErrorKind::RateLimit);
    let warnings = bench.events().into_iter().filter_map(|event| match event {
        RuntimeEvent::Warning(warning) => Some(warning),
        _ => None,
    });
    assert_eq!(
        warnings.collect::<Vec<_>>(),
        [
            "what is included in your Claude plan is used up; calls are served by extra usage, which costs money beyond the plan"
        ]
    );
}

/// Extra usage costs money in addition to the plan.
#[tokio::test(flavor = "multi_thread")]
async fn extra_usage_is_reported_and_is_not_a_limit() {
    let limit = json!({ "status": "rejected", "resetsAt": 4_102_444_800_u64, "rateLimitType": "five_hour",
        "isUsingOverage": true, "overageStatus": "allowed" });
    let refused = json!({ "steps": [
        { "rate_limit": limit }, { "api_error": { "class": "rate_limit", "status": 429 } },
    ] });
    let served = json!({ "steps": [{ "rate_limit": limit }, { "text": "Served." }] });
    let mut bench = TestSetup::new(json!({ "sequence": [served, refused, served] }));
    bench.settings.rate_limit.max_wait = None;
    bench.settings.max_spares = 0;
    let runtime = bench.runtime();
    for _ in 0..2 {
        let outcome = runtime.generate_text(text_request("Say hello.")).await;
        assert_eq!(outcome.unwrap().text, "Served.");
    }
    let warnings = bench.events().into_iter().filter_map(|event| match event {
        RuntimeEvent::Warning(warning) => Some(warning),
        _ => None,
    });
    assert_eq!(
        warnings.collect::<Vec<_>>(),
        [
            "the 5-hour window of your Claude plan is used up; calls are served by extra usage, which costs money beyond the plan"
        ]
    );
}
