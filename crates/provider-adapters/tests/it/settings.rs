//! Settings of a run: what is sent to each model, and what its caller learns is not.

use ktx_llm_runtime::{CallSettings, LlmErrorKind, LlmRuntime as _, ThinkingSetting};
use ktx_provider_adapters::{Protocol, ReasoningOverrides};
use ktx_vocabulary::{ModelRole, Provider};
use serde_json::{Value, json};

use crate::fake::{anthropic, bodies, message, refused, runtime, server, settings};

fn all(thinking: Option<ThinkingSetting>) -> CallSettings {
    CallSettings {
        temperature: Some(0.5),
        top_p: Some(0.9),
        max_output: Some(700),
        thinking,
    }
}

async fn sent(provider: Provider, model: &str, written: Value, asked: &CallSettings) -> String {
    let server = server(vec![refused(401, "authentication_error")]).await;
    let mut configured = settings(provider, model, &server.uri());
    configured.reasoning =
        ReasoningOverrides::parse(provider, written.as_object().expect("an object"))
            .expect("usable");
    if provider == Provider::Gateway {
        configured.protocol = Some(Protocol::OpenAiChat);
    }
    let (runtime, _) = runtime(configured);
    let unsent = runtime.abilities(ModelRole::Default).unsent(asked);
    let mut request = crate::run::request(2);
    request.settings.clone_from(asked);
    let last = runtime.start_run(request).finish().await;
    assert_eq!(
        last.result.map_err(|error| error.kind),
        Err(LlmErrorKind::Auth)
    );
    let body = bodies(&server).await.remove(0);
    let conversation = [
        "system",
        "messages",
        "contents",
        "input",
        "instructions",
        "tools",
        "systemInstruction",
        "model",
        "stream",
        "stream_options",
        "store",
        "include",
    ];
    let rest: Vec<String> = body
        .as_object()
        .expect("an object")
        .iter()
        .filter(|(key, _)| !conversation.contains(&key.as_str()))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    format!("{provider} {model}: {} unsent {unsent:?}", rest.join(" "))
}

