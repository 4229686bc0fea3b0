//! Tests of messages that began and may never end.

use ktx_llm_runtime::{UsageFact, UsageKind};

use super::{AT, fact};
use crate::{
    Ledger, PriceTable, RecordOutcome, ReportGroup, ReportWindow, ReservationOwner, price_of,
};

const HERE: ReservationOwner = ReservationOwner {
    process: 7,
    started: Some(70),
};
const GONE: ReservationOwner = ReservationOwner {
    process: 8,
    started: Some(80),
};
/// Identified by the process id alone.
const NAMELESS: ReservationOwner = ReservationOwner {
    process: 8,
    started: None,
};

fn begun(message: &str, output: u64) -> UsageFact {
    let mut fact = fact(message, "claude-sonnet-5-5");
    fact.kind = UsageKind::Incomplete;
    fact.usage.output = output;
    fact
}

fn begin(ledger: &Ledger, fact: &UsageFact, owner: ReservationOwner) {
    let prices = PriceTable::built_in().unwrap();
    let cost = price_of(fact, AT, &prices);
    ledger.begin(fact, AT, cost, owner).unwrap();
}

fn paid(ledger: &Ledger, message: &str) -> RecordOutcome {
    let prices = PriceTable::built_in().unwrap();
    let fact = fact(message, "claude-sonnet-5-5");
    ledger.record(&fact, AT, &prices).unwrap()
}

fn total(ledger: &Ledger) -> (u64, u64, u64, String) {
    let total = ledger
        .report(ReportGroup::All, &ReportWindow::default())
        .unwrap()
        .total;
    (
        total.messages,
        total.incomplete,
        total.usage.output,
        total.cost.to_string(),
    )
}

/// COG-14.
#[test]
fn a_message_whose_process_is_gone_is_a_fact() {
    let ledger = Ledger::in_memory().unwrap();
    begin(&ledger, &begun("msg_1", 1), GONE);
    begin(&ledger, &begun("msg_1", 40), GONE);
    begin(&ledger, &begun("msg_2", 2), HERE);
    begin(&ledger, &begun("msg_3", 3), NAMELESS);
    assert_eq!(paid(&ledger, "msg_4"), RecordOutcome::New);
    begin(&ledger, &begun("msg_4", 4), GONE);
    let only_here = |owner: ReservationOwner| owner == HERE;
    assert_eq!(ledger.settle(|_| true).unwrap(), 0);
    assert_eq!(total(&ledger).0, 1);
    assert_eq!(ledger.settle(only_here).unwrap(), 2);
    assert_eq!(ledger.settle(only_here).unwrap(), 0);
    assert_eq!(total(&ledger), (3, 2, 40 + 3 + 77, "$0.0026".to_owned()));
    assert_eq!(paid(&ledger, "msg_2"), RecordOutcome::New);
    assert_eq!(ledger.settle(|_| false).unwrap(), 0);
    assert_eq!((total(&ledger).0, total(&ledger).1), (4, 2));
}

/// COG-12.
#[test]
fn a_complete_message_replaces_an_interrupted_one() {
    let ledger = Ledger::in_memory().unwrap();
    begin(&ledger, &begun("msg_1", 40), GONE);
    ledger.settle(|_| false).unwrap();
    assert_eq!(total(&ledger), (1, 1, 40, "$0.0009".to_owned()));
    assert_eq!(paid(&ledger, "msg_1"), RecordOutcome::New);
    assert_eq!(total(&ledger), (1, 0, 77, "$0.0012".to_owned()));
    assert_eq!(paid(&ledger, "msg_1"), RecordOutcome::Known);
    let late = ledger.record_at(&begun("msg_1", 40), AT, None).unwrap();
    assert_eq!(late, RecordOutcome::Known);
    begin(&ledger, &begun("msg_1", 40), GONE);
    ledger.settle(|_| false).unwrap();
    assert_eq!(total(&ledger), (1, 0, 77, "$0.0012".to_owned()));
}

/// Each fact and open message once.
#[test]
fn a_ledger_copies_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] = ["from.sqlite", "to.sqlite"].map(|name| folder.path().join(name));
    let (earlier, ledger) = (Ledger::open(&from).unwrap(), Ledger::open(&to).unwrap());
    for message in ["msg_1", "msg_2"] {
        paid(&earlier, message);
    }
    begin(&earlier, &begun("msg_3", 5), GONE);
    for message in ["msg_2", "msg_4"] {
        paid(&ledger, message);
    }
    drop(earlier);
    for _ in 0..2 {
        ledger.import_from(&from).unwrap();
        assert_eq!(total(&ledger).0, 3);
    }
    ledger.settle(|_| false).unwrap();
    assert_eq!((total(&ledger).0, total(&ledger).1), (4, 1));
    assert_eq!(total(&Ledger::open(&from).unwrap()).0, 2);
}

#[test]
fn a_ledger_that_is_written_to_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.sqlite");
    paid(&Ledger::open(&path).unwrap(), "msg_1");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let soon = std::time::Duration::from_millis(1);
    let ledger = Ledger::open_waiting(&path, soon).unwrap();
    assert_eq!(total(&ledger).0, 1);
    let prices = PriceTable::built_in().unwrap();
    let fact = fact("msg_2", "claude-sonnet-5-5");
    let error = ledger.record(&fact, AT, &prices).unwrap_err();
    assert!(error.is_busy(), "{error:?}");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(
        ledger.record(&fact, AT, &prices).unwrap(),
        RecordOutcome::New
    );
}

/// COG-12.
#[test]
fn a_message_that_seemed_cut_off_continues_to_grow() {
    let ledger = Ledger::in_memory().unwrap();
    begin(&ledger, &begun("msg_1", 1000), HERE);
    assert_eq!(ledger.settle(|_| false).unwrap(), 1);
    begin(&ledger, &begun("msg_1", 21_000), HERE);
    begin(&ledger, &begun("msg_1", 20_000), HERE);
    assert_eq!(ledger.settle(|_| false).unwrap(), 0);
    assert_eq!((total(&ledger).1, total(&ledger).2), (1, 21_000));
    let cut = |output| {
        let prices = PriceTable::built_in().unwrap();
        ledger.record(&begun("msg_1", output), AT, &prices).unwrap()
    };
    assert_eq!(cut(30_000), RecordOutcome::New);
    assert_eq!(cut(29_000), RecordOutcome::Known);
    assert_eq!((total(&ledger).1, total(&ledger).2), (1, 30_000));
    assert_eq!(paid(&ledger, "msg_1"), RecordOutcome::New);
    begin(&ledger, &begun("msg_1", 40_000), HERE);
    assert_eq!(ledger.settle(|_| false).unwrap(), 0);
    assert_eq!(
        (total(&ledger).0, total(&ledger).1, total(&ledger).2),
        (1, 0, 77)
    );
}
