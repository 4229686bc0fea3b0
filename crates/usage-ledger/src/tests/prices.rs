//! Tests of the price of a message (COG-10), and of the origin of prices.
#![expect(clippy::disallowed_methods, reason = "tests make files of their own")]

use ktx_llm_runtime::{SourceSystem, TokenUsage};
use ktx_vocabulary::Provider;
use serde_json::json;

use super::AT;
use crate::{PriceSource, PriceTable, RequestTraits, price};

fn millions(
    table: &PriceTable,
    source: SourceSystem,
    model: &str,
    location: Option<&str>,
) -> Option<(i128, i128)> {
    let of = |input, output| {
        let usage = TokenUsage {
            input,
            output,
            ..TokenUsage::default()
        };
        let cost = price(source, model, location, &usage, AT, table)?;
        Some(cost.amount.picodollars() / 1_000_000)
    };
    Some((of(1000, 0)?, of(0, 1000)?))
}

#[test]
fn a_message_is_priced_with_the_provider_that_counted_it() {
    use Provider as P;
    use SourceSystem as S;
    let table = PriceTable::built_in().unwrap();
    let cases = [
        (S::LocalSession, "claude-sonnet-5-5", Some((2000, 10000))),
        (
            S::Provider(P::Anthropic),
            "claude-haiku-4-5",
            Some((1000, 5000)),
        ),
        (
            S::Provider(P::Vertex),
            "claude-opus-4-6@default",
            Some((5000, 25000)),
        ),
        (
            S::Provider(P::Gateway),
            "anthropic/claude-opus-4.6",
            Some((5000, 25000)),
        ),
        (
            S::Provider(P::Gateway),
            "claude-opus-4.6",
            Some((5000, 25000)),
        ),
        (
            S::Provider(P::Gateway),
            "alibaba/qwen-max",
            Some((1600, 6400)),
        ),
        (S::Provider(P::Gateway), "nobody/claude-opus-4.6", None),
        (S::Provider(P::OpenAi), "gpt-oss-120b", Some((39, 180))),
        (
            S::Provider(P::Gemini),
            "gemini-2.5-pro",
            Some((1250, 10000)),
        ),
        (
            S::Provider(P::Gemini),
            "gemini-3.8-flash",
            Some((750, 3750)),
        ),
        (S::Provider(P::DeepSeek), "gpt-oss-120b", None),
        (S::Provider(P::Qwen), "qwen3.8-max", Some((2000, 6000))),
        (S::Provider(P::Glm), "glm-5.3", Some((1400, 4400))),
        (S::Provider(P::Glm), "glm-4-plus", Some((690, 690))),
        (S::Provider(P::MiniMax), "MiniMax-M2.7", Some((300, 1200))),
        (S::Provider(P::Kimi), "qwen/qwen3-32b", None),
        (
            S::Provider(P::Groq),
            "openai/gpt-oss-120b",
            Some((150, 600)),
        ),
        (S::Provider(P::Groq), "qwen/qwen3-32b", Some((290, 590))),
        (S::Provider(P::Cerebras), "gpt-oss-120b", Some((350, 750))),
        (S::Provider(P::OpenAiCompatible), "gpt-oss-20b", None),
        (S::Provider(P::OpenAiCompatible), "claude-sonnet-5-5", None),
    ];
    for (source, model, expected) in cases {
        let found = millions(&table, source, model, None);
        assert_eq!(found, expected, "{source:?} {model}");
    }
}

#[test]
fn a_users_own_server_is_priced_by_the_projects_table() {
    let table = json!({
        "schema_version": 1, "exported": "2026-11-22", "rules": { "region_multiplier": 1.1 },
        "providers": [{ "id": "openai-compatible", "models": [
            { "id": "local", "match": { "equals": "gpt-oss-20b" }, "prices": [{ "input": 0.01, "output": 0.02 }] },
        ]}],
    });
    let table = PriceTable::parse(&table.to_string()).unwrap();
    let own = SourceSystem::Provider(Provider::OpenAiCompatible);
    assert_eq!(
        [
            millions(&table, own, "gpt-oss-20b", None),
            millions(&table, own, "gpt-oss-120b", None),
        ],
        [Some((10, 20)), None]
    );
}

