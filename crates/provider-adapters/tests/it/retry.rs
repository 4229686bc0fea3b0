//! One retry layer: what is repeated, what never is.

use std::time::Duration;

use ktx_llm_runtime::{Governing, GovernorSettings, LlmErrorKind, LlmRuntime as _};
use ktx_provider_adapters::{Preset, RateLimit};
use serde_json::json;
use wiremock::ResponseTemplate;

use crate::fake::{anthropic, ask, bodies, refused, runtime, said, server, settings, sse};

fn error_of(answers: usize) -> Vec<ResponseTemplate> {
    (0..answers).map(|_| refused(500, "api_error")).collect()
}

#[tokio::test]
async fn failures_of_the_provider_are_repeated_until_it_answers() {
    let limited = refused(429, "rate_limit_error").insert_header("retry-after-ms", "2");
    let first = include_str!("../../../../fixtures/providers/streams/anthropic_error_first.sse");
    let server = server(vec![
        refused(500, "api_error"),
        limited,
        refused(529, "overloaded_error"),
        sse(first),
        said("m1", "at last"),
    ])
    .await;
    let (runtime, events) = anthropic(&server.uri(), "sonnet");
    let outcome = runtime.generate_text(ask("x")).await.unwrap();
    assert_eq!(outcome.text, "at last");
    assert_eq!(outcome.metrics.steps, 1);
    let lines: Vec<String> = events
        .lines()
        .into_iter()
        .filter(|line| !line.starts_with("concurrency"))
        .collect();
    assert_eq!(
        lines,
        [
            "retry 2 llm_server",
            "retry 3 llm_rate_limit",
            "observed requests",
            "wait limit of requests",
            "wait finished",
            "retry 4 llm_overloaded",
            "observed provider is overloaded",
            "wait provider is overloaded",
            "wait finished",
            "retry 5 llm_overloaded",
            "observed provider is overloaded",
            "wait provider is overloaded",
            "wait finished",
            "usage r1/0/m1 anthropic_api claude-test 10/0/0/100/7",
        ]
    );
}

/// KTX-67: money, keys, unknown models and wrong requests are never repeated.
#[tokio::test]
async fn what_cannot_succeed_is_asked_once() {
    let spend = ResponseTemplate::new(429).set_body_json(json!({"type": "error", "error": {
        "type": "rate_limit_error",
        "message": "m",
        "details": {"error_code": "enforced_spend_limit_reached"},
    }}));
    let stop = refused(500, "api_error").insert_header("x-should-retry", "false");
    let money_despite_advice =
        refused(402, "billing_error").insert_header("x-should-retry", "true");
    for (answer, kind) in [
        (spend, LlmErrorKind::Billing),
        (money_despite_advice, LlmErrorKind::Billing),
        (refused(401, "authentication_error"), LlmErrorKind::Auth),
        (refused(404, "not_found_error"), LlmErrorKind::ModelNotFound),
        (
            refused(400, "invalid_request_error"),
            LlmErrorKind::InvalidRequest,
        ),
        (stop, LlmErrorKind::Server),
    ] {
        let server = server(vec![answer]).await;
        let (runtime, _) = anthropic(&server.uri(), "sonnet");
        let error = runtime.generate_text(ask("x")).await.unwrap_err();
        assert_eq!(error.kind, kind);
        assert_eq!(bodies(&server).await.len(), 1, "{kind:?}");
    }
}

#[tokio::test]
async fn advice_of_the_provider_to_try_again_is_taken() {
    let again = refused(400, "invalid_request_error").insert_header("x-should-retry", "true");
    let server = server(vec![again, said("m1", "ok")]).await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    assert_eq!(runtime.generate_text(ask("x")).await.unwrap().text, "ok");
}

#[tokio::test]
async fn tries_end_with_the_configured_number() {
    let server = server(error_of(9)).await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Server);
    assert_eq!(error.detail.as_deref(), Some("api_error: words"));
    assert_eq!(bodies(&server).await.len(), 6);
}

#[tokio::test]
async fn switched_off_limits_mean_one_try() {
    let server = server(error_of(2)).await;
    let mut settings = settings(Preset::Anthropic, "sonnet", &server.uri());
    settings.rate_limit = RateLimit::Own(GovernorSettings {
        governing: Governing::Off,
        ..GovernorSettings::default()
    });
    let (runtime, _) = runtime(settings);
    runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(bodies(&server).await.len(), 1);
}

/// A wait longer than a call may take is told, not slept through.
#[tokio::test]
async fn a_limit_beyond_the_longest_wait_ends_the_call() {
    let limited = refused(429, "rate_limit_error").insert_header("retry-after", "3600");
    let server = server(vec![limited]).await;
    let mut settings = settings(Preset::Anthropic, "sonnet", &server.uri());
    settings.rate_limit = RateLimit::Own(GovernorSettings {
        max_wait: Some(Duration::from_secs(5)),
        ..GovernorSettings::default()
    });
    let (runtime, _) = runtime(settings);
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::RateLimit);
    assert!(error.retry_after.unwrap() > Duration::from_secs(3590));
}

/// KODE-72: a refused signature is answered with a history without old thoughts, once.
#[tokio::test]
async fn a_refused_signature_is_tried_once_without_thoughts() {
    let words = "messages.1: Invalid `signature` in `thinking` block";
    let refusal = || {
        ResponseTemplate::new(400).set_body_json(json!({"type": "error", "error": {
            "type": "invalid_request_error", "message": words,
        }}))
    };
    let server = server(vec![refusal(), refusal()]).await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::InvalidRequest);
    assert_eq!(bodies(&server).await.len(), 2);
}

/// Success headers feed the governor: near the limit fewer calls run at the same time.
#[tokio::test]
async fn success_headers_feed_the_governor() {
    let near = said("m1", "ok")
        .insert_header("anthropic-ratelimit-tokens-limit", "100")
        .insert_header("anthropic-ratelimit-tokens-remaining", "5");
    let server = server(vec![near]).await;
    let (runtime, events) = anthropic(&server.uri(), "sonnet");
    runtime.generate_text(ask("x")).await.unwrap();
    assert_eq!(
        events.lines()[..2],
        [
            "observed tokens",
            "concurrency 8 -> 1 (limit of tokens: near the limit)",
        ]
    );
}
