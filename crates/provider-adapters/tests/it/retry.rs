//! One retry layer: which calls are repeated, and which never are.

use std::time::Duration;

use ktx_llm_runtime::{
    Governor, GovernorSettings, GovernorSwitch, LimitSignal, LlmErrorKind, LlmRuntime as _,
    NoEvents, ProbeRequest,
};
use ktx_provider_adapters::{RateLimit, UnixClock};
use ktx_vocabulary::{Provider, RunId};
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

/// KTX-67.
#[tokio::test]
async fn hopeless_calls_are_made_once() {
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
async fn the_providers_advice_to_retry_is_followed() {
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
    let mut settings = settings(Provider::Anthropic, "sonnet", &server.uri());
    settings.rate_limit = RateLimit::Own(GovernorSettings {
        governing: GovernorSwitch::Off,
        ..GovernorSettings::default()
    });
    let (runtime, _) = runtime(settings);
    runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(bodies(&server).await.len(), 1);
}

#[tokio::test]
async fn a_limit_beyond_the_longest_wait_ends_the_call() {
    let limited = refused(429, "rate_limit_error").insert_header("retry-after", "3600");
    let server = server(vec![limited]).await;
    let mut settings = settings(Provider::Anthropic, "sonnet", &server.uri());
    settings.rate_limit = RateLimit::Own(GovernorSettings {
        max_wait: Some(Duration::from_secs(5)),
        ..GovernorSettings::default()
    });
    let (runtime, _) = runtime(settings);
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::RateLimit);
    assert!(error.retry_after.unwrap() > Duration::from_secs(3590));
}

/// KODE-72.
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

/// 2026-11-22.
const NOON: u64 = 1_795_348_800;

#[tokio::test]
async fn a_probe_does_not_wait_for_a_limit() {
    let server = server(Vec::new()).await;
    let governor = Governor::new(GovernorSettings::default(), std::sync::Arc::new(NoEvents));
    governor.report(LimitSignal::Rejected {
        window: "tokens".to_owned(),
        retry_after: Some(Duration::from_secs(7_490)),
    });
    let mut settings = settings(Provider::Anthropic, "sonnet", &server.uri());
    settings.rate_limit = RateLimit::Shared(governor);
    settings.clock = UnixClock::new(|| NOON);
    let (runtime, _) = runtime(settings);
    let error = runtime
        .probe(ProbeRequest::of(&RunId::parse("r1").unwrap()))
        .await;
    let error = error.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (
            LlmErrorKind::RateLimit,
            "the provider refuses calls until 2026-11-22 14:05 UTC (limit of tokens)"
        )
    );
    assert_eq!(bodies(&server).await.len(), 0);
}

#[tokio::test]
async fn a_probe_reports_a_limit_at_once() {
    let long = || refused(429, "rate_limit_error").insert_header("retry-after", "7500");
    let open = || refused(429, "rate_limit_error");
    let busy = || refused(529, "overloaded_error");
    for (answer, kind, message) in [
        (
            long(),
            LlmErrorKind::RateLimit,
            "the provider refuses calls until 2026-11-22 14:05 UTC (limit of requests)",
        ),
        (
            open(),
            LlmErrorKind::RateLimit,
            "the provider's rate limit is reached (HTTP 429)",
        ),
        (
            busy(),
            LlmErrorKind::Overloaded,
            "the provider is overloaded (HTTP 529)",
        ),
    ] {
        let server = server(vec![answer]).await;
        let mut settings = settings(Provider::Anthropic, "sonnet", &server.uri());
        settings.clock = UnixClock::new(|| NOON);
        let (runtime, events) = runtime(settings);
        let error = runtime
            .probe(ProbeRequest::of(&RunId::parse("r1").unwrap()))
            .await;
        let error = error.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (kind, message));
        assert_eq!(bodies(&server).await.len(), 1);
        let window = match kind {
            LlmErrorKind::Overloaded => "refused provider is overloaded",
            _ => "refused requests",
        };
        assert_eq!(events.lines(), [window]);
    }
}

