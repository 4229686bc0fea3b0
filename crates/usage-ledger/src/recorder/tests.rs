//! Tests of the recording of facts.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make and remove files of their own"
)]

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use ktx_llm_runtime::{
    CallLabel, LlmError, PlannedTurn, ReportedCost, SourceSystem, TokenUsage, TurnGate as _,
    UsageFact, UsageKind,
};
use ktx_vocabulary::{ModelRole, Provider, RunId};

use super::UsageRecorder;
use super::queue::MOST_WAITING;
use crate::{Budget, Ledger, Limits, PriceSource, ReportGroup, ReportWindow};

fn fact(message: &str) -> UsageFact {
    UsageFact {
        kind: UsageKind::Message,
        run_id: RunId::parse("run-1").unwrap(),
        attempt: 0,
        message_id: message.to_owned(),
        source_system: SourceSystem::Provider(Provider::Anthropic),
        model: "claude-sonnet-4-6".to_owned(),
        location: None,
        role: ModelRole::Default,
        stage: "test".to_owned(),
        unit: None,
        connection: None,
        usage: TokenUsage {
            input: 90,
            output: 10,
            ..TokenUsage::default()
        },
    }
}

fn facts(folder: &Path) -> (UsageRecorder, Arc<Mutex<Vec<String>>>) {
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&said);
    let hours = AtomicI64::new(0);
    let start: jiff::Timestamp = "2026-11-22T00:30:00Z".parse().unwrap();
    let facts = UsageRecorder::new(
        Arc::new(move |text| sink.lock().unwrap().push(text.to_owned())),
        Arc::new(move || {
            start + jiff::SignedDuration::from_hours(hours.fetch_add(1, Ordering::Relaxed))
        }),
        &folder.join("usage.sqlite"),
        PriceSource {
            file: Some(folder.join("llm-pricing.json")),
            ..PriceSource::default()
        },
    );
    (facts, said)
}

fn messages(folder: &Path, since: Option<&str>) -> u64 {
    let window = ReportWindow {
        run_id: None,
        since: since.map(str::to_owned),
    };
    let ledger = Ledger::open(&folder.join("usage.sqlite")).unwrap();
    let report = ledger.report(ReportGroup::All, &window).unwrap();
    assert_eq!(report.total.unpriced, 0);
    report.total.messages
}

fn reason(folder: &Path) -> String {
    let file = folder.join("usage.sqlite");
    format!(
        "the usage ledger cannot be opened: its folder cannot be written, or it is not a file (`{}`)",
        file.display()
    )
}

fn next_turn(facts: &UsageRecorder, tokens: u64) -> Result<(), String> {
    let limits = Limits {
        tokens: Some(tokens),
        ..Limits::default()
    };
    let turn = PlannedTurn {
        role: ModelRole::Default,
        bytes: 2,
        max_output: Some(1),
        output_bound: None,
    };
    let budget = Budget::new(limits, facts.meter(), |_, _| None);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let admitted = runtime.block_on(budget.admit(turn));
    admitted
        .map(|_| ())
        .map_err(|LlmError { message, .. }| message)
}

fn until(mut holds: impl FnMut() -> bool) {
    let (_sender, never) = std::sync::mpsc::channel::<()>();
    let mut held = holds();
    for _ in 0..600 {
        if held {
            break;
        }
        let waited = never.recv_timeout(std::time::Duration::from_millis(50));
        assert!(waited.is_err());
        held = holds();
    }
    assert!(held, "the thread never did it");
}

/// COG-14.
#[test]
fn each_fact_has_its_own_time() {
    let folder = tempfile::tempdir().unwrap();
    let (facts, _) = facts(folder.path());
    for number in 0..4 {
        facts.record(fact(&format!("msg_{number}")));
    }
    facts.finish();
    let since = |moment| messages(folder.path(), Some(moment));
    assert_eq!(
        [
            since("2026-11-22T00:00"),
            since("2026-11-22T01:00"),
            since("2026-11-22T03:00"),
            since("2026-11-22T04:00"),
        ],
        [4, 3, 1, 0]
    );
}

