//! Golden requests of each provider.

use ktx_llm_runtime::{ContentBlock, MediaSource, MessageRole, Transport};
use ktx_vocabulary::{CacheTtl, Provider};
use serde_json::{Value, json};

use super::{
    call, encoded, map, message, overrides, reasoning, result, settings, text, tools, user,
};
use crate::caching::PromptCaching;
use crate::preset::Protocol;
use crate::settings::HttpSettings;
use crate::wire::request::{
    CanonicalRequest, DeliveryMode, OutputForm, Strictness, Thinking, ToolChoice,
};

/// Compares with `fixtures/providers/golden/<name>.json`.
#[track_caller]
pub(super) fn check(name: &str, settings: &HttpSettings, request: &CanonicalRequest) {
    let encoded = encoded(settings, request);
    let headers: Vec<String> = encoded
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let actual = json!({
        "path": encoded.path,
        "headers": headers,
        "body": encoded.body,
    });
    let actual = format!("{}\n", serde_json::to_string_pretty(&actual).unwrap());
    let path = format!(
        "{}/../../fixtures/providers/golden/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        actual == expected,
        "golden `{name}` differs; the request is now\n>>>{name}\n{actual}<<<"
    );
}

pub(super) fn tool_loop(meta: Value) -> CanonicalRequest {
    CanonicalRequest {
        system: "Be exact.".to_owned(),
        messages: vec![
            user("How many orders?"),
            message(
                MessageRole::Assistant,
                vec![
                    reasoning("I need the tables.", meta),
                    text("Looking."),
                    call("c1", "sql", json!({"query": "select 1"})),
                    call("c2", "tables", json!({})),
                ],
            ),
            message(
                MessageRole::User,
                vec![
                    result("c1", "| 1 |"),
                    ContentBlock::ToolResult {
                        tool_use_id: "c2".to_owned(),
                        content: "no access".to_owned(),
                        is_error: true,
                    },
                ],
            ),
        ],
        tools: tools(),
        thinking: Thinking::On,
        temperature: Some(0.0),
        ..CanonicalRequest::default()
    }
}

pub(super) fn object(form: OutputForm) -> CanonicalRequest {
    CanonicalRequest {
        system: "Be exact.".to_owned(),
        messages: vec![user("Which table?")],
        output: form,
        temperature: Some(0.0),
        ..CanonicalRequest::default()
    }
}

pub(super) fn schema() -> OutputForm {
    OutputForm::Schema {
        schema: json!({
            "type": "object",
            "properties": {"table": {"type": "string"}},
            "required": ["table"],
            "additionalProperties": false,
        }),
        strictness: Strictness::Strict,
    }
}

fn media() -> CanonicalRequest {
    let file = |source| ContentBlock::File { source };
    let image = |source| ContentBlock::Image { source };
    CanonicalRequest {
        messages: vec![message(
            MessageRole::User,
            vec![
                text("See:"),
                image(MediaSource {
                    base64: Some("aW1n".to_owned()),
                    mime_type: Some("image/jpeg".to_owned()),
                    ..MediaSource::default()
                }),
                image(MediaSource {
                    url: Some("https://example.com/a.png".to_owned()),
                    ..MediaSource::default()
                }),
                file(MediaSource {
                    file_id: Some("file_1".to_owned()),
                    ..MediaSource::default()
                }),
                file(MediaSource {
                    base64: Some("cGRm".to_owned()),
                    filename: Some("a.pdf".to_owned()),
                    ..MediaSource::default()
                }),
                file(MediaSource {
                    url: Some("gs://bucket/b.pdf".to_owned()),
                    ..MediaSource::default()
                }),
                ContentBlock::Audio {
                    source: MediaSource {
                        filename: Some("c.wav".to_owned()),
                        ..MediaSource::default()
                    },
                },
            ],
        )],
        ..CanonicalRequest::default()
    }
}

/// KODE-10.
#[test]
fn anthropic_tool_loop() {
    check(
        "anthropic_loop",
        &settings(Provider::Anthropic, "sonnet"),
        &tool_loop(json!({"provider": "anthropic", "signature": "s1"})),
    );
}

#[test]
fn anthropic_forced_tool_switches_thinking_off_and_native_output_has_a_format() {
    let mut forced = object(OutputForm::Text);
    forced.tools = tools();
    forced.tool_choice = ToolChoice::Named("sql".to_owned());
    check(
        "anthropic_forced_tool",
        &settings(Provider::Anthropic, "haiku"),
        &forced,
    );
    check(
        "anthropic_object_sonnet_5_5",
        &settings(Provider::Anthropic, "sonnet"),
        &object(schema()),
    );
    check(
        "anthropic_object_sonnet_4_6",
        &settings(Provider::Anthropic, "claude-sonnet-4-6"),
        &object(schema()),
    );
}

