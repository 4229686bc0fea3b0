//! Tests of the cache markers.

use ktx_llm_runtime::LlmErrorKind;
use ktx_vocabulary::{CacheTtl, Provider};
use serde_json::{Value, json};

use super::{CacheOverrides, PromptCaching, ask, mark_anthropic};

fn check(tokens: [usize; 3], plan: PromptCaching, min_tokens: u64, expected: &[&str]) {
    let words = |tokens: usize| "word".repeat(tokens);
    let mut body = json!({
        "tools": [{"name": "a"}, {"name": "b", "description": words(tokens[0])}],
        "system": [{"type": "text", "text": words(tokens[1])}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": words(tokens[2])}]},
            {"role": "assistant", "content": [{"type": "text", "text": "x"}]},
            {"role": "user", "content": [{"type": "text", "text": "y"}, {"type": "text", "text": "z"}]},
        ],
    });
    mark_anthropic(&mut body, plan, &CacheOverrides::default(), min_tokens);
    let mut found = Vec::new();
    markers(&body, "", &mut found);
    assert_eq!(found, expected);
}

fn markers(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(marker) = map.get("cache_control") {
                let ttl = marker["ttl"].as_str().unwrap_or("5m");
                found.push(format!("{path} {ttl}"));
            }
            for (key, value) in map {
                markers(value, &format!("{path}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                markers(value, &format!("{path}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// KTX-80.
#[test]
fn the_default_plan_marks_the_last_tool_the_system_prompt_and_the_last_message() {
    check(
        [2000, 2000, 2000],
        PromptCaching::default(),
        1024,
        &["/tools/1 1h", "/system/0 1h", "/messages/2/content/1 5m"],
    );
}

/// KTX-80: a prefix includes everything before it.
#[test]
fn nothing_below_the_minimum_is_marked() {
    check([10, 10, 10], PromptCaching::default(), 512, &[]);
    check(
        [300, 300, 10],
        PromptCaching::default(),
        512,
        &["/system/0 1h", "/messages/2/content/1 5m"],
    );
    check(
        [10, 10, 600],
        PromptCaching::default(),
        512,
        &["/messages/2/content/1 5m"],
    );
}

/// KODE-31: providers refuse an hour after five minutes.
#[test]
fn no_hour_follows_five_minutes() {
    let plan = PromptCaching {
        tools: Some(CacheTtl::FiveMinutes),
        system: Some(CacheTtl::OneHour),
        history: Some(CacheTtl::OneHour),
    };
    check(
        [2000, 2000, 2000],
        plan,
        512,
        &["/tools/1 5m", "/system/0 5m", "/messages/2/content/1 5m"],
    );
}

#[test]
fn parts_are_switched_off_one_by_one_and_vertex_falls_back() {
    check([2000, 2000, 2000], PromptCaching::OFF, 512, &[]);
    let plan = PromptCaching {
        tools: None,
        ..PromptCaching::default()
    };
    check(
        [2000, 2000, 2000],
        plan.at_most_five_minutes(),
        512,
        &["/system/0 5m", "/messages/2/content/1 5m"],
    );
}

fn with_asked(
    asked: &[Option<CacheTtl>],
    plan: PromptCaching,
    overrides: &CacheOverrides,
) -> Vec<String> {
    let words = "word".repeat(2000);
    let mut content = Vec::new();
    for ttl in asked {
        content.push(json!({"type": "text", "text": "x"}));
        ask(&mut content, *ttl);
    }
    content.push(json!({"type": "text", "text": "tail"}));
    let mut body = json!({
        "tools": [{"name": "a", "description": words}],
        "system": [{"type": "text", "text": words}],
        "messages": [
            {"role": "user", "content": content},
            {"role": "user", "content": [{"type": "text", "text": words}]},
        ],
    });
    mark_anthropic(&mut body, plan, overrides, 512);
    let mut found = Vec::new();
    markers(&body, "", &mut found);
    found
}

/// KODE-31: drops tools first, then the earliest of the caller's markers.
#[test]
fn markers_of_the_caller_count_against_the_four() {
    let hour = Some(CacheTtl::OneHour);
    let plan = PromptCaching::default();
    let usual = CacheOverrides::default();
    assert_eq!(
        with_asked(&[hour], plan, &usual),
        [
            "/tools/0 1h",
            "/system/0 1h",
            "/messages/0/content/0 1h",
            "/messages/1/content/0 5m"
        ]
    );
    assert_eq!(
        with_asked(&[hour; 2], plan, &usual),
        [
            "/system/0 1h",
            "/messages/0/content/0 1h",
            "/messages/0/content/1 1h",
            "/messages/1/content/0 5m"
        ]
    );
    assert_eq!(
        with_asked(&[hour; 6], plan, &usual),
        [
            "/messages/0/content/2 1h",
            "/messages/0/content/3 1h",
            "/messages/0/content/4 1h",
            "/messages/0/content/5 1h"
        ]
    );
    assert_eq!(with_asked(&[hour; 6], PromptCaching::OFF, &usual), [""; 0]);
}

/// KODE-31.
#[test]
fn the_rules_hold_for_every_combination() {
    let ttls = [None, Some(CacheTtl::FiveMinutes), Some(CacheTtl::OneHour)];
    for asked in 0..243_usize {
        let asked: Vec<_> = (0..5_u32)
            .map(|place| ttls[asked / 3_usize.pow(place) % 3])
            .collect();
        for breakpoints in [None, Some(0), Some(1), Some(3), Some(4)] {
            for default_ttl in ttls {
                let overrides = CacheOverrides {
                    breakpoints,
                    default_ttl,
                    ..CacheOverrides::default()
                };
                let found = with_asked(&asked, PromptCaching::default(), &overrides);
                assert_eq!(found.len(), breakpoints.unwrap_or(4), "{asked:?}");
                let first_short = found.iter().position(|place| place.ends_with("5m"));
                let last_hour = found.iter().rposition(|place| place.ends_with("1h"));
                if let (Some(short), Some(hour)) = (first_short, last_hour) {
                    assert!(hour < short, "{found:?}");
                }
            }
        }
    }
}

/// KODE-31.
#[test]
fn the_providers_block_is_read_and_obeyed() {
    let read = |written: Value| {
        let Value::Object(written) = written else {
            panic!("no object");
        };
        CacheOverrides::parse(Provider::Anthropic, &written)
    };
    let overrides = read(json!({
        "breakpoints": 2, "defaultTtl": "5m", "beta": {"extendedCacheTtl": false},
        "requestParams": {"x": 1},
    }))
    .unwrap();
    assert_eq!(
        with_asked(&[None], PromptCaching::default(), &overrides),
        ["/system/0 5m", "/messages/0/content/0 5m"]
    );
    assert_eq!(overrides.request_params["x"], 1);
    for (written, message) in [
        (
            json!({"breakpoints": 5}),
            "`llm.provider.anthropic.cache.breakpoints` is not a whole number from 0 to 4",
        ),
        (
            json!({"default_ttl": "2h"}),
            "`llm.provider.anthropic.cache.default_ttl` is not `5m` or `1h`",
        ),
        (
            json!({"beta": {"extendedCacheTtl": "yes"}}),
            "`llm.provider.anthropic.cache.beta.extendedCacheTtl` is not `true` or `false`",
        ),
        (
            json!({"requestParams": []}),
            "`llm.provider.anthropic.cache.requestParams` is not an object",
        ),
        (
            json!({"break_points": 1}),
            "`llm.provider.anthropic.cache.break_points` is not known: there are `breakpoints`, `defaultTtl`, `beta` and `requestParams`",
        ),
    ] {
        let error = read(written).unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (LlmErrorKind::InvalidRequest, message)
        );
    }
}

#[test]
fn thoughts_are_never_marked() {
    let mut parts = vec![
        json!({"type": "text", "text": "a"}),
        json!({"type": "thinking", "thinking": "b", "signature": "s"}),
    ];
    ask(&mut parts, None);
    assert_eq!(
        parts,
        [
            json!({"type": "text", "text": "a", "cache_control": "asked"}),
            json!({"type": "thinking", "thinking": "b", "signature": "s"}),
        ]
    );
}
