//! Bounds of answers and waits: size, output limit, deadlines.

use std::time::Duration;

use ktx_llm_runtime::{Deltas, GovernorSettings, LlmErrorKind, LlmRuntime as _, RunEvent};
use ktx_provider_adapters::{Protocol, RateLimit};
use ktx_test_support::loopback::{Answer, End, Loopback};
use ktx_vocabulary::Provider;
use serde_json::{Value, json};
use tokio::time::Instant;
use wiremock::ResponseTemplate;

use crate::fake::{
    anthropic, ask, bodies, message, runtime, said, server, settings, sse, tool_use,
};

#[tokio::test]
async fn a_streamed_answer_has_a_longest_size() {
    let server = Loopback::start(|_, _| {
        let word = "a".repeat(1024 * 1024);
        let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}});
        Answer::stream(format!("data: {delta}\n\n").repeat(66))
    })
    .unwrap();
    let (runtime, _) = anthropic(&server.address(), "sonnet");
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str(), server.requests().len()),
        (
            LlmErrorKind::Protocol,
            "the provider sent more than 64 MiB",
            1
        )
    );
}

fn chat(id: &str, extra: &Value) -> ResponseTemplate {
    let mut body = json!({"id": id, "model": "m", "usage": {"prompt_tokens": 9, "completion_tokens": 3,
        "completion_tokens_details": {"reasoning_tokens": 2}},
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]});
    for (key, value) in extra.as_object().expect("an object") {
        body[key] = value.clone();
    }
    ResponseTemplate::new(200).set_body_json(body)
}

fn unwilling(message: &str) -> ResponseTemplate {
    ResponseTemplate::new(400).set_body_json(json!({"error": {
        "message": message, "type": "invalid_request_error", "code": null,
    }}))
}

#[tokio::test]
async fn a_refused_limit_is_sent_in_the_form_that_the_server_accepts() {
    let newer = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    let small = "This model's maximum context length is 8192 tokens. However, you requested 32400 tokens (400 in the messages, 32000 in the completion).";
    for (refusal, taken) in [(newer, Some("max_completion_tokens")), (small, None)] {
        let answers = vec![
            unwilling(refusal),
            chat("c1", &json!({})),
            chat("c2", &json!({})),
        ];
        let server = server(answers).await;
        let (runtime, events) = runtime(settings(
            Provider::OpenAiCompatible,
            "my-deployment",
            &server.uri(),
        ));
        for _ in 0..2 {
            assert_eq!(runtime.generate_text(ask("x")).await.unwrap().text, "ok");
        }
        let limits: Vec<Option<&str>> = bodies(&server)
            .await
            .iter()
            .map(|body| {
                ["max_tokens", "max_completion_tokens"]
                    .into_iter()
                    .find(|name| body[*name] == json!(32000))
            })
            .collect();
        assert_eq!(limits, [Some("max_tokens"), taken, taken], "{refusal}");
        assert_eq!(events.retries(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn reasoning_models_of_openai_are_given_their_own_limit() {
    for (model, field) in [
        ("gpt-5.4-mini", "max_completion_tokens"),
        ("o3", "max_completion_tokens"),
        ("gpt-4.1", "max_tokens"),
        ("gpt-oss-120b", "max_tokens"),
        ("llama-4", "max_tokens"),
    ] {
        let server = server(vec![chat("c1", &json!({}))]).await;
        let settings = settings(Provider::OpenAiCompatible, model, &server.uri());
        runtime(settings).0.generate_text(ask("x")).await.unwrap();
        assert_eq!(bodies(&server).await[0][field], json!(32000), "{model}");
    }
    let server = server(vec![chat("c1", &json!({}))]).await;
    let mut settings = settings(Provider::OpenAi, "gpt-5.5", &server.uri());
    settings.protocol = Some(Protocol::OpenAiChat);
    runtime(settings).0.generate_text(ask("x")).await.unwrap();
    assert_eq!(
        bodies(&server).await[0]["max_completion_tokens"],
        json!(32000)
    );
}

/// C-18.
#[tokio::test]
async fn the_cost_that_a_gateway_reports_is_recorded() {
    let costs = [
        json!({"provider_metadata": {"gateway": {"cost": "0.0021"}}}),
        json!({"usage": {"prompt_tokens": 9, "completion_tokens": 3, "cost": 0.5,
            "completion_tokens_details": {"reasoning_tokens": 2}}}),
        json!({"usage": {"prompt_tokens": 9, "completion_tokens": 3, "cost": -1.0}}),
    ];
    let answers = costs.iter().map(|extra| chat("c", extra)).collect();
    let server = server(answers).await;
    let (runtime, events) = runtime(settings(Provider::Gateway, "openai/gpt-5.5", &server.uri()));
    let mut reasoning = Vec::new();
    for _ in 0..3 {
        let outcome = runtime.generate_text(ask("x")).await.unwrap();
        reasoning.push(outcome.metrics.usage.reasoning);
    }
    let mut lines = events.lines();
    lines.retain(|line| line.starts_with("cost "));
    assert_eq!(lines, ["cost 0.0021", "cost 0.5"]);
    assert_eq!(reasoning, [2, 2, 0]);
}

/// `--max-minutes`.
#[tokio::test]
async fn the_end_of_the_run_cuts_off_a_call() {
    for sent in [0, 400] {
        let server = Loopback::start(move |_, _| Answer {
            end: End::StallAfter(sent),
            ..Answer::stream(crate::fake::stream_text(
                "m1",
                "end_turn",
                &[json!({"type": "text", "text": "a word ".repeat(50)})],
            ))
        })
        .unwrap();
        let mut settings = settings(Provider::Anthropic, "sonnet", &server.address());
        settings.rate_limit = RateLimit::Own(GovernorSettings {
            ends_at: Some(Instant::now() + Duration::from_secs(3)),
            ..GovernorSettings::default()
        });
        let (runtime, events) = runtime(settings);
        let error = runtime.generate_text(ask("x")).await.unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str(), server.requests().len()),
            (
                LlmErrorKind::Budget,
                "the time of the run is over: a model call was cut off",
                1
            )
        );
        // It is billed all the same.
        assert_eq!(events.lines().len(), 1, "{:?}", events.lines());
    }
}

#[tokio::test]
async fn a_long_limit_ends_the_call_with_its_time() {
    let full = crate::fake::refused(429, "rate_limit_error").insert_header("retry-after", "7200");
    let server = server(vec![full]).await;
    let mut settings = settings(Provider::Anthropic, "sonnet", &server.uri());
    settings.rate_limit = RateLimit::Own(GovernorSettings {
        max_wait: Some(Duration::from_mins(5)),
        ..GovernorSettings::default()
    });
    let (runtime, events) = runtime(settings);
    for _ in 0..2 {
        let error = runtime.generate_text(ask("x")).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::RateLimit);
        assert!(
            error
                .message
                .starts_with("the provider refuses calls until 2"),
            "{error:?}"
        );
        let wait = error.retry_after.unwrap_or_default();
        assert!(wait > Duration::from_secs(7000), "{wait:?}");
    }
    assert_eq!(bodies(&server).await.len(), 1);
    assert_eq!(events.lines(), ["refused requests"]);
}

fn looks() -> Vec<ktx_tool_descriptors::ToolDescriptor> {
    use ktx_tool_descriptors::{ToolDescriptor, ToolOutput, WriteEffect, handler_fn};
    vec![ToolDescriptor {
        name: "look".to_owned(),
        title: "look".to_owned(),
        description: "looks".to_owned(),
        input_schema: json!({"type": "object"}),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: handler_fn(|_, _| Ok(ToolOutput::text("rows"))),
    }]
}

#[tokio::test]
async fn a_refused_signature_is_dropped_for_good() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "old-seal"});
    let refusal = ResponseTemplate::new(400).set_body_json(json!({"type": "error", "error": {
        "type": "invalid_request_error", "message": "Invalid `signature` in `thinking` block",
    }}));
    let look = |id: &str| tool_use(id, "look", &json!({}));
    let server = server(vec![
        message("m1", "tool_use", &[thinking, look("t1")]),
        refusal,
        message("m2", "tool_use", &[look("t2")]),
        said("m3", "done"),
    ])
    .await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let outcome = runtime
        .run_agent_loop(crate::agent::request(looks(), 5))
        .await;
    assert_eq!(outcome.text.as_deref(), Some("done"), "{:?}", outcome.error);
    let signed: Vec<bool> = bodies(&server)
        .await
        .iter()
        .map(|body| body.to_string().contains("old-seal"))
        .collect();
    assert_eq!(signed, [false, true, false, false]);
}

