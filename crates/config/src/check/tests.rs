//! Value tests of the diagnostics of `ktx.yaml`.

use ktx_diagnostics::Severity;
use ktx_vocabulary::Backend;
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::parse;

#[track_caller]
fn check(text: &str, expected: &str) {
    let found: Vec<String> = parse(text, "ktx.yaml")
        .diagnostics
        .iter()
        .map(|diagnostic| {
            let hints = diagnostic
                .hints
                .iter()
                .map(|hint| format!("\n  hint: {hint}"));
            format!(
                "{}: {diagnostic}{}",
                diagnostic.severity,
                hints.collect::<String>()
            )
        })
        .collect();
    assert_eq!(found.join("\n"), expected);
}

/// KTX-02.
#[test]
fn every_backend_is_accepted() {
    for backend in Backend::all() {
        let text = format!(
            "llm:\n  provider:\n    backend: {backend}\n    openai-compatible: {{base_url: 'http://localhost'}}\n"
        );
        let parsed = parse(&text, "ktx.yaml");
        assert_eq!(parsed.diagnostics, []);
        assert_eq!(
            parsed.project.map(|project| project.llm.backend),
            Some(backend)
        );
    }
}

/// KTX-02.
#[test]
fn an_unknown_backend_is_an_error_that_lists_the_known_ones() {
    check(
        "llm:\n  provider:\n    backend: claude_code\n",
        "warning: ktx.yaml:3:14: Unsupported llm.provider.backend: claude_code (allowed: none, anthropic, vertex, gateway, claude-code, openai, gemini, deepseek, qwen, glm, minimax, kimi, groq, cerebras, openai-compatible)\n  hint: did you mean `claude-code`?",
    );
    check(
        "llm: {provider: {backend: codex}}\n",
        "warning: ktx.yaml:1:27: Unsupported llm.provider.backend: codex is not supported yet (allowed: none, anthropic, vertex, gateway, claude-code, openai, gemini, deepseek, qwen, glm, minimax, kimi, groq, cerebras, openai-compatible)",
    );
    let parsed = parse("llm: {provider: {backend: codex}}\n", "ktx.yaml");
    let llm = parsed.project.expect("the rest is read").llm;
    let told: Vec<(Severity, &str)> = llm
        .problems
        .iter()
        .map(|problem| (problem.severity, problem.code.as_str()))
        .collect();
    assert_eq!(
        (llm.backend, told),
        (
            Backend::None,
            vec![(Severity::Error, "unsupported_backend")]
        )
    );
}

#[test]
fn unknown_keys_are_warnings_and_the_rest_is_read() {
    let text = "memory: {}\nllm:\n  models:\n    default: m\n    curater: x\nscan:\n  relationships:\n    acceptTreshold: 1\n";
    check(
        text,
        "warning: ktx.yaml:1:1: Unsupported memory: unknown field (ignored)\n\
         warning: ktx.yaml:5:5: Unsupported llm.models.curater: unknown field (ignored)\n  hint: did you mean `curator`?\n\
         warning: ktx.yaml:8:5: Unsupported scan.relationships.acceptTreshold: unknown field (ignored)\n  hint: did you mean `acceptThreshold`?",
    );
    let project = parse(text, "ktx.yaml").project.expect("only warnings");
    assert_eq!(project.model(ktx_vocabulary::ModelRole::Curator), Some("m"));
}

#[test]
fn all_bad_values_are_reported_with_their_places() {
    check(
        "storage: {state: mysql}\n\
         ingest:\n  profile: xml\n  adapters: [dbt, 1]\n  rateLimit:\n    throttleThreshold: 1.5\n    retry: {maxAttempts: 0, jitter: maybe}\n  workUnits: 4\n\
         scan:\n  relationships:\n    validationBudget: some\n    maxLlmTablesPerBatch: 2.5\n  enrichment: {mode: LLM}\n\
         agent: []\n",
        "error: ktx.yaml:1:18: `storage.state` must be one of `sqlite`, `postgres`, not `mysql`\n\
         error: ktx.yaml:3:12: `ingest.profile` must be `true` or `false` or `json`, not `xml`\n\
         error: ktx.yaml:4:19: `ingest.adapters.1` must be text, not `1`\n\
         error: ktx.yaml:6:24: `ingest.rateLimit.throttleThreshold` must be a number from 0 to 1, not `1.5`\n\
         error: ktx.yaml:7:26: `ingest.rateLimit.retry.maxAttempts` must be a whole number from 1, not `0`\n\
         error: ktx.yaml:7:37: `ingest.rateLimit.retry.jitter` must be `true` or `false`, not `maybe`\n\
         error: ktx.yaml:8:14: `ingest.workUnits` must be an object, not `4`\n\
         error: ktx.yaml:11:23: `scan.relationships.validationBudget` must be `all` or a whole number from 0, not `some`\n\
         error: ktx.yaml:12:27: `scan.relationships.maxLlmTablesPerBatch` must be a whole number from 1, not `2.5`\n\
         error: ktx.yaml:13:22: `scan.enrichment.mode` must be one of `none`, `deterministic`, `llm`, not `LLM`\n  hint: did you mean `llm`?\n\
         error: ktx.yaml:14:8: `agent` must be an object, not a list",
    );
}

