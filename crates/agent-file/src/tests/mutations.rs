//! Files with wrong values anywhere are refused with a place, or have a value.

use ktx_diagnostics::Severity;
use serde_json::{Value, json};

use super::*;
use crate::CaseFile;

pub(super) const WHOLE: &str = "name: analyst
description: Answers.
author: Ada
model: {provider: openai, name: m, temperature: 1, top_p: 0.5, max_tokens: 10, endpoint: 'https://x.example', api_key: env:K}
instructions: {file: files/prompt.md}
response_format: {type: object}
embedding_provider: {provider: openai}
tools:
  - sl_query
  - {type: function, name: f, tool: sl_query, arguments: {a: 1}, permission: ask, timeout_s: 5}
  - {type: mcp, name: m, command: c, args: [a], env: {A: b}, include: [x], exclude: [y], request_timeout: 3}
  - {type: mcp, name: w, transport: http, url: 'https://x.example', headers: {A: b}}
  - {type: prompt, name: p, template: Hello, parameters: {a: {type: string}}, model: {name: m}}
  - {type: vectorstore, name: v, source: files/docs, top_k: 3, min_similarity_score: 0.5}
  - {type: hierarchical_document, name: h, source: files/docs, search_mode: hybrid, semantic_weight: 1}
permissions: {mode: auto, deny: [a], allow: [{tool: b, args: {x: {regex: y}, z: {fuzzy: w}}}], ask: [c], expires: 5m, on_expiry: fail}
limits: {max_turns: 3, max_usd: 1, max_tokens: 5, max_minutes: 2, messages: 3, message_chars: 4}
context: {compress_at: 0.9, target: 0.4, role: default, window: 1000}
todo: {enabled: true, remind_every_steps: 3}
agents: [good]
max_parallel: 2
schedule: [{name: s, cron: 0 6, timezone: UTC, message: Hi, catch_up: once, within: 1h, on_ask: park, limits: {max_turns: 1}}]
workspace: {root: files, write: true}
claude: {max_turns: 5, permission_mode: manual, extended_thinking: {enabled: true, budget_tokens: 2000}, allowed_tools: [f]}
evaluations:
  model: {name: m}
  metrics:
    - {metric: equality, threshold: 0.5}
    - {metric: contains, values: [a, b]}
    - {metric: numeric, pick: last, decimal: ','}
    - {metric: sql_result, ordered: true}
    - {metric: cost, max: 1}
    - {type: geval, name: g, criteria: c, votes: 3, evaluation_steps: [a]}
    - {type: rag, metric_type: faithfulness}
test_cases:
  - {name: a, input: q, ground_truth: [{sql: x}, {rows: [[1]], columns: [a]}, {value: 1}, {refusal: true}, t], files: [files/prompt.md]}
  - {turns: [{input: q, expected_tools: [t, {name: u, args: {a: 1}, count: 2}]}], tags: [x], repeats: 2, limits: {max_turns: 3}, as_of: 2026-01-01}
execution: {llm_timeout: 5, parallel_test_cases: 2}
";

pub(super) const CASES: &str = "as_of: 2026-03-31
defaults: {tags: [a], owner: b, forbidden_tools: [c], expected_tools_mode: exact, evaluations: [{metric: bleu}], limits: {max_usd: 1}, repeats: 3, timeout_s: 5}
arms: [{name: a, tools: [b], without: [wiki]}]
cases:
  - {name: a, input: q, ground_truth: {semantic: {measures: [x]}, connection: warehouse}, evaluations: [{type: geval, name: g, criteria: c}]}
  - {turns: [{input: q, retrieval_context: [a]}], skip: later, expected_sources: [x]}
";

fn wrong_values() -> [Value; 14] {
    [
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(2.0),
        json!(5_000_000_000_u64),
        json!(1e300),
        json!(""),
        json!("x"),
        json!([]),
        json!([null, 1, "x", {}]),
        json!({}),
        json!({ "name": "x", "type": "mcp", "value": 1 }),
    ]
}

pub(super) fn paths(value: &Value, above: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let path = format!("{above}/{key}");
                paths(value, &path, all);
                all.push(path);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                let path = format!("{above}/{index}");
                paths(value, &path, all);
                all.push(path);
            }
        }
        _ => {}
    }
}

/// Tries every wrong value everywhere, and counts accepted files.
fn mutated(text: &str, check: impl Fn(&Path, &Path) -> (bool, Vec<Diagnostic>)) -> (usize, usize) {
    let folder = project();
    let path = folder.path().join("agents/a.yaml");
    let whole = ktx_config::yaml::load_text(text, "a.yaml").unwrap().value;
    let mut places = Vec::new();
    paths(&whole, "", &mut places);
    let (mut good, mut all) = (0, 0);
    for place in &places {
        for wrong in wrong_values() {
            let mut value = whole.clone();
            *value.pointer_mut(place).unwrap() = wrong.clone();
            fs::write(&path, value.to_string()).unwrap();
            let (is_good, faults) = check(&path, folder.path());
            let errors = faults
                .iter()
                .filter(|fault| fault.severity == Severity::Error);
            let placeless = errors.clone().find(|fault| {
                let place = fault.location.as_ref();
                place.is_none_or(|place| place.position.is_none())
            });
            assert_eq!(placeless, None, "{place} is {wrong}");
            assert_eq!(errors.count() == 0, is_good, "{place} is {wrong}");
            good += usize::from(is_good);
            all += 1;
        }
    }
    (good, all)
}

#[test]
fn an_agent_file_with_a_wrong_value_is_refused_with_a_place() {
    let (good, all) = mutated(WHOLE, |path, project| {
        let checked = AgentFile::check(path, project, &known());
        (checked.value.is_some(), checked.faults)
    });
    assert!(
        all > 2500 && good > 250 && good * 2 < all,
        "{good} of {all}"
    );
}

#[test]
fn a_case_file_with_a_wrong_value_is_refused_with_a_place() {
    let (good, all) = mutated(CASES, |path, project| {
        let checked = CaseFile::check(path, project, &known());
        (checked.value.is_some(), checked.faults)
    });
    assert!(all > 500 && good > 50 && good * 2 < all, "{good} of {all}");
}