/// The price of the highest tier below the input applies to every token. A price by the time of day
/// excludes its last second.
#[test]
fn a_price_depends_on_the_size_of_the_input_and_on_the_time() {
    let table = json!({
        "schema_version": 1, "exported": "2026-11-22", "rules": { "region_multiplier": 1.1 },
        "providers": [{ "id": "p", "models": [
            { "id": "sized", "match": { "equals": "sized" }, "prices": [{ "output": 0, "input": {
                "base": 1, "tiers": [
                    { "above_input_tokens": 200, "price": 3 },
                    { "above_input_tokens": 100, "price": 2 },
                ] } }] },
            { "id": "timed", "match": { "equals": "timed" }, "prices": [
                { "input": 1, "output": 0 },
                { "input": 2, "output": 0, "when": { "start_date": "2026-11-21" } },
                { "input": 3, "output": 0, "when": {
                    "start_date": "2026-11-22", "time_of_day_utc": ["08:00:00Z", "16:00:00Z"] } },
            ] },
        ]}],
    });
    let table = PriceTable::parse(&table.to_string()).unwrap();
    let rate = |model: &str, input: u64, at: &str| {
        let usage = TokenUsage {
            input,
            ..TokenUsage::default()
        };
        let cost = table.cost("p", model, at, &usage, &RequestTraits::default())?;
        Some(cost.amount.picodollars() / i128::from(input) / 1_000_000)
    };
    assert_eq!(
        [100, 101, 200, 201, 1000].map(|input| rate("sized", input, AT)),
        [1, 2, 2, 3, 3].map(Some)
    );
    let times = [
        "2026-11-20T23:59:59Z",
        "2026-11-21T00:00:00Z",
        "2026-11-21T12:00:00Z",
        "2026-11-22T07:59:59.9Z",
        "2026-11-22T08:00:00Z",
        "2026-11-22T15:59:59Z",
        "2026-11-22T16:00:00Z",
    ];
    assert_eq!(
        times.map(|at| rate("timed", 1, at)),
        [1, 2, 2, 2, 3, 3, 2].map(Some)
    );
}

/// The first of two equal matches in the table wins.
#[test]
fn a_model_has_the_row_that_matches_it_best() {
    let row = |pattern: serde_json::Value, price: u64| json!({ "id": "m", "match": pattern, "prices": [{ "input": price, "output": 0 }] });
    let table = json!({
        "schema_version": 1, "exported": "2026-11-22", "rules": { "region_multiplier": 1.1 },
        "providers": [{ "id": "p", "models": [
            row(json!({ "contains": "one" }), 1),
            row(json!({ "ends_with": "one" }), 2),
            row(json!({ "starts_with": "big" }), 3),
            row(json!({ "starts_with": "big-t" }), 4),
            row(json!({ "starts_with": "big-" }), 5),
            row(json!({ "regex": "^big-two-[0-9]$" }), 6),
            row(json!({ "regex": "^big-two" }), 7),
            row(json!({ "equals": "big-two-2" }), 8),
            row(json!({ "and": [{ "starts_with": "small-model" }, { "contains": "x" }] }), 9),
            row(json!({ "starts_with": "s" }), 10),
            row(json!({ "or": [{ "contains": "huge" }, { "equals": "giant" }] }), 11),
            row(json!({ "starts_with": "gi" }), 12),
        ]}],
    });
    let table = PriceTable::parse(&table.to_string()).unwrap();
    let usage = TokenUsage {
        input: 1,
        ..TokenUsage::default()
    };
    let price = |id: &str| {
        let cost = table.cost("p", id, AT, &usage, &RequestTraits::default())?;
        Some(cost.amount.picodollars() / 1_000_000)
    };
    let ids = [
        "none-one",
        "bigger",
        "big-three",
        "big-x",
        "big-two-1",
        "big-two-22",
        "big-two-2",
        "small-model-x",
        "giant",
        "huge",
        "gift",
        "other",
    ];
    assert_eq!(
        ids.map(price),
        [
            Some(1),
            Some(3),
            Some(4),
            Some(5),
            Some(6),
            Some(7),
            Some(8),
            Some(10),
            Some(11),
            Some(11),
            Some(12),
            None,
        ]
    );
}

