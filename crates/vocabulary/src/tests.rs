//! Tests of the names.

use crate::{Backend, ConnectionId, ModelRole, Provider, SourceName, TableRef, WikiKey};

#[test]
fn connection_ids_keep_to_the_rule() {
    for good in ["a", "9", "warehouse", "my-db_2"] {
        assert_eq!(
            ConnectionId::parse(good).map(String::from),
            Ok(good.to_owned())
        );
    }
    for bad in ["", "-a", "_a", "a/b", "..", "a b", "ä", "a\n"] {
        let message = ConnectionId::parse(bad).map_err(|error| error.to_string());
        assert_eq!(
            message,
            Err(format!(
                "unsafe connection id `{bad}`: use letters, digits, `_` and `-`, beginning with a letter or digit"
            ))
        );
    }
}

#[test]
fn wiki_keys_are_flat_and_source_names_are_free() {
    assert!(WikiKey::parse("finance/revenue").is_err());
    assert!(SourceName::parse("Finance / Revenue").is_ok());
    assert!(SourceName::parse(" ").is_err());
}

/// KTX-04.
#[test]
fn roles_round_trip_through_their_spelling() {
    for role in ModelRole::ALL {
        assert_eq!(ModelRole::parse(role.as_str()), Some(role));
    }
    assert_eq!(ModelRole::parse("Default"), None);
}

#[test]
fn table_keys_distinguish_names_with_dots() {
    let one = TableRef::new(None, Some("a.b"), "c");
    let two = TableRef::new(Some("a"), Some("b"), "c");
    assert_eq!(one.to_string(), two.to_string());
    assert_ne!(one.key(), two.key());
}

/// KTX-02: the list begins with the backends of KTX 0.12.
#[test]
fn every_backend_is_listed_once_and_found_by_its_name() {
    let listed: Vec<&str> = Backend::all().map(Backend::as_str).collect();
    assert_eq!(
        listed.join(", "),
        "none, anthropic, vertex, gateway, claude-code, openai, gemini, deepseek, qwen, glm, minimax, \
         kimi, groq, cerebras, openai-compatible"
    );
    for backend in Backend::all() {
        assert_eq!(Backend::parse(backend.as_str()), Some(backend));
    }
    assert_eq!(Backend::parse("codex"), None);
}

/// COG-13: no provider is priced as another.
#[test]
fn every_provider_has_its_row() {
    let rows: Vec<String> = Provider::ALL
        .iter()
        .map(|provider| {
            format!(
                "{provider} | {} | {} | {} | {} | {}",
                provider.title(),
                provider.trace_name(),
                provider.ledger_name(),
                provider.key_variable().unwrap_or("-"),
                provider.price_rows().join(" "),
            )
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r"
    anthropic | the Anthropic API | anthropic | anthropic_api | ANTHROPIC_API_KEY | anthropic
    vertex | Claude on Vertex AI | gcp.vertex_ai | vertex | GOOGLE_APPLICATION_CREDENTIALS | google
    gateway | the Vercel AI Gateway | gateway | gateway | AI_GATEWAY_API_KEY | 
    openai | the OpenAI API | openai | openai | OPENAI_API_KEY | openai
    gemini | the Gemini API | gcp.gemini | gemini | GEMINI_API_KEY | google
    deepseek | the DeepSeek API | deepseek | deepseek | DEEPSEEK_API_KEY | deepseek
    qwen | the Qwen API | qwen | qwen | DASHSCOPE_API_KEY | qwen
    glm | the GLM API | glm | glm | ZAI_API_KEY | zai zhipuai
    minimax | the MiniMax API | minimax | minimax | MINIMAX_API_KEY | minimax
    kimi | the Kimi API | moonshot_ai | kimi | MOONSHOT_API_KEY | moonshotai
    groq | the Groq API | groq | groq | GROQ_API_KEY | groq
    cerebras | the Cerebras API | cerebras | cerebras | CEREBRAS_API_KEY | cerebras
    openai-compatible | an OpenAI-compatible server | openai-compatible | openai_compatible | - | openai-compatible
    ");
}