/// COG-14.
#[test]
fn tokens_outside_messages_count_like_those_of_messages() {
    let folder = tempfile::tempdir().unwrap();
    let (facts, said) = facts(folder.path());
    facts.record(fact("msg_1"));
    let beside = UsageFact {
        kind: UsageKind::Unattributed,
        ..fact("call-1/unattributed")
    };
    facts.record(beside.clone());
    facts.record(UsageFact {
        message_id: "call-2/unattributed".to_owned(),
        ..beside
    });
    facts.finish();
    assert_eq!(
        next_turn(&facts, 300),
        Err("the next model call would exceed the budget: 300 of 300 tokens are used".to_owned())
    );
    let ledger = Ledger::open(&folder.path().join("usage.sqlite")).unwrap();
    let total = ledger
        .report(ReportGroup::All, &ReportWindow::default())
        .unwrap()
        .total;
    assert_eq!(
        (
            total.messages,
            total.unattributed_tokens,
            total.usage.total()
        ),
        (1, 200, 300)
    );
    assert_eq!(*said.lock().unwrap(), Vec::<String>::new());
}

/// COG-14, C-18.
#[test]
fn a_reported_cost_is_in_no_sum() {
    let folder = tempfile::tempdir().unwrap();
    let (facts, said) = facts(folder.path());
    facts.record(fact("msg_1"));
    facts.reported(ReportedCost {
        source_system: SourceSystem::Provider(Provider::Anthropic),
        role: ModelRole::Default,
        label: CallLabel {
            run_id: RunId::parse("run-1").unwrap(),
            stage: "test".to_owned(),
            unit: None,
            connection: None,
        },
        call: "call-1".to_owned(),
        dollars: 100.0,
        message_ids: vec!["msg_1".to_owned()],
    });
    facts.finish();
    let ledger = Ledger::open(&folder.path().join("usage.sqlite")).unwrap();
    let total = ledger
        .report(ReportGroup::All, &ReportWindow::default())
        .unwrap()
        .total;
    assert_eq!(
        (
            total.cost.to_string(),
            total.reported.compared.to_string(),
            total.reported.computed
        ),
        ("$0.0004".to_owned(), "$100.0000".to_owned(), total.cost)
    );
    assert_eq!(next_turn(&facts, 200), Ok(()));
    assert_eq!(*said.lock().unwrap(), Vec::<String>::new());
}

/// COG-16.
#[test]
fn a_model_without_a_price_is_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let (facts, said) = facts(folder.path());
    for (number, model) in ["new-1", "new-1", "new-2", "claude-sonnet-4-6", "new-1"]
        .iter()
        .enumerate()
    {
        facts.record(UsageFact {
            model: (*model).to_owned(),
            ..fact(&format!("msg_{number}"))
        });
    }
    facts.finish();
    assert_eq!(
        *said.lock().unwrap(),
        [
            "warning: the model `new-1` has no list price; what it costs is unknown",
            "warning: the model `new-2` has no list price; what it costs is unknown",
        ]
    );
}

#[test]
fn nothing_has_a_price_by_a_table_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("llm-pricing.json"), "{}").unwrap();
    let (facts, said) = facts(folder.path());
    facts.record(fact("msg_1"));
    facts.record(fact("msg_2"));
    facts.finish();
    let ledger = Ledger::open(&folder.path().join("usage.sqlite")).unwrap();
    let total = ledger
        .report(ReportGroup::All, &ReportWindow::default())
        .unwrap()
        .total;
    assert_eq!((total.messages, total.unpriced), (2, 2));
    assert_eq!(
        *said.lock().unwrap(),
        [
            "warning: costs are unknown: the price table cannot be read: missing field `schema_version` at line 1 column 2"
        ]
    );
}

#[test]
fn facts_wait_for_a_ledger_that_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let (facts, said) = facts(folder.path());
    let file = folder.path().join("usage.sqlite");
    std::fs::create_dir(&file).unwrap();
    for number in 0..7 {
        facts.record(fact(&format!("msg_{number}")));
    }
    assert_eq!(
        next_turn(&facts, 700),
        Err("the next model call would exceed the budget: 700 of 700 tokens are used".to_owned())
    );
    until(|| !said.lock().unwrap().is_empty());
    std::fs::remove_dir(&file).unwrap();
    facts.record(fact("msg_7"));
    facts.finish();
    assert_eq!(messages(folder.path(), None), 8);
    std::fs::remove_file(&file).unwrap();
    facts.finish();
    assert_eq!(
        *said.lock().unwrap(),
        [format!(
            "warning: {}; usage is kept and written later",
            reason(folder.path())
        )]
    );
}

