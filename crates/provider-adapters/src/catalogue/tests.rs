//! Tests of the catalogue: aliases, spellings, guesses.

use ktx_vocabulary::Provider;

use super::{Capability, MODELS, aliases, model_facts};

fn check(provider: Provider, model: &str, expected: &str) {
    let facts = model_facts(provider, model);
    let known = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |v| v.to_string());
    let capabilities: Vec<String> = facts
        .capabilities
        .iter()
        .map(|capability| format!("{capability:?}"))
        .collect();
    let line = format!(
        "{} {:?} {} {} {} {}",
        facts.id,
        facts.listing,
        known(facts.max_input),
        known(facts.max_output),
        facts.cache_min_tokens,
        capabilities.join(",")
    );
    assert_eq!(line, expected);
}

/// KTX-10: aliases and full ids are accepted; the aliases are data.
#[test]
fn aliases_name_the_newest_of_each_line_in_the_providers_own_spelling() {
    let listed: Vec<&str> = aliases(Provider::Anthropic).collect();
    assert_eq!(listed, ["fable", "haiku", "opus", "sonnet"]);
    for (provider, alias, id) in [
        (Provider::Anthropic, "sonnet", "claude-sonnet-5-5"),
        (Provider::Vertex, "haiku", "claude-haiku-5-5"),
        (Provider::Gateway, "opus", "anthropic/claude-opus-5.5"),
        (
            Provider::Anthropic,
            "claude-sonnet-4-6",
            "claude-sonnet-4-6",
        ),
        (Provider::OpenAi, "sonnet", "sonnet"),
    ] {
        assert_eq!(model_facts(provider, alias).id, id);
    }
}

#[test]
fn gateway_and_vertex_spellings_find_the_same_row() {
    let expected = |id: &str| {
        format!(
            "{id} Listed 1000000 128000 1024 \
             Tools,ForcedTool,JsonSchema,Reasoning,Vision,Documents,Sampling,ThinkingAdaptive,ThinkingOff,ThinkingBudget"
        )
    };
    for (provider, id) in [
        (Provider::Anthropic, "claude-sonnet-4-6"),
        (Provider::Gateway, "anthropic/claude-sonnet-4.6"),
        (Provider::Vertex, "claude-sonnet-4-6@default"),
    ] {
        check(provider, id, &expected(id));
    }
}

/// KODE-30: the minima of prompt caching come from the catalogue.
#[test]
fn facts_of_listed_models_come_from_the_data() {
    check(
        Provider::Anthropic,
        "claude-sonnet-5-5",
        "claude-sonnet-5-5 Listed 1000000 128000 512 \
         Tools,JsonSchema,Reasoning,Vision,Documents,ThinkingAdaptive",
    );
    check(
        Provider::Anthropic,
        "claude-haiku-4-5",
        "claude-haiku-4-5 Listed 200000 64000 4096 \
         Tools,ForcedTool,JsonSchema,Reasoning,Vision,Documents,Sampling,ThinkingOff,ThinkingBudget",
    );
    check(
        Provider::OpenAi,
        "gpt-5.4",
        "gpt-5.4 Listed 1050000 128000 1024 \
         Tools,ForcedTool,JsonSchema,Reasoning,Vision,Documents",
    );
    check(
        Provider::OpenAi,
        "gpt-4.1",
        "gpt-4.1 Listed 1047576 32768 1024 \
         Tools,ForcedTool,JsonSchema,Vision,Documents,Sampling",
    );
    check(
        Provider::Gemini,
        "gemini-3.7-flash",
        "gemini-3.7-flash Listed 1048576 65536 4096 \
         Tools,ForcedTool,JsonSchema,Reasoning,Vision,Documents",
    );
    check(
        Provider::Kimi,
        "kimi-k3",
        "kimi-k3 Listed 1048576 1048576 1024 Tools,ForcedTool,JsonSchema,Reasoning,Vision",
    );
}

#[test]
fn an_unlisted_model_is_treated_like_the_newest_of_its_family() {
    check(
        Provider::Anthropic,
        "claude-sonnet-7",
        "claude-sonnet-7 Guessed ? 128000 1024 \
         Tools,ForcedTool,JsonSchema,Reasoning,Vision,Documents,ThinkingAdaptive,ThinkingOff",
    );
    check(
        Provider::OpenAi,
        "gpt-9",
        "gpt-9 Guessed ? ? 1024 Tools,ForcedTool,JsonSchema,Vision",
    );
    check(
        Provider::OpenAiCompatible,
        "llama3.3:70b",
        "llama3.3:70b Guessed ? ? 1024 Tools,ForcedTool,Sampling",
    );
}

#[test]
fn the_least_effort_is_one_that_the_model_takes() {
    let least = |model| {
        model_facts(Provider::OpenAi, model)
            .least_effort()
            .map(str::to_owned)
    };
    assert_eq!(least("gpt-5.5").as_deref(), Some("none"));
    assert_eq!(least("gpt-5-mini").as_deref(), Some("minimal"));
    assert_eq!(least("gpt-6-astra").as_deref(), Some("low"));
    assert_eq!(least("gpt-4.1"), None);
}

#[test]
fn the_data_has_every_row_of_its_source() {
    assert_eq!(MODELS.len(), 194);
    assert!(!model_facts(Provider::Anthropic, "claude-opus-5-5").can(Capability::Sampling));
}