/// KODE-10, KODE-13, KODE-15.
#[tokio::test]
async fn settings_are_sent_where_the_model_takes_them() {
    let budget = || Some(ThinkingSetting::Budget(2048));
    let effort = |name: &str| Some(ThinkingSetting::Effort(name.to_owned()));
    let off = || Some(ThinkingSetting::Off);
    let none = || json!({});
    let mut lines = Vec::new();
    for (provider, model, thinking) in [
        (Provider::Anthropic, "claude-sonnet-4-6", None),
        (Provider::Anthropic, "claude-sonnet-4-6", off()),
        (Provider::Anthropic, "claude-sonnet-4-6", budget()),
        (Provider::Anthropic, "claude-haiku-4-5", budget()),
        (Provider::Anthropic, "sonnet", budget()),
        (Provider::Anthropic, "sonnet", effort("xhigh")),
        (Provider::Anthropic, "sonnet", effort("huge")),
        (Provider::Anthropic, "sonnet", off()),
        (Provider::OpenAi, "gpt-5.5", effort("xhigh")),
        (Provider::OpenAi, "gpt-5.5", off()),
        (Provider::OpenAi, "gpt-5.5", budget()),
        (Provider::OpenAi, "gpt-4.1", effort("high")),
        (Provider::Gemini, "gemini-3.7-flash", effort("high")),
        (Provider::Gemini, "gemini-2.5-flash", budget()),
        (Provider::Gemini, "gemini-2.5-flash", off()),
        (Provider::Qwen, "qwen3.8-max", budget()),
        (Provider::Qwen, "qwen3.8-max", off()),
        (Provider::DeepSeek, "deepseek-v4-pro", effort("max")),
        (Provider::Kimi, "kimi-k3", effort("high")),
        (Provider::Cerebras, "gpt-oss-120b", effort("low")),
        (Provider::OpenAiCompatible, "llama", effort("high")),
        (Provider::OpenAiCompatible, "llama", None),
    ] {
        lines.push(sent(provider, model, none(), &all(thinking)).await);
    }
    // Thinking in ktx.yaml applies to every call.
    let fixed = json!({"requestParams": {"reasoning": {"effort": "low"}}});
    lines.push(sent(Provider::OpenAi, "gpt-5.5", fixed, &all(effort("xhigh"))).await);
    // Without settings, nothing changes.
    lines.push(
        sent(
            Provider::OpenAiCompatible,
            "llama",
            none(),
            &CallSettings::default(),
        )
        .await,
    );
    assert_eq!(
        lines,
        [
            r#"anthropic claude-sonnet-4-6: max_tokens=700 thinking={"type":"adaptive"} unsent [Temperature, TopP]"#,
            r#"anthropic claude-sonnet-4-6: max_tokens=700 thinking={"type":"disabled"} temperature=0.5 unsent [TopP]"#,
            r#"anthropic claude-sonnet-4-6: max_tokens=2748 thinking={"type":"enabled","budget_tokens":2048} unsent [Temperature, TopP]"#,
            r#"anthropic claude-haiku-4-5: max_tokens=2748 thinking={"type":"enabled","budget_tokens":2048} unsent [Temperature, TopP]"#,
            r#"anthropic sonnet: max_tokens=700 thinking={"type":"adaptive"} unsent [Temperature, TopP, Thinking]"#,
            r#"anthropic sonnet: max_tokens=700 thinking={"type":"adaptive"} output_config={"effort":"xhigh"} unsent [Temperature, TopP]"#,
            r#"anthropic sonnet: max_tokens=700 thinking={"type":"adaptive"} unsent [Temperature, TopP, Thinking]"#,
            r#"anthropic sonnet: max_tokens=700 output_config={"effort":"low"} unsent [Temperature, TopP]"#,
            r#"openai gpt-5.5: reasoning={"effort":"xhigh"} max_output_tokens=700 unsent [Temperature, TopP]"#,
            r#"openai gpt-5.5: reasoning={"effort":"none"} max_output_tokens=700 unsent [Temperature, TopP]"#,
            "openai gpt-5.5: max_output_tokens=700 unsent [Temperature, TopP, Thinking]",
            "openai gpt-4.1: max_output_tokens=700 temperature=0.5 top_p=0.9 unsent [Thinking]",
            r#"gemini gemini-3.7-flash: generationConfig={"maxOutputTokens":700,"thinkingConfig":{"thinkingLevel":"HIGH"}} unsent [Temperature, TopP]"#,
            r#"gemini gemini-2.5-flash: generationConfig={"maxOutputTokens":700,"thinkingConfig":{"thinkingBudget":2048}} unsent [Temperature, TopP]"#,
            r#"gemini gemini-2.5-flash: generationConfig={"maxOutputTokens":700,"temperature":0.5,"topP":0.9,"thinkingConfig":{"thinkingBudget":0}} unsent []"#,
            "qwen qwen3.8-max: max_tokens=700 enable_thinking=true thinking_budget=2048 unsent [Temperature, TopP]",
            "qwen qwen3.8-max: max_tokens=700 enable_thinking=false temperature=0.5 top_p=0.9 unsent []",
            r#"deepseek deepseek-v4-pro: max_tokens=700 thinking={"type":"enabled"} reasoning_effort="max" unsent [Temperature, TopP]"#,
            r#"kimi kimi-k3: max_tokens=700 reasoning_effort="high" unsent [Temperature, TopP]"#,
            r#"cerebras gpt-oss-120b: max_completion_tokens=700 reasoning_format="parsed" reasoning_effort="low" unsent [Temperature, TopP]"#,
            "openai-compatible llama: max_tokens=700 temperature=0.5 top_p=0.9 unsent [Thinking]",
            "openai-compatible llama: max_tokens=700 temperature=0.5 top_p=0.9 unsent []",
            r#"openai gpt-5.5: max_output_tokens=700 reasoning={"effort":"low"} unsent [Temperature, TopP, Thinking]"#,
            "openai-compatible llama: max_tokens=32000 temperature=0.0 unsent []",
        ]
    );
}

/// The hint does not blame the model.
#[tokio::test]
async fn an_answer_beyond_the_callers_limit_is_an_error_about_that_limit() {
    let cut = message(
        "m1",
        "max_tokens",
        &[json!({"type": "text", "text": "Half"})],
    );
    let server = server(vec![cut.clone(), cut]).await;
    let mut lines = Vec::new();
    for max_output in [Some(20), None] {
        let (runtime, _) = anthropic(&server.uri(), "sonnet");
        let mut request = crate::run::request(2);
        request.settings.max_output = max_output;
        let error = runtime.start_run(request).finish().await.result;
        let error = error.expect_err("it is cut off");
        lines.push((error.message, error.hint));
    }
    let words = |message: &str, hint: &str| (message.to_owned(), Some(hint.to_owned()));
    assert_eq!(
        lines,
        [
            words(
                "the answer exceeds the requested limit of 20 tokens",
                "ask for a larger limit or a shorter answer",
            ),
            words(
                "the answer does not fit the model's output limit",
                "set `llm.models` to a model that may write longer answers",
            ),
        ]
    );
}
