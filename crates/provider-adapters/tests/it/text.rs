//! Text, settings, probe.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ktx_llm_runtime::{
    EventSink, LlmErrorKind, LlmRuntime as _, NoEvents, ProbeRequest, RuntimeEvent, SourceSystem,
    TokenUsage, UsageFact, UsageKind,
};
use ktx_provider_adapters::{HttpRuntime, HttpSettings};
use ktx_vocabulary::{ModelRole, Provider, RunId};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::fake::{anthropic, ask, bodies, runtime, said, server, settings, sse};

/// KTX-50, KODE-32.
#[tokio::test]
async fn text_is_the_final_text_and_every_message_is_counted() {
    let server = server(vec![said("m1", "42")]).await;
    let (runtime, events) = anthropic(&server.uri(), "sonnet");
    let outcome = runtime.generate_text(ask("How many?")).await.unwrap();
    assert_eq!(outcome.text, "42");
    assert_eq!(outcome.metrics.steps, 1);
    assert_eq!(outcome.metrics.model.as_deref(), Some("claude-test"));
    assert_eq!(
        events.lines(),
        ["usage r1/0/m1 anthropic_api claude-test 10/0/0/100/7"]
    );
    let requests = server.received_requests().await.unwrap();
    let header = |name: &str| {
        requests[0]
            .headers
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(header("x-api-key").as_deref(), Some("sk-test-key-123"));
    assert_eq!(header("authorization"), None);
    assert_eq!(header("anthropic-version").as_deref(), Some("2023-06-01"));
    assert_eq!(bodies(&server).await[0].get("tools"), None);
}

#[derive(Default)]
struct FactLog(Mutex<Vec<UsageFact>>);

impl EventSink for FactLog {
    fn event(&self, event: RuntimeEvent) {
        if let RuntimeEvent::Usage(fact) = event {
            self.0.lock().expect("no poison").push(fact);
        }
    }
}

/// COG-08, COG-11.
#[tokio::test]
async fn a_fact_has_the_counters_of_its_message() {
    let answer = json!({
        "id": "msg_7", "type": "message", "role": "assistant", "model": "claude-test",
        "content": [{"type": "text", "text": "42"}], "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 11, "output_tokens": 13, "cache_read_input_tokens": 17,
            "cache_creation_input_tokens": 24,
            "cache_creation": {"ephemeral_5m_input_tokens": 19, "ephemeral_1h_input_tokens": 5},
        },
    });
    let server = server(vec![ResponseTemplate::new(200).set_body_json(answer)]).await;
    let facts = Arc::new(FactLog::default());
    let settings = settings(Provider::Anthropic, "sonnet", &server.uri());
    let runtime = HttpRuntime::new(settings, facts.clone()).unwrap();
    let mut asked = ask("How many?");
    asked.label.unit = Some("orders".to_owned());
    runtime.generate_text(asked).await.unwrap();
    let facts = facts.0.lock().unwrap();
    assert_eq!(
        *facts,
        [UsageFact {
            kind: UsageKind::Message,
            run_id: RunId::parse("r1").unwrap(),
            attempt: 0,
            message_id: "msg_7".to_owned(),
            source_system: SourceSystem::Provider(Provider::Anthropic),
            model: "claude-test".to_owned(),
            location: None,
            role: ModelRole::Default,
            stage: "test".to_owned(),
            unit: Some("orders".to_owned()),
            connection: None,
            usage: TokenUsage {
                input: 11,
                cache_write_5m: 19,
                cache_write_1h: 5,
                cache_read: 17,
                output: 13,
                reasoning: 0,
            },
        }]
    );
    assert_eq!(facts[0].reference(), "r1/0/msg_7");
}

/// KTX-04.
#[tokio::test]
async fn roles_choose_models() {
    let server = server(vec![said("m1", "a"), said("m2", "b")]).await;
    let mut settings = settings(Provider::Anthropic, "sonnet", &server.uri());
    settings.models = BTreeMap::from([
        (ModelRole::Default, "sonnet".to_owned()),
        (ModelRole::Triage, "haiku".to_owned()),
    ]);
    let (runtime, _) = runtime(settings);
    for role in [ModelRole::Triage, ModelRole::Curator] {
        let mut request = ask("x");
        request.role = role;
        runtime.generate_text(request).await.unwrap();
    }
    let models: Vec<Value> = bodies(&server)
        .await
        .iter()
        .map(|body| body["model"].clone())
        .collect();
    assert_eq!(
        models,
        [json!("claude-haiku-5-5"), json!("claude-sonnet-5-5")]
    );
}