/// KODE-05, KODE-10, KODE-11, KODE-14, KODE-15.
#[test]
fn media_become_blocks_or_visible_placeholders() {
    for (name, provider, model) in [
        ("anthropic_media", Provider::Anthropic, "sonnet"),
        ("vertex_media", Provider::Vertex, "sonnet"),
        ("responses_media", Provider::OpenAi, "gpt-5.5"),
        ("gemini_media", Provider::Gemini, "gemini-3.7-flash"),
        ("chat_media", Provider::Kimi, "kimi-k3"),
        ("chat_media_blind", Provider::OpenAiCompatible, "llama"),
    ] {
        check(name, &settings(provider, model), &media());
    }
}

#[test]
fn vertex_names_the_model_in_its_path() {
    let mut request = object(OutputForm::Text);
    check(
        "vertex_stream",
        &settings(Provider::Vertex, "claude-sonnet-4-5@20250929"),
        &request,
    );
    request.delivery = DeliveryMode::Whole;
    let encoded = encoded(&settings(Provider::Vertex, "opus"), &request);
    assert_eq!(
        encoded.path,
        "/v1/projects/p1/locations/us-east5/publishers/anthropic/models/claude-opus-5-5:rawPredict"
    );
}

#[test]
fn gateway_chooses_the_protocol_by_the_creator() {
    let request = object(OutputForm::Text);
    check(
        "gateway_claude",
        &settings(Provider::Gateway, "sonnet"),
        &request,
    );
    check(
        "gateway_other",
        &settings(Provider::Gateway, "openai/gpt-5.6-sol"),
        &request,
    );
}

/// KODE-13.
#[test]
fn responses_requests() {
    let encrypted = json!({
        "provider": "openai",
        "item": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
    });
    check(
        "responses_loop",
        &settings(Provider::OpenAi, "gpt-5.5"),
        &tool_loop(encrypted),
    );
    check(
        "responses_object",
        &settings(Provider::OpenAi, "gpt-5-mini"),
        &object(schema()),
    );
    let mut chat = settings(Provider::OpenAi, "gpt-5.5");
    chat.protocol = Some(Protocol::OpenAiChat);
    check("openai_chat_object", &chat, &object(schema()));
}

/// KODE-15.
#[test]
fn gemini_requests() {
    let own = json!({"provider": "gemini", "thought_signature": "t1"});
    check(
        "gemini_loop",
        &settings(Provider::Gemini, "gemini-3.7-flash"),
        &tool_loop(own),
    );
    check(
        "gemini_object",
        &settings(Provider::Gemini, "gemini-2.5-flash"),
        &object(schema()),
    );
}

/// KODE-12, KODE-16, KODE-17, KODE-18, KODE-19, KODE-20, KODE-21, KODE-22.
#[test]
fn the_chat_family() {
    for (name, provider, model) in [
        ("deepseek_loop", Provider::DeepSeek, "deepseek-v4-pro"),
        ("deepseek_r1_loop", Provider::DeepSeek, "deepseek-r1"),
        ("qwen_loop", Provider::Qwen, "qwen3.8-max"),
        ("glm_loop", Provider::Glm, "glm-5.3"),
        ("minimax_loop", Provider::MiniMax, "MiniMax-M3"),
        ("kimi_k2_loop", Provider::Kimi, "kimi-k2-thinking"),
        ("kimi_k3_loop", Provider::Kimi, "kimi-k3"),
        ("groq_loop", Provider::Groq, "qwen/qwen3.8-27b"),
        ("cerebras_loop", Provider::Cerebras, "gpt-oss-120b"),
    ] {
        let mut settings = settings(provider, model);
        match provider {
            Provider::Qwen => {
                settings.reasoning = overrides(json!({
                    "requestParams": {"enable_thinking": true, "thinking_budget": 2048},
                }));
            }
            Provider::Cerebras => {
                settings.reasoning = overrides(json!({
                    "requestParams": {"reasoning_format": "separate"},
                }));
            }
            _ => {}
        }
        check(name, &settings, &tool_loop(json!({})));
    }
}

/// KODE-12, KODE-16.
#[test]
fn reasoning_is_configuration() {
    let mut settings = settings(Provider::DeepSeek, "deepseek-v4-pro");
    let assistant = |settings: &HttpSettings| {
        encoded(settings, &tool_loop(json!({}))).body["messages"][2].clone()
    };
    settings.reasoning = overrides(json!({"stripFromHistory": true}));
    assert_eq!(assistant(&settings).get("reasoning_content"), None);
    settings.reasoning = overrides(json!({"fieldName": "reasoning"}));
    assert_eq!(assistant(&settings)["reasoning"], "I need the tables.");
    settings.reasoning = overrides(json!({"field_name": "reasoning_details"}));
    assert_eq!(
        assistant(&settings)["reasoning_details"],
        json!([{"text": "I need the tables."}])
    );
}