#[test]
fn a_locked_ledger_is_waited_for_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let (facts, said) = facts(folder.path());
    facts.record(fact("msg_0"));
    facts.finish();
    let other = rusqlite::Connection::open(folder.path().join("usage.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for number in 1..4 {
        facts.begin(fact(&format!("msg_{number}")));
        facts.record(fact(&format!("msg_{number}")));
    }
    assert_eq!(
        next_turn(&facts, 400),
        Err("the next model call would exceed the budget: 400 of 400 tokens are used".to_owned())
    );
    assert_eq!(messages(folder.path(), None), 1);
    facts.finish();
    assert_eq!(
        *said.lock().unwrap(),
        [format!(
            "warning: 3 model messages with 300 tokens are missing in the usage ledger: the usage ledger cannot be written: another program has locked it (`{}`)",
            folder.path().join("usage.sqlite").display()
        )]
    );
    facts.record(fact("msg_4"));
    other.execute_batch("COMMIT").unwrap();
    facts.finish();
    assert_eq!(messages(folder.path(), None), 2);
    assert_eq!(said.lock().unwrap().len(), 1);
}

#[test]
fn lost_facts_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (facts, said) = facts(folder.path());
    std::fs::create_dir(folder.path().join("usage.sqlite")).unwrap();
    for number in 0..3 {
        facts.record(fact(&format!("msg_{number}")));
    }
    facts.finish();
    facts.finish();
    assert_eq!(
        said.lock().unwrap().split_off(1),
        [
            format!(
                "warning: 3 model messages with 300 tokens are missing in the usage ledger: {}",
                reason(folder.path())
            ),
            "hint: make its folder writable, and check whether something else has its name"
                .to_owned()
        ]
    );
}

#[test]
fn a_damaged_ledger_is_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let (facts, said) = facts(folder.path());
    let file = folder.path().join("usage.sqlite");
    std::fs::write(
        &file,
        "no database at all, and long enough to be seen as none",
    )
    .unwrap();
    facts.record(fact("msg_0"));
    facts.finish();
    assert_eq!(
        *said.lock().unwrap(),
        [
            format!(
                "warning: 1 model messages with 100 tokens are missing in the usage ledger: the usage ledger cannot be opened: the file is damaged, or it is not a database (`{}`)",
                file.display()
            ),
            "hint: move that file away: ktx makes a new one".to_owned()
        ]
    );
}

#[test]
fn a_run_that_loses_facts_cannot_enforce_a_budget() {
    let folder = tempfile::tempdir().unwrap();
    let (facts, _) = facts(folder.path());
    std::fs::create_dir(folder.path().join("usage.sqlite")).unwrap();
    for number in 0..MOST_WAITING {
        facts.record(fact(&format!("msg_{number}")));
    }
    assert_eq!(next_turn(&facts, u64::MAX), Ok(()));
    facts.record(fact("one too many"));
    assert_eq!(
        next_turn(&facts, u64::MAX),
        Err(format!(
            "the budget cannot be held, because usage is not recorded: {}",
            reason(folder.path())
        ))
    );
}

/// COG-14.
#[test]
fn a_message_that_has_begun_is_in_the_ledger_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (facts, _) = facts(folder.path());
    let begun = UsageFact {
        kind: UsageKind::Incomplete,
        ..fact("call-1")
    };
    let open = || {
        let database = rusqlite::Connection::open(folder.path().join("usage.sqlite")).unwrap();
        let sql = "SELECT count(*) FROM open_messages";
        let open: i64 = database.query_row(sql, (), |row| row.get(0)).unwrap();
        open
    };
    facts.begin(begun.clone());
    assert_eq!(open(), 1);
    facts.forget(begun);
    facts.finish();
    assert_eq!((open(), messages(folder.path(), None)), (0, 0));
}

/// COG-16.
#[test]
fn uncounted_usage_is_reported_once_and_has_no_price() {
    let folder = tempfile::tempdir().unwrap();
    let (facts, said) = facts(folder.path());
    for message in ["m1", "m2"] {
        facts.record(UsageFact {
            kind: UsageKind::Estimated,
            ..fact(message)
        });
    }
    facts.finish();
    assert_eq!(
        *said.lock().unwrap(),
        [
            "warning: the provider does not report the tokens of the model `claude-sonnet-4-6`; ktx estimates them from the size of the messages, and the cost is unknown"
        ]
    );
    let ledger = Ledger::open(&folder.path().join("usage.sqlite")).unwrap();
    let total = ledger
        .report(ReportGroup::All, &ReportWindow::default())
        .unwrap()
        .total;
    assert_eq!(
        (total.uncounted, total.unpriced, total.estimated_tokens),
        (2, 2, 200)
    );
}