#[tokio::test]
async fn a_refused_signature_of_gemini_is_dropped() {
    let chunk = |part: Value| {
        let body = json!({"responseId": "g", "modelVersion": "gemini-3-pro",
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3},
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]});
        sse(&format!("data: {body}\n\n"))
    };
    let refusal = ResponseTemplate::new(400).set_body_json(json!({"error": {
        "code": 400, "status": "INVALID_ARGUMENT", "message": "Thought signature is not valid.",
    }}));
    let server = server(vec![
        chunk(
            json!({"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "old-seal"}),
        ),
        refusal,
        chunk(json!({"text": "done"})),
    ])
    .await;
    let (runtime, _) = runtime(settings(Provider::Gemini, "gemini-3-pro", &server.uri()));
    let outcome = runtime
        .run_agent_loop(crate::agent::request(looks(), 5))
        .await;
    assert_eq!(outcome.text.as_deref(), Some("done"), "{:?}", outcome.error);
    let sent = bodies(&server).await;
    assert!(sent[1].to_string().contains("old-seal"));
    assert!(!sent[2].to_string().contains("old-seal"));
}

/// Only if none of its text was delivered.
#[tokio::test]
async fn an_undelivered_truncated_answer_is_requested_again() {
    let cut = include_str!("../../../../fixtures/providers/streams/anthropic_cut.sse");
    for (deltas, texts, answer) in [
        (Deltas::ByTurn, vec!["whole"], Some("whole")),
        (Deltas::AsTheyCome, vec!["Half"], None),
    ] {
        let server = server(vec![sse(cut), said("m1", "whole")]).await;
        let (runtime, _) = anthropic(&server.uri(), "haiku");
        let mut run = runtime.start_run(ktx_llm_runtime::RunRequest {
            deltas,
            settings: ktx_llm_runtime::CallSettings::default(),
            ..crate::run::request(3)
        });
        let mut seen = Vec::new();
        while let Some(event) = run.next_event().await {
            if let RunEvent::TextDelta(text) = event {
                seen.push(text);
            }
        }
        let last = run.finish().await;
        assert_eq!(
            (seen, last.result.ok().as_deref()),
            (texts.iter().map(ToString::to_string).collect(), answer)
        );
    }
}
