//! Tests of `llm.promptCaching`.

use super::*;

#[track_caller]
fn check(provider: Provider, fields: &str, own_ttl: Option<CacheTtl>, expected: PromptCaching) {
    let text = format!("llm: {{promptCaching: {{{fields}}}}}\n");
    let parsed = ktx_config::parse(&text, "ktx.yaml");
    assert_eq!(parsed.diagnostics, [], "{fields}");
    let project = parsed.project.expect("a good file");
    let found = caching(&project, provider, own_ttl);
    assert_eq!(found, expected, "{provider} {fields}");
}

const HOUR: Option<CacheTtl> = Some(CacheTtl::OneHour);
const SHORT: Option<CacheTtl> = Some(CacheTtl::FiveMinutes);

fn plan(
    system: Option<CacheTtl>,
    tools: Option<CacheTtl>,
    history: Option<CacheTtl>,
) -> PromptCaching {
    PromptCaching {
        system,
        tools,
        history,
    }
}

/// KTX-80.
#[test]
fn every_field_reaches_its_part() {
    let usual = plan(HOUR, HOUR, SHORT);
    let cases = [
        ("", usual),
        ("enabled: true, cacheSystem: true, cacheTools: true", usual),
        ("enabled: false, cacheSystem: true", PromptCaching::OFF),
        ("cacheSystem: false", plan(None, HOUR, SHORT)),
        ("cacheTools: false", plan(HOUR, None, SHORT)),
        ("cacheHistory: false", plan(HOUR, HOUR, None)),
        (
            "cacheHistory: false, historyTtl: 1h",
            plan(HOUR, HOUR, None),
        ),
        ("systemTtl: 5m", plan(SHORT, HOUR, SHORT)),
        ("toolsTtl: 5m", plan(HOUR, SHORT, SHORT)),
        ("historyTtl: 1h", plan(HOUR, HOUR, HOUR)),
        ("vertexFallbackTo5m: true", usual),
    ];
    for provider in [Provider::Anthropic, Provider::Gateway] {
        for (fields, expected) in cases {
            check(provider, fields, None, expected);
        }
    }
}

/// KTX-80.
#[test]
fn vertex_falls_back_and_the_providers_time_comes_last() {
    let fallback = "vertexFallbackTo5m: true, cacheTools: false";
    check(Provider::Vertex, fallback, None, plan(SHORT, None, SHORT));
    check(Provider::Vertex, "", None, plan(HOUR, HOUR, SHORT));
    let own = "historyTtl: 1h";
    check(Provider::Anthropic, own, SHORT, plan(SHORT, SHORT, HOUR));
}
