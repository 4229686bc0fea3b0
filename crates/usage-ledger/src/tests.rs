//! Tests of prices, facts and reports.

mod budgets;
mod days;
mod open;
mod prices;
mod reported;
mod shared;
mod time;

use ktx_llm_runtime::{CallLabel, SourceSystem, TokenUsage, UsageFact, UsageKind};
use ktx_vocabulary::{ModelRole, Provider, RunId};

use crate::{Ledger, Money, PriceTable, RecordOutcome, ReportGroup, ReportWindow, RequestTraits};

const AT: &str = "2026-11-21T12:00:00Z";

fn fact(message: &str, model: &str) -> UsageFact {
    UsageFact {
        kind: UsageKind::Message,
        run_id: RunId::parse("run-1").unwrap(),
        attempt: 0,
        message_id: message.to_owned(),
        source_system: SourceSystem::LocalSession,
        model: model.to_owned(),
        location: None,
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
            reasoning: 0,
        },
    }
}

/// COG-10: the `claude` program itself printed the first test vector.
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

/// COG-16.
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

/// COG-12, COG-13: the key is `run/attempt/message`.
#[test]
fn a_fact_is_written_once() {
    let (ledger, prices) = (
        Ledger::in_memory().unwrap(),
        PriceTable::built_in().unwrap(),
    );
    let first = fact("msg_1", "claude-sonnet-5-5");
    assert_eq!(first.reference(), "run-1/0/msg_1");
    assert_eq!(
        ledger.record(&first, AT, &prices).unwrap(),
        RecordOutcome::New
    );
    assert_eq!(
        ledger.record(&first, AT, &prices).unwrap(),
        RecordOutcome::Known
    );
    assert_eq!(
        ledger
            .record(&fact("msg_2", "claude-new"), AT, &prices)
            .unwrap(),
        RecordOutcome::New
    );
    let report = ledger
        .report(ReportGroup::Model, &ReportWindow::default())
        .unwrap();
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
    let later = ReportWindow {
        since: Some("2026-11-22".to_owned()),
        run_id: None,
    };
    assert!(
        ledger
            .report(ReportGroup::Run, &later)
            .unwrap()
            .rows
            .is_empty()
    );
}

/// COG-12: a key is unique within its source.
#[test]
fn two_sources_may_use_one_id() {
    let (ledger, prices) = (
        Ledger::in_memory().unwrap(),
        PriceTable::built_in().unwrap(),
    );
    let ours = fact("msg_1", "claude-sonnet-5-5");
    let theirs = UsageFact {
        source_system: SourceSystem::Provider(Provider::Anthropic),
        ..ours.clone()
    };
    assert_eq!(ours.reference(), theirs.reference());
    let write = |fact: &UsageFact| ledger.record(fact, AT, &prices).unwrap();
    assert_eq!(
        [&ours, &theirs, &ours, &theirs].map(write),
        [
            RecordOutcome::New,
            RecordOutcome::New,
            RecordOutcome::Known,
            RecordOutcome::Known
        ]
    );
    let again = UsageFact { attempt: 1, ..ours };
    assert_eq!(
        [&again, &again].map(write),
        [RecordOutcome::New, RecordOutcome::Known]
    );
    let total = ledger
        .report(ReportGroup::All, &ReportWindow::default())
        .unwrap()
        .total;
    assert_eq!((total.messages, total.usage.total()), (3, 3 * 1187));
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
        .report(ReportGroup::All, &ReportWindow::default())
        .unwrap();
    assert_eq!(report.total.messages, 80);
}

/// COG-14.
#[test]
fn usage_outside_messages_is_recorded_separately() {
    let (ledger, prices) = (
        Ledger::in_memory().unwrap(),
        PriceTable::built_in().unwrap(),
    );
    let message = fact("msg_1", "claude-sonnet-5-5");
    let label = CallLabel {
        run_id: message.run_id.clone(),
        stage: "descriptions".to_owned(),
        unit: None,
        connection: None,
    };
    let reported = TokenUsage {
        input: 1_000_010,
        output: 70,
        ..message.usage
    };
    let beside = |model: &str| {
        UsageFact::unattributed(
            SourceSystem::LocalSession,
            ModelRole::Default,
            &label,
            "session-1",
            model,
            reported.beyond(message.usage),
        )
    };
    let other = beside("claude-haiku-5-5");
    assert_eq!(
        other.reference(),
        "run-1/0/session-1/unattributed/claude-haiku-5-5"
    );
    assert_eq!((other.usage.input, other.usage.output), (1_000_000, 0));
    for fact in [&message, &other, &other, &beside("claude-sonnet-5-5")] {
        ledger.record(fact, AT, &prices).unwrap();
    }
    let report = ledger
        .report(ReportGroup::Model, &ReportWindow::default())
        .unwrap();
    let rows: Vec<_> = report
        .rows
        .iter()
        .chain([&report.total])
        .map(|row| {
            (
                row.key.as_str(),
                (row.messages, row.unattributed, row.unattributed_tokens),
                row.usage.total(),
                row.cost.to_string(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (
                "claude-haiku-5-5",
                (0, 1, 1_000_000),
                1_000_000,
                "$0.5000".to_owned()
            ),
            (
                "claude-sonnet-5-5",
                (1, 1, 1_000_000),
                1_001_187,
                "$2.0012".to_owned()
            ),
            ("", (1, 2, 2_000_000), 2_001_187, "$2.5012".to_owned()),
        ]
    );
}

#[test]
fn a_ledger_of_an_earlier_version_is_carried_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.sqlite");
    let earlier = rusqlite::Connection::open(&path).unwrap();
    earlier.execute_batch(EARLIER).unwrap();
    drop(earlier);
    let prices = PriceTable::built_in().unwrap();
    let ledger = Ledger::open(&path).unwrap();
    ledger
        .record(&fact("msg_2", "claude-sonnet-5-5"), AT, &prices)
        .unwrap();
    let total = ledger
        .report(ReportGroup::All, &ReportWindow::default())
        .unwrap()
        .total;
    assert_eq!(
        (total.messages, total.unattributed, total.cost.picodollars()),
        (2, 0, 1_230_007_000)
    );
}

const EARLIER: &str = "CREATE TABLE usage_facts (
  source_system TEXT NOT NULL, source_reference TEXT NOT NULL, executor_type TEXT NOT NULL,
  run_id TEXT NOT NULL, attempt INTEGER NOT NULL, message_id TEXT NOT NULL,
  recorded_at TEXT NOT NULL, model TEXT NOT NULL, role TEXT NOT NULL, stage TEXT NOT NULL,
  unit TEXT, connection_id TEXT, input_tokens INTEGER NOT NULL,
  cache_write_5m_tokens INTEGER NOT NULL, cache_write_1h_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost_picodollars TEXT,
  cost_estimated INTEGER NOT NULL, UNIQUE (source_system, source_reference));
INSERT INTO usage_facts VALUES ('anthropic_sdk', 'run-0/0/msg_1', 'claude_sdk', 'run-0', 0, 'msg_1',
  '2026-11-20T12:00:00Z', 'claude-sonnet-5-5', 'default', 'test', NULL, NULL, 1, 2, 3, 4, 5, '7000', 0);
PRAGMA user_version = 1;";