#[test]
fn budgets_are_numbers_from_zero_under_known_names() {
    check(
        "llm:\n  budget: {usd_per_day: -1, tokens_per_day: 2.5, usd_per_dya: 3}\n",
        "warning: ktx.yaml:2:25: `llm.budget.usd_per_day` must be a number from 0, not `-1`\n\
         warning: ktx.yaml:2:45: `llm.budget.tokens_per_day` must be a whole number from 0, not `2.5`\n\
         warning: ktx.yaml:2:50: Unsupported llm.budget.usd_per_dya: unknown field (allowed: usd_per_day, tokens_per_day)\n  hint: did you mean `usd_per_day`?",
    );
    check(
        "llm:\n  budget: 5\n",
        "warning: ktx.yaml:2:11: `llm.budget` must be an object, not `5`",
    );
}

/// A negative price would lower the cost that a budget counts.
#[test]
fn prices_are_numbers_from_zero_under_known_names() {
    check(
        "llm:\n  pricing:\n    good: {input: 0, output: {base: 1, tiers: [{above_input_tokens: 200000, price: 2.5}]}}\n    \
         a: {input: -1, output: 1, cache_red: 2}\n    b: {input: '1'}\n    c: 5\n    \
         d: {input: {base: -1, tiers: [{above_input_tokens: 1, prize: 2}, 7]}, output: 1, cache_write_5m: [1]}\n",
        "warning: ktx.yaml:4:16: `llm.pricing.a.input` must be a number from 0, not `-1`\n\
         warning: ktx.yaml:4:31: Unsupported llm.pricing.a.cache_red: unknown field (allowed: input, output, cache_read, cache_write_5m, cache_write_1h)\n  hint: did you mean `cache_read`?\n\
         warning: ktx.yaml:5:8: `llm.pricing.b.output` is missing\n\
         warning: ktx.yaml:5:16: `llm.pricing.b.input` must be a number from 0, not `1`\n\
         warning: ktx.yaml:6:8: `llm.pricing.c` must be an object, not `5`\n\
         warning: ktx.yaml:7:23: `llm.pricing.d.input.base` must be a number from 0, not `-1`\n\
         warning: ktx.yaml:7:35: `llm.pricing.d.input.tiers.0.price` is missing\n\
         warning: ktx.yaml:7:59: Unsupported llm.pricing.d.input.tiers.0.prize: unknown field (allowed: above_input_tokens, price)\n  hint: did you mean `price`?\n\
         warning: ktx.yaml:7:70: `llm.pricing.d.input.tiers.1` must be an object, not `7`\n\
         warning: ktx.yaml:7:102: `llm.pricing.d.cache_write_5m` must be a number from 0, not a list",
    );
    for price in [".inf", "-.inf", ".nan", "1e999"] {
        let text = format!("llm:\n  pricing:\n    m: {{input: {price}, output: 1}}\n");
        let parsed = parse(&text, "ktx.yaml");
        let usable = |project: crate::Project| project.llm.problems.is_empty();
        assert!(!parsed.project.is_some_and(usable), "{price}");
        let said = parsed.diagnostics.first().map(ToString::to_string);
        assert!(
            said.as_ref()
                .is_some_and(|said| said.starts_with("ktx.yaml:3:")),
            "{price}: {said:?}"
        );
    }
}

