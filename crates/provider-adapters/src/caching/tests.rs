//! Value tests of the cache markers.

use serde_json::{Value, json};

use super::mark_anthropic;
use crate::settings::{CacheTtl, PromptCaching};

/// The places of the markers in a request whose three parts have this many tokens each.
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
    mark_anthropic(&mut body, plan, min_tokens);
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

/// KTX-80: tools, system and history; one hour, one hour, five minutes.
#[test]
fn the_default_plan_marks_the_last_tool_the_system_prompt_and_the_last_message() {
    check(
        [2000, 2000, 2000],
        PromptCaching::default(),
        1024,
        &["/tools/1 1h", "/system/0 1h", "/messages/2/content/1 5m"],
    );
}

/// KTX-80: a prefix counts with everything before it.
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

/// KODE-31: providers refuse an hour behind five minutes.
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