/// A tenth more for Claude from 4.5 on.
#[test]
fn regional_endpoints_cost_more_for_the_models_that_they_cost_more_for() {
    let table = PriceTable::built_in().unwrap();
    let input = |model: &str, location: &str| {
        let found = millions(
            &table,
            SourceSystem::Provider(Provider::Vertex),
            model,
            Some(location),
        );
        found.map(|(input, _)| input)
    };
    let cases = [
        (
            "claude-sonnet-4-5@20250929",
            [Some(3000), Some(3300), Some(3300)],
        ),
        ("claude-sonnet-5", [Some(2000), Some(2200), Some(2200)]),
        ("claude-fable-5-2", [Some(8000), Some(8800), Some(8800)]),
        (
            "claude-opus-4-1@20250805",
            [Some(15000), Some(15000), Some(15000)],
        ),
        (
            "claude-sonnet-4@20250514",
            [Some(3000), Some(3000), Some(3000)],
        ),
        (
            "claude-3-5-haiku@20241022",
            [Some(800), Some(800), Some(800)],
        ),
        ("gemini-2.5-pro", [Some(1250), Some(1250), Some(1250)]),
    ];
    for (model, expected) in cases {
        let found = ["global", "us-east5", "eu"].map(|location| input(model, location));
        assert_eq!(found, expected, "{model}");
    }
}

#[test]
fn patterns_that_cannot_be_read_are_refused() {
    let text = include_str!("../data/llm-pricing.json");
    PriceTable::built_in().unwrap().check_patterns().unwrap();
    assert!(text.contains("(?!"));
    let broken = PriceTable::parse(&text.replacen("^(?!.*-", "^(?!.*-(", 1));
    assert_eq!(
        broken.map(|_| ()).map_err(|error| error.to_string()),
        Err("the price table cannot be used: the pattern of the model `gemini-2.5-flash-lite` is not valid".to_owned())
    );
}

#[test]
fn prices_below_zero_are_refused() {
    let table = PriceTable::built_in().unwrap();
    let own = table.with_own([("m", serde_json::json!({"input": 1, "output": -0.5}))]);
    let said = own.map(|_| ()).map_err(|error| {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        (error.to_string(), source.unwrap_or_default())
    });
    assert_eq!(
        said,
        Err((
            "the price of the model `m` cannot be used".to_owned(),
            "a price is a number from 0, not -0.5".to_owned()
        ))
    );
    let text = include_str!("../data/llm-pricing.json");
    let mut table: serde_json::Value = serde_json::from_str(text).unwrap();
    table["providers"][0]["models"][0]["prices"][0]["input"] = serde_json::json!(-3);
    assert!(PriceTable::parse(&table.to_string()).is_err());
}

#[test]
fn a_table_that_cannot_be_read_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| {
        let source = PriceSource {
            file: Some(folder.path().join(name)),
            ..PriceSource::default()
        };
        let table = source.read();
        table
            .map(|table| table.exported)
            .map_err(|error| error.to_string())
    };
    assert_eq!(read("missing.json"), Ok("2026-11-21".to_owned()));
    std::fs::create_dir(folder.path().join("folder.json")).unwrap();
    std::fs::write(
        folder.path().join("latin1.json"),
        b"{\"note\": \"caf\xe9\"}",
    )
    .unwrap();
    std::fs::write(folder.path().join("empty.json"), "").unwrap();
    assert_eq!(
        ["folder.json", "latin1.json", "empty.json"].map(read),
        [
            Err("the price table cannot be opened".to_owned()),
            Err("the price table cannot be opened".to_owned()),
            Err("the price table cannot be read".to_owned()),
        ]
    );
}
