//! Tests of prices.

use std::collections::BTreeMap;

use ktx_llm_runtime::TokenUsage;
use ktx_usage_ledger::{PriceSource, PriceTable};
use ktx_vocabulary::{Backend, Provider};
use serde_json::{Map, Value, json};

use super::{BackendLocation, list_price};

const AT: &str = "2026-11-22T12:00:00Z";

/// In thousandths of a dollar.
fn million(
    table: &PriceTable,
    backend: Backend,
    location: Option<&str>,
    model: &str,
) -> Option<i128> {
    let usage = TokenUsage {
        input: 1000,
        ..TokenUsage::default()
    };
    let cost = list_price(
        BackendLocation { backend, location },
        model,
        &usage,
        AT,
        table,
    )?;
    Some(cost.amount.picodollars() / 1_000_000)
}

fn own(prices: Value) -> BTreeMap<String, Map<String, Value>> {
    serde_json::from_value(prices).unwrap()
}

#[test]
fn a_backends_models_have_the_prices_of_its_ledger() {
    let table = PriceSource::default().read().unwrap();
    let cases = [
        (Backend::ClaudeCode, None, "sonnet", Some(2000)),
        (
            Backend::Http(Provider::Cerebras),
            None,
            "gpt-oss-120b",
            Some(350),
        ),
        (
            Backend::Http(Provider::Groq),
            None,
            "openai/gpt-oss-120b",
            Some(150),
        ),
        (
            Backend::Http(Provider::OpenAiCompatible),
            None,
            "gpt-oss-120b",
            None,
        ),
        (
            Backend::Http(Provider::Vertex),
            Some("global"),
            "sonnet",
            Some(2000),
        ),
        (
            Backend::Http(Provider::Vertex),
            Some("us-east5"),
            "sonnet",
            Some(2200),
        ),
        (Backend::None, None, "sonnet", None),
    ];
    for (backend, location, model, expected) in cases {
        assert_eq!(
            million(&table, backend, location, model),
            expected,
            "{backend:?} {location:?} {model}"
        );
    }
}

#[test]
fn prices_of_the_project_win() {
    let source = PriceSource {
        file: None,
        own: own(json!({
            "Claude-Sonnet-5-5": { "input": 7, "output": 8 },
            "gpt-oss-20b": { "input": 0, "output": 0 },
        })),
    };
    let table = source.read().unwrap();
    assert_eq!(
        [
            million(&table, Backend::ClaudeCode, None, "sonnet"),
            million(
                &table,
                Backend::Http(Provider::OpenAiCompatible),
                None,
                "gpt-oss-20b"
            ),
            million(&table, Backend::Http(Provider::Anthropic), None, "haiku"),
        ],
        [Some(7000), Some(0), Some(100)]
    );
    let wrong = PriceSource {
        file: None,
        own: own(json!({ "m": { "input": 1 } })),
    };
    let error = wrong.read().unwrap_err();
    assert_eq!(
        ktx_diagnostics::chain(&error),
        [
            "the price of the model `m` cannot be used",
            "missing field `output`"
        ]
    );
}