#[test]
fn connections_are_checked_one_by_one() {
    check(
        "connections:\n  good: {driver: sqlite, path: a.db, extra: [1]}\n  a/b: {driver: sqlite}\n  c: {driver: postgre}\n  d: {}\n  e: text\n  f: {driver: 5}\n  g: {driver: bigquery, job_timeout_ms: fast}\n",
        "error: ktx.yaml:3:3: unsafe connection id `a/b`: use letters, digits, `_` and `-`, beginning with a letter or digit\n\
         error: ktx.yaml:4:15: Unsupported connections.c.driver: postgre (allowed: postgres, snowflake, bigquery, clickhouse, mysql, mariadb, sqlserver, sqlite, duckdb, redshift, dbt, metricflow, lookml, cube, looker, metabase, notion)\n  hint: did you mean `postgres`?\n\
         error: ktx.yaml:5:6: `connections.d.driver` is missing\n  hint: add `driver:` with one of `postgres`, `snowflake`, `bigquery`, `clickhouse`, `mysql`, `mariadb`, `sqlserver`, `sqlite`, `duckdb`, `redshift`, `dbt`, `metricflow`, `lookml`, `cube`, `looker`, `metabase`, `notion`\n\
         error: ktx.yaml:6:6: `connections.e` must be an object, not `text`\n\
         error: ktx.yaml:7:15: `connections.f.driver` must be text\n\
         error: ktx.yaml:8:41: `connections.g.job_timeout_ms` must be a whole number from 1, not `fast`",
    );
}

#[test]
fn an_entry_of_allowed_functions_is_the_name_of_a_function() {
    check(
        "connections:\n  a: {driver: postgres, allowed_functions: [tax, shop.net, my-project.shop.f, _x, système$x]}\n",
        "",
    );
    check(
        "connections:\n  a: {driver: postgres, allowed_functions: tax}\n  b:\n    driver: mariadb\n    allowed_functions:\n      - tax\n      - tax()\n      - a.b.c.d\n      - ''\n      - 'a. b'\n      - 7\n",
        "error: ktx.yaml:2:44: `connections.a.allowed_functions` must be a list of function names, not `tax`\n\
         error: ktx.yaml:7:9: `connections.b.allowed_functions.1` must be a function's name, `name` or `schema.name`, not `tax()`\n\
         error: ktx.yaml:8:9: `connections.b.allowed_functions.2` must be a function's name, `name` or `schema.name`, not `a.b.c.d`\n\
         error: ktx.yaml:9:9: `connections.b.allowed_functions.3` must be a function's name, `name` or `schema.name`, not ``\n\
         error: ktx.yaml:10:9: `connections.b.allowed_functions.4` must be a function's name, `name` or `schema.name`, not `a. b`\n\
         error: ktx.yaml:11:9: `connections.b.allowed_functions.5` must be a function's name, `name` or `schema.name`, not `7`",
    );
}

#[test]
fn context_sources_name_what_they_need() {
    check(
        "connections:\n  l: {driver: lookml}\n  m:\n    driver: metricflow\n    metricflow: {branch: main}\n  n: {driver: notion, auth_token_ref: 'env:N'}\n  o: {driver: looker, base_url: 'https://x', client_id: 7}\n  p:\n    driver: metabase\n    api_url: https://x\n    mappings: {databaseMappings: {'1': w, zero: w}, selections: {items: [0]}}\n",
        "error: ktx.yaml:2:6: `connections.l.repoUrl` is missing\n\
         error: ktx.yaml:5:17: `connections.m.metricflow.repoUrl` is missing\n\
         error: ktx.yaml:6:6: `connections.n` selects no roots: give one of `root_page_ids`, `root_database_ids`, `root_data_source_ids`\n\
         error: ktx.yaml:11:43: `connections.p.mappings.databaseMappings.zero`: the key must be a whole number from 1, not `zero`\n\
         error: ktx.yaml:11:74: `connections.p.mappings.selections.items.0` must be a whole number from 1, not `0`",
    );
}

#[test]
fn written_out_secrets_are_warned_about_and_never_shown() {
    check(
        "connections:\n  w:\n    driver: postgres\n    url: postgres://ada:hunter2@db/x\n  v: {driver: mysql, host: h, password: hunter2}\n  u: {driver: mysql, host: h, password: $DB_PASSWORD}\n  t: {driver: mysql, host: h, password: 12345}\n  s: {driver: sqlite, url: 'sqlite:a.db'}\nllm: {provider: {anthropic: {api_key: 'env:KEY'}}}\n",
        "warning: ktx.yaml:4:10: `connections.w.url` holds a secret as plain text, and the file is in git\n  hint: write `env:NAME` or `file:PATH` and keep the secret there\n\
         warning: ktx.yaml:5:41: `connections.v.password` holds a secret as plain text, and the file is in git\n  hint: write `env:NAME` or `file:PATH` and keep the secret there\n\
         warning: ktx.yaml:6:41: `connections.u.password` holds a secret as plain text, and the file is in git\n  hint: write `env:DB_PASSWORD` to use the environment variable\n\
         error: ktx.yaml:7:41: `connections.t.password` must be text, `env:NAME` or `file:PATH`, not a number",
    );
}

