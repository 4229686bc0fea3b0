//! Value tests of prices, facts and reports.

mod budgets;

use ktx_llm_runtime::{SourceSystem, TokenUsage, UsageFact};
use ktx_vocabulary::{ModelRole, RunId};

use crate::{Group, Ledger, Money, PriceTable, Recorded, RequestTraits, Window};

const AT: &str = "2026-11-21T12:00:00Z";

fn fact(message: &str, model: &str) -> UsageFact {
    UsageFact {
        run_id: RunId::parse("run-1").unwrap(),
        attempt: 0,
        message_id: message.to_owned(),
        source_system: SourceSystem::AnthropicSdk,
        model: model.to_owned(),
        role: ModelRole::CandidateExtraction,
        stage: "descriptions".to_owned(),
        unit: None,
        connection: None,
        usage: TokenUsage {
            input: 10,
            cache_write_5m: 40,
            cache_write_1h: 60,
            cache_read: 1000,
            output: 77,
        },
    }
}

/// COG-10: the table's test vectors come out to the picodollar; the first one is what the `claude`
/// program itself printed.
#[test]
fn reproduces_the_test_vectors_of_the_price_table() {
    let table = PriceTable::built_in().unwrap();
    assert_eq!(table.checks.len(), 9);
    table.verify().unwrap();
    let wrong = include_str!("data/llm-pricing.json").replace("0.00123", "0.00124");
    assert_eq!(
        PriceTable::parse(&wrong).map(|_| ()).map_err(|error| error.to_string()),
        Err("the price table does not reproduce its own test vector for `claude-sonnet-5-5`: expected $0.0012, computed $0.0012".to_owned())
    );
}

/// COG-16: an unknown price is unknown, never zero.
#[test]
fn unknown_models_have_no_price() {
    let table = PriceTable::built_in().unwrap();
    let usage = TokenUsage {
        input: 1,
        ..TokenUsage::default()
    };
    let traits = RequestTraits::default();
    assert_eq!(
        table.cost("anthropic", "claude-unheard-of", AT, &usage, &traits),
        None
    );
    assert_eq!(
        table.cost("nobody", "claude-sonnet-5-5", AT, &usage, &traits),
        None
    );
}

#[test]
fn ids_of_gateways_and_vertex_find_their_model() {
    let table = PriceTable::built_in().unwrap();
    let usage = TokenUsage {
        input: 1_000_000,
        ..TokenUsage::default()
    };
    let cost = |provider, id| {
        table
            .cost(provider, id, AT, &usage, &RequestTraits::default())
            .map(|cost| cost.amount)
    };
    let plain = cost("anthropic", "claude-opus-4-6");
    assert_eq!(plain, Some(Money::from_dollars(5.0)));
    assert_eq!(cost("anthropic", "anthropic/claude-opus-4.6"), plain);
    assert_eq!(cost("anthropic", "claude-opus-4-6[1m]"), plain);
    assert_eq!(cost("google", "claude-opus-4-6@default"), plain);
}

/// COG-12, COG-13: the key is `run/attempt/message`; a second insert changes nothing.
#[test]
fn a_fact_is_written_once() {
    let (ledger, prices) = (
        Ledger::in_memory().unwrap(),
        PriceTable::built_in().unwrap(),
    );
    let first = fact("msg_1", "claude-sonnet-5-5");
    assert_eq!(first.reference(), "run-1/0/msg_1");
    assert_eq!(ledger.record(&first, AT, &prices).unwrap(), Recorded::New);
    assert_eq!(ledger.record(&first, AT, &prices).unwrap(), Recorded::Known);
    assert_eq!(
        ledger
            .record(&fact("msg_2", "claude-new"), AT, &prices)
            .unwrap(),
        Recorded::New
    );
    let report = ledger.report(Group::Model, &Window::default()).unwrap();
    let rows: Vec<_> = report
        .rows
        .iter()
        .map(|row| {
            (
                row.key.as_str(),
                row.messages,
                row.cost.to_string(),
                row.unpriced,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("claude-new", 1, "$0.0000".to_owned(), 1),
            ("claude-sonnet-5-5", 1, "$0.0012".to_owned(), 0),
        ]
    );
    assert_eq!(
        (report.total.messages, report.total.usage.total()),
        (2, 2 * 1187)
    );
    let later = Window {
        since: Some("2026-11-22".to_owned()),
        run_id: None,
    };
    assert!(ledger.report(Group::Run, &later).unwrap().rows.is_empty());
}

#[test]
fn facts_survive_reopening_and_race_without_loss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.sqlite");
    let prices = PriceTable::built_in().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (path, prices) = (&path, &prices);
            scope.spawn(move || {
                let ledger = Ledger::open(path).unwrap();
                for message in 0..20 {
                    let fact = fact(&format!("{writer}-{message}"), "claude-sonnet-5-5");
                    ledger.record(&fact, AT, prices).unwrap();
                }
            });
        }
    });
    let report = Ledger::open(&path)
        .unwrap()
        .report(Group::All, &Window::default())
        .unwrap();
    assert_eq!(report.total.messages, 80);
}