#[tokio::test]
async fn every_preset_asks_in_its_own_way() {
    let chat = "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let responses = "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"ok\"}]}]}}\n\n";
    let gemini = "data: {\"responseId\":\"g\",\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"ok\"}]},\"finishReason\":\"STOP\"}]}\n\n";
    let cases = [
        (
            Provider::Gateway,
            "xai/grok",
            chat,
            "/v1/chat/completions",
            "authorization",
        ),
        (
            Provider::OpenAi,
            "gpt-5.5",
            responses,
            "/v1/responses",
            "authorization",
        ),
        (
            Provider::Gemini,
            "gemini-3.7-flash",
            gemini,
            "/v1beta/models/gemini-3.7-flash:streamGenerateContent",
            "x-goog-api-key",
        ),
        (
            Provider::DeepSeek,
            "deepseek-v4-pro",
            chat,
            "/v1/chat/completions",
            "authorization",
        ),
        (
            Provider::Qwen,
            "qwen3.8-max",
            chat,
            "/v1/chat/completions",
            "authorization",
        ),
        (
            Provider::Glm,
            "glm-5.3",
            chat,
            "/v1/chat/completions",
            "authorization",
        ),
        (
            Provider::MiniMax,
            "MiniMax-M3",
            chat,
            "/v1/chat/completions",
            "authorization",
        ),
        (
            Provider::Kimi,
            "kimi-k3",
            chat,
            "/v1/chat/completions",
            "authorization",
        ),
        (
            Provider::Groq,
            "openai/gpt-oss-120b",
            chat,
            "/v1/chat/completions",
            "authorization",
        ),
        (
            Provider::Cerebras,
            "gpt-oss-120b",
            chat,
            "/v1/chat/completions",
            "authorization",
        ),
        (
            Provider::OpenAiCompatible,
            "llama",
            chat,
            "/v1/chat/completions",
            "authorization",
        ),
    ];
    for (provider, model, stream, path, key_header) in cases {
        let server = server(vec![sse(stream)]).await;
        let (runtime, _) = runtime(settings(provider, model, &server.uri()));
        let outcome = runtime.generate_text(ask("x")).await;
        assert_eq!(
            outcome.map(|outcome| outcome.text),
            Ok("ok".to_owned()),
            "{provider}"
        );
        let requests = server.received_requests().await.unwrap();
        assert_eq!(requests[0].url.path(), path, "{provider}");
        let key = requests[0]
            .headers
            .get(key_header)
            .map(|v| v.to_str().unwrap().to_owned());
        assert!(key.unwrap().ends_with("sk-test-key-123"), "{provider}");
    }
}

#[tokio::test]
async fn a_refusal_and_a_cut_answer_are_errors() {
    let refusal = include_str!("../../../../fixtures/providers/streams/anthropic_refusal.sse");
    let cut = crate::fake::message("m2", "max_tokens", &[json!({"type": "text", "text": "ha"})]);
    let server = server(vec![sse(refusal), cut]).await;
    let (runtime, events) = anthropic(&server.uri(), "fable");
    let refused = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(refused.kind, LlmErrorKind::Refusal);
    assert_eq!(refused.detail.as_deref(), Some("category: cyber"));
    let cut = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(cut.kind, LlmErrorKind::MaxOutput);
    assert_eq!(events.lines().len(), 2, "both were paid for");
}

#[test]
fn settings_that_cannot_work_say_what_to_set() {
    let check = |settings: HttpSettings, expected: &str| {
        let error = HttpRuntime::new(settings, Arc::new(NoEvents)).unwrap_err();
        let shown = format!("{error} | {}", error.hint.as_deref().unwrap_or_default());
        assert_eq!(shown, expected);
    };
    check(
        HttpSettings::new(Provider::Anthropic, None, "sonnet"),
        "the `anthropic` backend has no API key | set the environment variable \
         `ANTHROPIC_API_KEY`, or `llm.provider.anthropic.api_key` in `ktx.yaml`",
    );
    check(
        HttpSettings::new(Provider::OpenAiCompatible, None, "llama"),
        "the `openai-compatible` backend has no address | set \
         `llm.provider.openai-compatible.base_url` in `ktx.yaml`",
    );
    check(
        HttpSettings::new(Provider::Vertex, None, "sonnet"),
        "the `vertex` backend has no location and no credentials | set \
         `llm.provider.vertex.location` in `ktx.yaml` and run `gcloud auth \
         application-default login`, or set `GOOGLE_APPLICATION_CREDENTIALS`",
    );
    let mut none = settings(Provider::Anthropic, "sonnet", "http://localhost:1");
    none.models.clear();
    check(
        none,
        "the `anthropic` backend has no model for the role `default` | set \
         `llm.models.default` in `ktx.yaml`",
    );
    check(
        settings(Provider::Gemini, "gemini-4-argon", "http://localhost:1"),
        "the model `gemini-4-argon` cannot be used: it needs the Interactions API | choose \
         another model for the role `default`",
    );
}

/// KTX-83.
#[tokio::test]
async fn a_probe_is_one_small_call_without_a_stream() {
    let body = json!({"type": "message", "id": "m", "model": "claude-sonnet-9", "content": [],
        "stop_reason": "max_tokens", "usage": {"input_tokens": 3, "output_tokens": 1}});
    let server = server(vec![ResponseTemplate::new(200).set_body_json(body)]).await;
    let (runtime, events) = anthropic(&server.uri(), "claude-sonnet-9");
    let report = runtime
        .probe(ProbeRequest::of(&RunId::parse("run-7").unwrap()))
        .await
        .unwrap();
    let labels: Vec<&str> = report
        .facts
        .iter()
        .map(|(label, _)| label.as_str())
        .collect();
    assert_eq!(labels, ["backend", "address", "model"]);
    assert_eq!(
        report.warnings,
        ["the model `claude-sonnet-9` is not in the catalogue"]
    );
    assert_eq!(
        events.lines()[0],
        "warning the model `claude-sonnet-9` is not in the catalogue; ktx treats it as the newest of its family"
    );
    let sent = bodies(&server).await;
    assert_eq!((sent.len(), &sent[0]["max_tokens"]), (1, &json!(64)));
    assert_eq!(sent[0].get("stream"), None);
    assert_eq!(runtime.describe().name, "anthropic");
}