#[test]
fn the_file_must_hold_an_object() {
    check("- a\n", "error: ktx.yaml:1:1: the file must hold an object");
    check("", "");
    check("connections:\nllm:\n  provider:\n", "");
    check(
        "llm: {provider: {vertex: {project: p}}}\n",
        "warning: ktx.yaml:1:26: `llm.provider.vertex.location` is missing",
    );
    check(
        "llm: {provider: {backend: openai-compatible}}\n",
        "warning: ktx.yaml:1:17: `llm.provider.openai-compatible.base_url` is missing",
    );
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f32>().prop_map(|number| Value::from(f64::from(number))),
        (0..3_u32).prop_map(Value::from),
        key().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key(), inner), 0..5)
                .prop_map(|entries| Value::Object(Map::from_iter(entries))),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    let words = "connections llm provider backend vertex models default ingest rateLimit retry scan relationships enrichment embeddings driver postgres notion metabase mappings databaseMappings context queryHistory filters setup x 1";
    proptest::sample::select(words.split(' ').map(str::to_owned).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn every_finding_has_a_place(value in anything()) {
        for diagnostic in parse(&value.to_string(), "ktx.yaml").diagnostics {
            prop_assert!(diagnostic.location.as_ref().is_some_and(|location| location.position.is_some()), "{}", diagnostic);
        }
    }
}

/// KODE-12, KODE-13, KODE-04.
#[test]
fn reasoning_is_checked_key_by_key() {
    check(
        "llm:\n  provider:\n    deepseek:\n      reasoning:\n        requestParms: {a: 1}\n        historyPolicy: al\n        stripFromHistory: 'yes'\n        transport: txt\n        fieldName: reasoning_contents\n        request_params: 5\n",
        "warning: ktx.yaml:5:9: Unsupported llm.provider.deepseek.reasoning.requestParms: unknown field (allowed: fieldName, requestParams, historyPolicy, stripFromHistory, transport)\n  hint: did you mean `requestParams`?\n\
         warning: ktx.yaml:6:24: `llm.provider.deepseek.reasoning.historyPolicy` must be one of `strip`, `current_turn`, `all`, not `al`\n  hint: did you mean `all`?\n\
         warning: ktx.yaml:7:27: `llm.provider.deepseek.reasoning.stripFromHistory` must be `true` or `false`, not `yes`\n\
         warning: ktx.yaml:8:20: `llm.provider.deepseek.reasoning.transport` must be one of `provider`, `text`, `omit`, not `txt`\n  hint: did you mean `text`?\n\
         warning: ktx.yaml:9:20: `llm.provider.deepseek.reasoning.fieldName` must be one of `reasoning_content`, `reasoning`, `reasoning_details`, not `reasoning_contents`\n  hint: did you mean `reasoning_content`?\n\
         warning: ktx.yaml:10:25: `llm.provider.deepseek.reasoning.request_params` must be an object, not `5`",
    );
    check(
        "llm: {provider: {anthropic: {reasoning: {fieldName: reasoning, historyPolicy: strip}}, gemini: {reasoning: {store: true}}}}\n",
        "warning: ktx.yaml:1:42: Unsupported llm.provider.anthropic.reasoning.fieldName: unknown field (allowed: requestParams, historyPolicy, transport)\n\
         warning: ktx.yaml:1:79: `llm.provider.anthropic.reasoning.historyPolicy` must be one of `current_turn`, `all`, not `strip`\n\
         warning: ktx.yaml:1:109: Unsupported llm.provider.gemini.reasoning.store: unknown field (allowed: requestParams, historyPolicy, stripFromHistory, transport)",
    );
    let parsed = parse(
        "llm: {provider: {backend: deepseek, deepseek: {reasoning: {history_policy: none}}}}\n",
        "ktx.yaml",
    );
    let llm = parsed.project.expect("the rest is read").llm;
    assert_eq!((llm.backend, llm.problems.len()), (Backend::None, 1));
}

/// KODE-13.
#[test]
fn stored_answers_need_their_protocol() {
    let wanted = |name: &str, place: &str| {
        format!(
            "warning: ktx.yaml:{place}: `llm.provider.{name}.reasoning.store` needs the protocol `responses`\n  hint: add `protocol: responses` under `llm.provider.{name}`"
        )
    };
    check(
        "llm: {provider: {openai: {reasoning: {store: true}}}}\n",
        "",
    );
    check(
        "llm: {provider: {openai: {protocol: chat, reasoning: {store: true}}}}\n",
        &wanted("openai", "1:62"),
    );
    check(
        "llm: {provider: {gateway: {reasoning: {store: true}}}}\n",
        &wanted("gateway", "1:47"),
    );
    check(
        "llm: {provider: {gateway: {protocol: responses, reasoning: {store: true}}}}\n",
        "",
    );
}