/// The opening probe of a run.
#[tokio::test]
async fn a_patient_probe_waits_like_every_call() {
    let ok = || {
        ResponseTemplate::new(200).set_body_json(json!({
            "id": "m1", "type": "message", "role": "assistant", "model": "claude-test",
            "stop_reason": "end_turn", "content": [{"type": "text", "text": "ok"}],
            "usage": {"input_tokens": 10, "output_tokens": 1},
        }))
    };
    let limited = || refused(429, "rate_limit_error").insert_header("retry-after-ms", "2");
    let probe = || ProbeRequest::of(&RunId::parse("r1").unwrap()).patient();
    let answers = vec![
        limited(),
        refused(503, "api_error"),
        refused(529, "overloaded_error"),
        ok(),
    ];
    let server = server(answers).await;
    let (runtime, events) = anthropic(&server.uri(), "sonnet");
    runtime.probe(probe()).await.unwrap();
    assert_eq!(
        events.retries(),
        [
            "retry 2 llm_rate_limit",
            "retry 3 llm_overloaded",
            "retry 4 llm_overloaded"
        ]
    );
    for (status, class, kind) in [
        (401, "authentication_error", LlmErrorKind::Auth),
        (402, "billing_error", LlmErrorKind::Billing),
    ] {
        let server = crate::fake::server(vec![refused(status, class), ok()]).await;
        let (runtime, _) = anthropic(&server.uri(), "sonnet");
        let error = runtime.probe(probe()).await.unwrap_err();
        assert_eq!((error.kind, bodies(&server).await.len()), (kind, 1));
    }
}

#[tokio::test]
async fn a_probe_tries_twice_at_most() {
    let server = server(error_of(3)).await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let error = runtime
        .probe(ProbeRequest::of(&RunId::parse("r1").unwrap()))
        .await;
    assert_eq!(error.unwrap_err().kind, LlmErrorKind::Server);
    assert_eq!(bodies(&server).await.len(), 2);
}

/// `--max-minutes`.
#[tokio::test]
async fn no_wait_exceeds_the_time_of_the_run() {
    let limited = refused(429, "rate_limit_error").insert_header("retry-after", "3600");
    for (answer, kind) in [
        (limited, LlmErrorKind::RateLimit),
        (refused(500, "api_error"), LlmErrorKind::Server),
    ] {
        let server = server(vec![answer]).await;
        let mut settings = settings(Provider::Anthropic, "sonnet", &server.uri());
        settings.rate_limit = RateLimit::Own(GovernorSettings {
            base_delay: Duration::from_secs(30),
            ends_at: Some(tokio::time::Instant::now() + Duration::from_secs(20)),
            ..GovernorSettings::default()
        });
        let (runtime, _) = runtime(settings);
        let error = runtime.generate_text(ask("x")).await.unwrap_err();
        assert_eq!(error.kind, kind);
        assert_eq!(bodies(&server).await.len(), 1);
    }
}

/// DeepSeek does so without capacity; the counted tokens are billed.
#[tokio::test]
async fn an_answer_that_the_provider_broke_off_is_requested_again() {
    let answer = |id: &str, reason: &str| {
        let chunk = json!({
            "id": id, "model": "deepseek-v4-pro",
            "choices": [{"delta": {"content": reason}, "finish_reason": reason}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 3},
        });
        sse(&format!("data: {chunk}\n\ndata: [DONE]\n\n"))
    };
    let server = server(vec![
        answer("c1", "insufficient_system_resource"),
        answer("c2", "stop"),
    ])
    .await;
    let (runtime, events) = runtime(settings(
        Provider::DeepSeek,
        "deepseek-v4-pro",
        &server.uri(),
    ));
    assert_eq!(runtime.generate_text(ask("x")).await.unwrap().text, "stop");
    let paid: Vec<String> = events
        .lines()
        .into_iter()
        .filter(|line| line.starts_with("usage"))
        .collect();
    assert_eq!(
        paid,
        [
            "usage r1/0/c1 deepseek deepseek-v4-pro 9/0/0/0/3",
            "usage r1/0/c2 deepseek deepseek-v4-pro 9/0/0/0/3",
        ]
    );
}

/// KTX-67.
#[tokio::test]
async fn refusals_and_broken_answers_are_not_successes() {
    let chat = |delta: &serde_json::Value, reason: &str| {
        let chunk = json!({"choices": [{"delta": delta, "finish_reason": reason}]});
        sse(&format!("data: {chunk}\n\ndata: [DONE]\n\n"))
    };
    let refusal = json!({"refusal": "I will not."});
    let text = json!({"content": "half an ans"});
    for (answers, kind) in [
        (vec![chat(&refusal, "stop")], LlmErrorKind::Refusal),
        (
            vec![chat(&text, "brand_new"), chat(&text, "brand_new")],
            LlmErrorKind::Protocol,
        ),
    ] {
        let tries = answers.len();
        let server = server(answers).await;
        let (runtime, _) = runtime(settings(
            Provider::Groq,
            "openai/gpt-oss-20b",
            &server.uri(),
        ));
        let error = runtime.generate_text(ask("x")).await.unwrap_err();
        assert_eq!((error.kind, bodies(&server).await.len()), (kind, tries));
    }
}
