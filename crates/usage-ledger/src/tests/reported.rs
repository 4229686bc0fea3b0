//! Tests of the backends' own costs.

use ktx_llm_runtime::{CallLabel, ReportedCost, SourceSystem};
use ktx_vocabulary::{ModelRole, RunId};

use super::{AT, fact};
use crate::{Ledger, Money, PriceTable, RecordOutcome, ReportGroup, ReportWindow, ReportedCosts};

const OURS: i128 = 1_230_000_000;

fn cost_report(run: &str, call: &str, dollars: f64, messages: &[&str]) -> ReportedCost {
    ReportedCost {
        source_system: SourceSystem::LocalSession,
        role: ModelRole::CandidateExtraction,
        label: CallLabel {
            run_id: RunId::parse(run).unwrap(),
            stage: "descriptions".to_owned(),
            unit: None,
            connection: None,
        },
        call: call.to_owned(),
        dollars,
        message_ids: messages.iter().map(|id| (*id).to_owned()).collect(),
    }
}

fn ledger(messages: &[(&str, &str)]) -> Ledger {
    let (ledger, prices) = (
        Ledger::in_memory().unwrap(),
        PriceTable::built_in().unwrap(),
    );
    for (message, model) in messages {
        ledger.record(&fact(message, model), AT, &prices).unwrap();
    }
    ledger
}

fn total(ledger: &Ledger) -> ReportedCosts {
    let report = ledger
        .report(ReportGroup::All, &ReportWindow::default())
        .unwrap();
    report.total.reported
}

/// COG-14, C-18. A call without a report, such as a crashed one, is not included.
#[test]
fn a_reported_cost_is_compared_with_the_same_messages() {
    let sonnet = "claude-sonnet-5-5";
    let ledger = ledger(&[("msg_1", sonnet), ("msg_2", sonnet), ("crashed", sonnet)]);
    let call = cost_report("run-1", "call-1", 0.005, &["msg_1", "msg_2"]);
    assert_eq!(
        ledger.record_reported(&call, AT).unwrap(),
        RecordOutcome::New
    );
    assert_eq!(
        ledger.record_reported(&call, AT).unwrap(),
        RecordOutcome::Known
    );
    let report = ledger
        .report(ReportGroup::Run, &ReportWindow::default())
        .unwrap();
    let expected = ReportedCosts {
        calls: 1,
        cost: Money::from_dollars(0.005),
        compared_calls: 1,
        compared: Money::from_dollars(0.005),
        computed: Money::from_picodollars(2 * OURS),
    };
    assert_eq!(report.total.reported, expected);
    assert_eq!(report.total.cost, Money::from_picodollars(3 * OURS));
    assert_eq!(expected.difference().picodollars(), 2_540_000_000);
    assert!(!expected.differs());
    let of_rows: Vec<_> = report.rows.iter().map(|row| row.reported).collect();
    assert_eq!(of_rows, [expected]);
}

/// COG-16.
#[test]
fn incomparable_costs_are_only_reported() {
    let ledger = ledger(&[("msg_1", "claude-sonnet-5-5"), ("msg_2", "claude-new")]);
    for (call, messages) in [
        ("call-1", ["msg_1", "msg_2"]),
        ("call-2", ["msg_1", "lost"]),
    ] {
        let call = cost_report("run-1", call, 1.0, &messages);
        ledger.record_reported(&call, AT).unwrap();
    }
    let expected = ReportedCosts {
        calls: 2,
        cost: Money::from_dollars(2.0),
        ..ReportedCosts::default()
    };
    assert_eq!((total(&ledger), expected.differs()), (expected, false));
}

#[test]
fn reported_costs_are_grouped_by_the_fields_of_calls() {
    let ledger = ledger(&[("msg_1", "claude-sonnet-5-5")]);
    for (run, call) in [("run-1", "call-1"), ("run-2", "call-2")] {
        let call = cost_report(run, call, 1.0, &["msg_1"]);
        ledger.record_reported(&call, AT).unwrap();
    }
    let calls = |group, since: Option<&str>, run: Option<&str>| {
        let window = ReportWindow {
            run_id: run.map(str::to_owned),
            since: since.map(str::to_owned),
        };
        let report = ledger.report(group, &window).unwrap();
        let rows = report.rows.iter().map(|row| row.reported.calls);
        (rows.collect::<Vec<_>>(), report.total.reported.calls)
    };
    assert_eq!(calls(ReportGroup::All, None, None), (vec![2], 2));
    assert_eq!(calls(ReportGroup::Run, None, None), (vec![1], 2));
    assert_eq!(calls(ReportGroup::Stage, None, None), (vec![2], 2));
    assert_eq!(calls(ReportGroup::Model, None, None), (vec![0], 2));
    assert_eq!(calls(ReportGroup::Run, None, Some("run-1")), (vec![1], 1));
    assert_eq!(
        calls(ReportGroup::All, Some("2026-11-22"), None),
        (vec![], 0)
    );
}

#[test]
fn reported_costs_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.sqlite");
    let other = Ledger::open(&path).unwrap();
    let call = cost_report("run-1", "call-1", 1.0, &["lost"]);
    other.record_reported(&call, AT).unwrap();
    drop(other);
    let ledger = Ledger::in_memory().unwrap();
    ledger.import_from(&path).unwrap();
    ledger.import_from(&path).unwrap();
    assert_eq!(total(&ledger).calls, 1);
}

/// COG-14.
#[test]
fn an_interrupted_call_is_not_compared() {
    let ledger = ledger(&[("msg_1", "claude-sonnet-5-5")]);
    let mut cut = fact("msg_2", "claude-sonnet-5-5");
    cut.kind = ktx_llm_runtime::UsageKind::Incomplete;
    ledger
        .record(&cut, AT, &PriceTable::built_in().unwrap())
        .unwrap();
    let call = cost_report("run-1", "call-1", 0.5, &["msg_1", "msg_2"]);
    ledger.record_reported(&call, AT).unwrap();
    let expected = ReportedCosts {
        calls: 1,
        cost: Money::from_dollars(0.5),
        ..ReportedCosts::default()
    };
    assert_eq!(total(&ledger), expected);
}
