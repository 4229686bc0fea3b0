//! `llm.provider.<backend>.reasoning` in whole requests of each protocol.

use ktx_vocabulary::Provider;
use serde_json::{Value, json};

use super::golden::{check, object, schema, tool_loop};
use super::{encoded, map, overrides, settings};
use crate::reasoning::ReasoningOverrides;
use crate::settings::HttpSettings;
use crate::wire::request::{CanonicalRequest, HistoryForm, OutputForm, ToolChoice};

fn with(provider: Provider, model: &str, reasoning: Value) -> HttpSettings {
    HttpSettings {
        reasoning: overrides(reasoning),
        ..settings(provider, model)
    }
}

/// KODE-10, KODE-12, KODE-13, KODE-15.
#[test]
fn request_params_reach_every_protocol() {
    let budget = json!({"requestParams": {
        "thinking": {"type": "enabled", "budget_tokens": 4096},
        "service_tier": "auto",
    }});
    let signed = json!({"provider": "anthropic", "signature": "s1"});
    check(
        "anthropic_params",
        &with(Provider::Anthropic, "claude-sonnet-4-6", budget.clone()),
        &tool_loop(signed),
    );
    check(
        "vertex_params",
        &with(Provider::Vertex, "claude-sonnet-4-6", budget),
        &object(schema()),
    );
    let encrypted = json!({
        "provider": "openai",
        "item": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
    });
    check(
        "responses_params",
        &with(
            Provider::OpenAi,
            "gpt-5.5",
            json!({"requestParams": {
                "reasoning": {"effort": "xhigh", "summary": "auto"},
                "text": {"verbosity": "low"},
            }}),
        ),
        &tool_loop(encrypted),
    );
    check(
        "responses_params_object",
        &with(
            Provider::OpenAi,
            "gpt-5.5",
            json!({"requestParams": {
                "reasoning": {"effort": "xhigh"},
                "text": {"verbosity": "low"},
            }}),
        ),
        &object(schema()),
    );
    check(
        "gemini_params",
        &with(
            Provider::Gemini,
            "gemini-3.7-flash",
            json!({"requestParams": {
                "generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": true}},
            }}),
        ),
        &object(schema()),
    );
    check(
        "openai_chat_params",
        &HttpSettings {
            protocol: Some(crate::preset::Protocol::OpenAiChat),
            ..with(
                Provider::OpenAi,
                "gpt-5.5",
                json!({"requestParams": {"reasoning_effort": "high"}}),
            )
        },
        &object(schema()),
    );
}

/// KODE-10: a model that always thinks takes no forced tool, and its limit exceeds its budget.
#[test]
fn a_thinking_budget_of_the_user_keeps_requests_acceptable() {
    let budget = json!({"requestParams": {"thinking": {"type": "enabled", "budget_tokens": 4096}}});
    let mut asked = object(OutputForm::Text);
    asked.max_output = Some(64);
    asked.tools = super::tools();
    asked.tool_choice = ToolChoice::Named("sql".to_owned());
    check(
        "anthropic_params_short",
        &with(Provider::Anthropic, "claude-haiku-4-5", budget),
        &asked,
    );
}