/// KODE-04: the message decides, then `ktx.yaml`.
#[test]
fn transports_decide_how_foreign_reasoning_travels() {
    let mut lines = Vec::new();
    for (provider, model) in [
        (Provider::Anthropic, "sonnet"),
        (Provider::OpenAi, "gpt-5.5"),
        (Provider::Gemini, "gemini-3.7-flash"),
        (Provider::DeepSeek, "deepseek-v4-pro"),
    ] {
        for (transport, name) in [
            (Transport::Provider, "provider"),
            (Transport::Text, "text"),
            (Transport::Omit, "omit"),
        ] {
            let answer = message(
                MessageRole::Assistant,
                vec![reasoning("why", json!({"provider": "x"})), text("a")],
            );
            let mut message = answer.clone();
            message.metadata.transport = Some(transport);
            let asked = |answer| CanonicalRequest {
                messages: vec![user("q"), answer, user("r")],
                ..CanonicalRequest::default()
            };
            let mut configured = settings(provider, model);
            configured.reasoning = overrides(json!({"transport": name}));
            let body = encoded(&configured, &asked(answer)).body;
            assert_eq!(
                body,
                encoded(&settings(provider, model), &asked(message)).body
            );
            let turns = ["messages", "input", "contents"]
                .iter()
                .find_map(|key| body[*key].as_array())
                .unwrap();
            lines.push(format!("{provider} {transport:?} {}", turns[1]));
        }
    }
    assert_eq!(
        lines,
        [
            r#"anthropic Provider {"role":"assistant","content":[{"type":"text","text":"a"}]}"#,
            r#"anthropic Text {"role":"assistant","content":[{"type":"text","text":"<think>why</think>\n"},{"type":"text","text":"a"}]}"#,
            r#"anthropic Omit {"role":"assistant","content":[{"type":"text","text":"a"}]}"#,
            r#"openai Provider {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}"#,
            r#"openai Text {"type":"message","role":"assistant","content":[{"type":"output_text","text":"<think>why</think>\n"},{"type":"output_text","text":"a"}]}"#,
            r#"openai Omit {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}"#,
            r#"gemini Provider {"role":"model","parts":[{"text":"a"}]}"#,
            r#"gemini Text {"role":"model","parts":[{"text":"<think>why</think>\n"},{"text":"a"}]}"#,
            r#"gemini Omit {"role":"model","parts":[{"text":"a"}]}"#,
            r#"deepseek Provider {"role":"assistant","content":"a","reasoning_content":"why"}"#,
            r#"deepseek Text {"role":"assistant","content":"<think>why</think>\na"}"#,
            r#"deepseek Omit {"role":"assistant","content":"a"}"#,
        ]
    );
}

/// KTX-80, KODE-31.
#[test]
fn qwen_is_marked_for_five_minutes_at_most() {
    let request = CanonicalRequest {
        system: "Be exact. ".repeat(500),
        messages: vec![user("q")],
        caching: Some(PromptCaching::default()),
        ..CanonicalRequest::default()
    };
    let body = encoded(&settings(Provider::Qwen, "qwen3.8-max"), &request).body;
    assert_eq!(
        body["messages"][0]["content"][0]["cache_control"],
        json!({"type": "ephemeral"})
    );
    assert_eq!(
        body["messages"][1]["content"][0]["cache_control"],
        json!({"type": "ephemeral"})
    );
}

/// KODE-31.
#[test]
fn cache_settings_of_every_family() {
    let request = |ttl| CanonicalRequest {
        system: "Be exact. ".repeat(500),
        messages: vec![
            message(
                MessageRole::User,
                vec![
                    text("The document."),
                    ContentBlock::CacheControl { ttl },
                    text("The question."),
                ],
            ),
            message(
                MessageRole::User,
                vec![ContentBlock::CacheControl { ttl: None }],
            ),
        ],
        tools: tools(),
        caching: Some(PromptCaching::default()),
        ..CanonicalRequest::default()
    };
    let mut anthropic = settings(Provider::Anthropic, "sonnet");
    anthropic.cache.extended_ttl = Some(true);
    check(
        "anthropic_cache",
        &anthropic,
        &request(Some(CacheTtl::OneHour)),
    );
    let mut few = settings(Provider::Gateway, "sonnet");
    few.cache.breakpoints = Some(1);
    check("gateway_cache", &few, &request(None));
    check(
        "qwen_cache",
        &settings(Provider::Qwen, "qwen3.8-max"),
        &request(Some(CacheTtl::OneHour)),
    );
    let mut openai = settings(Provider::OpenAi, "gpt-5.5");
    openai.cache.request_params = map(json!({
        "prompt_cache_key": "team-a", "prompt_cache_retention": "24h",
    }));
    check("openai_cache", &openai, &request(None));
    let mut gemini = settings(Provider::Gemini, "gemini-3-pro");
    gemini.cache.request_params = map(json!({"cachedContent": "cachedContents/7"}));
    check("gemini_cache", &gemini, &request(None));
    let mut cerebras = settings(Provider::Cerebras, "zai-glm-4.7");
    cerebras.cache.request_params = map(json!({"prompt_cache_key": "team-a"}));
    check("cerebras_cache", &cerebras, &request(None));
}