/// KODE-12: Claude refuses to continue open tool calls without their thoughts.
#[test]
fn the_history_policy_holds_on_every_protocol() {
    let own = [
        (
            Provider::Anthropic,
            "sonnet",
            json!({"provider": "anthropic", "signature": "s1"}),
        ),
        (
            Provider::OpenAi,
            "gpt-5.5",
            json!({"provider": "openai", "item": {"type": "reasoning", "encrypted_content": "x"}}),
        ),
        (
            Provider::Gemini,
            "gemini-3.7-flash",
            json!({"provider": "gemini", "thought_signature": "t1"}),
        ),
        (Provider::DeepSeek, "deepseek-v4-pro", json!({})),
    ];
    let mut lines = Vec::new();
    for (provider, model, meta) in own {
        for policy in ["strip", "current_turn", "all"] {
            let again = tool_loop(meta.clone()).messages;
            let asked = CanonicalRequest {
                messages: [again.clone(), again].concat(),
                ..tool_loop(meta.clone())
            };
            let settings = with(provider, model, json!({"historyPolicy": policy}));
            let body = encoded(&settings, &asked).body.to_string();
            let thoughts = [
                r#""signature":"s1""#,
                r#""encrypted_content":"x""#,
                r#""thought":true"#,
                r#""reasoning_content":"I need the tables.""#,
            ];
            let returned: usize = thoughts
                .map(|words| body.matches(words).count())
                .iter()
                .sum();
            lines.push(format!("{provider} {policy} {returned}"));
        }
    }
    assert_eq!(
        lines,
        [
            "anthropic strip 1",
            "anthropic current_turn 1",
            "anthropic all 2",
            "openai strip 0",
            "openai current_turn 1",
            "openai all 2",
            "gemini strip 0",
            "gemini current_turn 1",
            "gemini all 2",
            "deepseek strip 0",
            "deepseek current_turn 1",
            "deepseek all 2",
        ]
    );
}

/// KODE-13.
#[test]
fn a_stored_answer_is_named_instead_of_sent() {
    let stored = with(Provider::OpenAi, "gpt-5.5", json!({"store": true}));
    let mut asked = tool_loop(json!({}));
    check("responses_store_first", &stored, &asked);
    asked.messages[1].metadata.response_id = Some("resp_1".to_owned());
    check("responses_store_next", &stored, &asked);
    let plain = encoded(&settings(Provider::OpenAi, "gpt-5.5"), &asked);
    assert_eq!(plain.body.get("previous_response_id"), None);
    assert_eq!(plain.body["store"], json!(false));
    let next = encoded(&stored, &asked);
    assert_eq!(
        next.stored,
        plain.body["input"].to_string().len() - next.body["input"].to_string().len()
    );
    asked.history = HistoryForm::Whole;
    let whole = encoded(&stored, &asked);
    assert_eq!(whole.body["input"], plain.body["input"]);
    assert_eq!((whole.stored, &whole.body["store"]), (0, &json!(true)));
    asked.history = HistoryForm::ById;
    asked.messages.truncate(2);
    assert_eq!(
        encoded(&stored, &asked).body.get("previous_response_id"),
        None,
        "nothing follows the stored answer"
    );
}

#[test]
fn a_wrong_block_is_an_error_that_names_its_key() {
    let mut lines = Vec::new();
    for written in [
        json!({"requestParms": {}}),
        json!({"requestParams": 3}),
        json!({"request_params": {"messages": []}}),
        json!({"historyPolicy": "nonsense"}),
        json!({"stripFromHistory": "yes"}),
        json!({"transport": "txt"}),
        json!({"store": 1}),
        json!({"fieldName": 1}),
    ] {
        let error = ReasoningOverrides::parse(Provider::Groq, &map(written)).unwrap_err();
        lines.push(error.message);
    }
    assert_eq!(
        lines,
        [
            "`llm.provider.groq.reasoning.requestParms` is not a known key",
            "`llm.provider.groq.reasoning.requestParams` is not an object",
            "`llm.provider.groq.reasoning.request_params.messages` is not a parameter: ktx sets this field itself",
            "`llm.provider.groq.reasoning.historyPolicy` is not `strip`, `current_turn` or `all`",
            "`llm.provider.groq.reasoning.stripFromHistory` is not `true` or `false`",
            "`llm.provider.groq.reasoning.transport` is not `provider`, `text` or `omit`",
            "`llm.provider.groq.reasoning.store` is not `true` or `false`",
            "`llm.provider.groq.reasoning.fieldName` is not text",
        ]
    );
    let absent = ReasoningOverrides::parse(Provider::Groq, &map(json!({"transport": null})));
    assert_eq!(absent, Ok(ReasoningOverrides::default()));
}
