//! Tests of the daily budget of a project.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ktx_llm_runtime::{
    LlmError, LlmErrorKind, PlannedTurn, TokenUsage, TurnGate as _, UsageFact, UsageKind,
};
use ktx_vocabulary::ModelRole;

use super::fact;
use crate::budget::ReservationSpan;
use crate::ceiling::{BudgetFit, BudgetUnit, CeilingLoad};
use crate::{
    Budget, Ceiling, Cost, Day, DayBudget, DayStatus, Ledger, Limits, Money, PeriodUsage,
    PriceSource, ReservationOwner, UsageAmount, UsageRecorder, Viewpoint,
};

const SINCE: &str = "2026-11-21T00:00:00";
const TODAY: &str = "2026-11-21T08:00:00.5Z";
const YESTERDAY: &str = "2026-11-20T23:59:59Z";

const fn owner(process: u32) -> ReservationOwner {
    ReservationOwner {
        process,
        started: Some(10),
    }
}

const HERE: ReservationOwner = owner(1);
const THERE: ReservationOwner = owner(2);
const GONE: ReservationOwner = owner(3);

fn view() -> Viewpoint<'static> {
    Viewpoint {
        since: SINCE,
        owner: HERE,
        is_running: &|owner| owner != GONE,
    }
}

const fn amount(tokens: u64, picodollars: i128) -> UsageAmount {
    UsageAmount {
        tokens,
        cost: Money::from_picodollars(picodollars),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a cost may be unknown")]
fn cost(picodollars: i128) -> Option<Cost> {
    Some(Cost {
        amount: Money::from_picodollars(picodollars),
        estimated: false,
    })
}

fn message(name: &str, tokens: u64) -> UsageFact {
    let mut fact = fact(name, "claude-new");
    fact.usage = TokenUsage {
        output: tokens,
        ..TokenUsage::default()
    };
    fact
}

fn begun(name: &str, tokens: u64) -> UsageFact {
    UsageFact {
        kind: UsageKind::Incomplete,
        ..message(name, tokens)
    }
}

fn reserve(ledger: &Ledger, owner: ReservationOwner, amount: UsageAmount) -> crate::Reservation {
    let view = Viewpoint { owner, ..view() };
    let reserved = ledger.reserve(&view, |_| Ok::<_, ()>(amount)).unwrap();
    reserved.unwrap()
}

#[test]
fn the_usage_of_a_period_has_spent_and_reserved_amounts() {
    let ledger = Ledger::in_memory().unwrap();
    let empty = ledger.period_usage(&view()).unwrap();
    assert_eq!(empty, PeriodUsage::default());

    ledger
        .record_at(&message("early", 1), YESTERDAY, cost(1))
        .unwrap();
    ledger
        .record_at(&message("late", 20), TODAY, cost(200))
        .unwrap();
    let begin = |name, tokens, at, owner| {
        let cost = cost(i128::from(tokens) * 10);
        ledger.begin(&begun(name, tokens), at, cost, owner).unwrap();
    };
    begin("ours", 30, TODAY, HERE);
    begin("theirs", 400, YESTERDAY, THERE);
    begin("cut", 5000, TODAY, GONE);
    begin("cut early", 9, YESTERDAY, GONE);
    for (owner, amount) in [
        (HERE, amount(600, 7)),
        (HERE, amount(70, 7000)),
        (THERE, amount(1, 5000)),
        (GONE, amount(100_000, 100_000)),
    ] {
        reserve(&ledger, owner, amount);
    }
    let expected = PeriodUsage {
        spent: amount(20 + 5000, 200 + 50_000),
        ours: amount(670, 7007),
        theirs: amount(400, 5000),
        smallest: amount(70, 7),
        unpriced: None,
    };
    assert_eq!(ledger.period_usage(&view()).unwrap(), expected);
    assert_eq!(expected.in_flight(), amount(1070, 12_007));
    // Settling changes nothing.
    assert_eq!(ledger.settle(|owner| owner != GONE).unwrap(), 2);
    assert_eq!(ledger.period_usage(&view()).unwrap(), expected);
}

/// COG-16.
#[test]
fn the_usage_of_a_period_says_whose_cost_is_unknown() {
    let unpriced = |write: &dyn Fn(&Ledger)| {
        let ledger = Ledger::in_memory().unwrap();
        write(&ledger);
        ledger.period_usage(&view()).unwrap().unpriced
    };
    let uncounted = UsageFact {
        kind: UsageKind::Estimated,
        ..message("m", 1)
    };
    let no_price = || Some("the model `claude-new` has no list price".to_owned());
    assert_eq!(
        [
            unpriced(&|ledger| {
                ledger.record_at(&message("m", 1), YESTERDAY, None).unwrap();
            }),
            unpriced(&|ledger| {
                ledger.record_at(&message("m", 1), TODAY, None).unwrap();
            }),
            unpriced(&|ledger| {
                ledger.record_at(&uncounted, TODAY, None).unwrap();
            }),
            unpriced(&|ledger| ledger.begin(&begun("m", 1), TODAY, None, GONE).unwrap()),
            unpriced(&|ledger| ledger.begin(&begun("m", 1), TODAY, None, THERE).unwrap()),
        ],
        [
            None,
            no_price(),
            Some("the provider does not report what the model `claude-new` has used".to_owned()),
            no_price(),
            None,
        ]
    );
}

#[test]
fn a_reservation_ends_with_its_release_or_its_process() {
    let ledger = Ledger::in_memory().unwrap();
    let rows = || {
        let sql = "SELECT count(*) FROM reservations";
        let rows: i64 = ledger
            .database
            .query_row(sql, (), |row| row.get(0))
            .unwrap();
        rows
    };
    let ours = |ledger: &Ledger| ledger.period_usage(&view()).unwrap().ours.tokens;
    let first = reserve(&ledger, GONE, amount(5, 0));
    let refused = ledger.reserve(&view(), |_| Err::<UsageAmount, _>("full"));
    assert_eq!((refused.unwrap(), rows()), (Err("full"), 1));
    let second = reserve(&ledger, HERE, amount(6, 0));
    assert_eq!((ours(&ledger), rows()), (6, 1));
    ledger.release(second).unwrap();
    reserve(&ledger, HERE, amount(7, 0));
    ledger.release(first).unwrap();
    ledger.release(second).unwrap();
    assert_eq!((ours(&ledger), rows()), (7, 1));
}

#[test]
fn no_two_calls_get_the_same_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usage.sqlite");
    let admitted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (10..18)
            .map(|process| {
                let path = &path;
                scope.spawn(move || {
                    let ledger = Ledger::open(path).unwrap();
                    let view = Viewpoint {
                        owner: owner(process),
                        ..view()
                    };
                    let tried = (0..10).map(|_| {
                        ledger.reserve(&view, |period_usage| {
                            let used = period_usage.in_flight().tokens;
                            if used < 25 { Ok(amount(1, 0)) } else { Err(()) }
                        })
                    });
                    tried
                        .filter(|tried| tried.as_ref().unwrap().is_ok())
                        .count()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(admitted, 25);
}

#[test]
fn a_call_fits_if_spent_and_reserved_amounts_allow_it() {
    let fit = |ceiling: Ceiling, [spent, ours, theirs]: [UsageAmount; 3], next| {
        let load = CeilingLoad {
            spent,
            ours,
            theirs,
        };
        ceiling.fit(&load, next)
    };
    let tokens = |limit| Ceiling {
        tokens: Some(limit),
        cost: None,
    };
    let money = |limit| Ceiling {
        cost: Some(Money::from_picodollars(limit)),
        tokens: None,
    };
    let load = [amount(50, 5), amount(20, 2), amount(10, 1)];
    let next = amount(10, 1);
    assert_eq!(
        [90, 89, 70, 69, 60, 59].map(|limit| fit(tokens(limit), load, next)),
        [
            BudgetFit::Now,
            BudgetFit::AfterOurs,
            BudgetFit::AfterOurs,
            BudgetFit::AfterTheirs(BudgetUnit::Tokens),
            BudgetFit::AfterTheirs(BudgetUnit::Tokens),
            BudgetFit::Never(BudgetUnit::Tokens),
        ]
    );
    assert_eq!(
        [9, 8, 7, 6, 5].map(|limit| fit(money(limit), load, next)),
        [
            BudgetFit::Now,
            BudgetFit::AfterOurs,
            BudgetFit::AfterOurs,
            BudgetFit::AfterTheirs(BudgetUnit::Dollars),
            BudgetFit::Never(BudgetUnit::Dollars),
        ]
    );
    let both = |tokens, cost| Ceiling {
        tokens: Some(tokens),
        cost: Some(Money::from_picodollars(cost)),
    };
    assert_eq!(
        [both(1000, 6), both(60, 6), both(59, 5), both(90, 8)].map(|limit| fit(limit, load, next)),
        [
            BudgetFit::AfterTheirs(BudgetUnit::Dollars),
            BudgetFit::AfterTheirs(BudgetUnit::Tokens),
            BudgetFit::Never(BudgetUnit::Tokens),
            BudgetFit::AfterOurs,
        ]
    );
    let full = [
        amount(60, 6),
        UsageAmount::default(),
        UsageAmount::default(),
    ];
    assert_eq!(
        (
            fit(money(6), full, UsageAmount::default()),
            fit(money(7), full, UsageAmount::default()),
            fit(
                tokens(0),
                [UsageAmount::default(); 3],
                UsageAmount::default()
            ),
            fit(Ceiling::default(), full, next),
        ),
        (
            BudgetFit::Never(BudgetUnit::Dollars),
            BudgetFit::Now,
            BudgetFit::Never(BudgetUnit::Tokens),
            BudgetFit::Now,
        )
    );
}

/// The day can have 23 or 25 hours.
#[test]
fn a_day_lasts_from_midnight_to_midnight() {
    let day = |now: &str, zone: &str| {
        let day = Day::of(now.parse().unwrap(), TimeZone::get(zone).unwrap());
        (day.since(), day.ends_at().to_string(), day.ends_at_local())
    };
    let expected = |since: &str, ends: &str, local: &str| {
        (since.to_owned(), ends.to_owned(), local.to_owned())
    };
    assert_eq!(
        [
            day("2026-11-21T12:00:00.5Z", "UTC"),
            day("2026-11-21T03:00:00Z", "America/New_York"),
            day("2026-03-29T12:00:00Z", "Europe/Berlin"),
            day("2026-10-25T00:30:00Z", "Europe/Berlin"),
        ],
        [
            expected(
                "2026-11-21T00:00:00",
                "2026-11-22T00:00:00Z",
                "2026-11-22 00:00"
            ),
            expected(
                "2026-11-20T05:00:00",
                "2026-11-21T05:00:00Z",
                "2026-11-21 00:00"
            ),
            expected(
                "2026-03-28T23:00:00",
                "2026-03-29T22:00:00Z",
                "2026-03-30 00:00"
            ),
            expected(
                "2026-10-24T22:00:00",
                "2026-10-25T23:00:00Z",
                "2026-10-26 00:00"
            ),
        ]
    );
}

fn recorder(folder: &Path) -> Arc<UsageRecorder> {
    let noon: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
    Arc::new(UsageRecorder::new(
        Arc::new(|_| {}),
        Arc::new(move || noon),
        &folder.join("usage.sqlite"),
        PriceSource::default(),
    ))
}

fn shared(ceiling: Ceiling, recorder: &Arc<UsageRecorder>) -> Budget {
    let day = DayBudget::new(ceiling, Arc::clone(recorder), TimeZone::UTC, Duration::ZERO);
    Budget::shared(
        Limits::default(),
        Some(day),
        recorder.meter(),
        |_, usage| {
            Some(Money::from_picodollars(
                i128::from(usage.total()) * 10_000_000,
            ))
        },
    )
}

fn turn(output_bound: Option<u64>) -> PlannedTurn {
    PlannedTurn {
        role: ModelRole::Default,
        bytes: 200,
        max_output: None,
        output_bound,
    }
}

fn error_texts<T>(outcome: Result<T, LlmError>) -> [String; 2] {
    let error = outcome.map(|_| ()).unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Budget);
    [error.message, error.hint.unwrap_or_default()]
}

fn period_usage(folder: &Path, ceiling: Ceiling) -> DayStatus {
    let day = Day::of("2026-11-21T12:00:00Z".parse().unwrap(), TimeZone::UTC);
    DayStatus::read(&folder.join("usage.sqlite"), ceiling, day).unwrap()
}

#[tokio::test]
async fn a_call_reserves_its_longest_answer_until_it_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    let ceiling = Ceiling {
        tokens: Some(5_000),
        cost: Some(Money::from_dollars(1.0)),
    };
    let budget = shared(ceiling, &recorder);
    let status = || {
        recorder.finish();
        period_usage(folder.path(), ceiling).to_string()
    };
    let permit = budget.admit(turn(Some(3_000))).await.unwrap();
    assert_eq!(
        status(),
        "$0.0000 of $1.0000 used, $0.0310 more in flight, 0 of 5000 tokens used, 3100 more in flight, until 2026-11-22 00:00"
    );
    recorder.record(message("m1", 900));
    permit.settle(message("m1", 900).usage);
    assert_eq!(
        status(),
        "$0.0000 of $1.0000 used, 900 of 5000 tokens used, until 2026-11-22 00:00"
    );
}

#[tokio::test]
async fn a_day_that_is_used_up_admits_no_call() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    recorder.record(UsageFact {
        model: "claude-sonnet-5-5".to_owned(),
        ..message("m1", 900)
    });
    let tokens = Ceiling {
        tokens: Some(1_000),
        cost: None,
    };
    let money = Ceiling {
        tokens: None,
        cost: Some(Money::from_dollars(0.01)),
    };
    let expected = |used: &str, key: &str| {
        [
            format!(
                "the next model call would exceed the budget of the day: {used} are used; the day ends at 2026-11-22 00:00"
            ),
            format!(
                "raise `llm.budget.{key}` in ktx.yaml, or run the same command again after 2026-11-22 00:00"
            ),
        ]
    };
    let by_tokens = expected("900 of 1000 tokens", "tokens_per_day");
    let by_money = expected("$0.0090 of $0.0100", "usd_per_day");
    for (ceiling, expected) in [(tokens, by_tokens), (money, by_money)] {
        let budget = shared(ceiling, &recorder);
        assert_eq!(error_texts(budget.admit(turn(Some(1))).await), expected);
        assert_eq!(error_texts(budget.begin(2_000)), expected);
    }
    assert_eq!(shared(tokens, &recorder).look().map_err(|_| ()), Err(()));
}

#[tokio::test]
async fn a_call_is_refused_because_of_the_calls_of_other_processes() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    let ledger = Ledger::open(&folder.path().join("usage.sqlite")).unwrap();
    let ceiling = Ceiling {
        tokens: Some(2_000),
        cost: None,
    };
    let budget = shared(ceiling, &recorder);
    // The first process of the system outlives every test.
    let other = reserve(&ledger, ReservationOwner::of(1), amount(1_401, 0));
    reserve(&ledger, GONE, amount(1_000_000, 0));
    let refused = [
        "the next model call would exceed the budget of the day: 0 of 2000 tokens are used, calls in flight may use 1401 more tokens; the day ends at 2026-11-22 00:00".to_owned(),
        "run the same command again when the calls in flight have ended, or raise `llm.budget.tokens_per_day` in ktx.yaml".to_owned(),
    ];
    assert_eq!(error_texts(budget.admit(turn(Some(9_000))).await), refused);
    assert_eq!(error_texts(budget.begin(200)), refused);
    ledger.release(other).unwrap();
    reserve(&ledger, ReservationOwner::of(1), amount(1_400, 0));
    assert!(budget.admit(turn(Some(9_000))).await.is_ok());
}

#[tokio::test]
async fn calls_of_one_process_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    let ceiling = Ceiling {
        tokens: Some(2_000),
        cost: None,
    };
    let budget = shared(ceiling, &recorder);
    let first = budget.admit(turn(Some(1_900))).await.unwrap();
    // A further turn of the first call is part of its reservation.
    assert_eq!(budget.begin(200), Ok(()));
    assert_eq!(budget.look(), Ok(()));
    let second = budget.admit(turn(Some(1_900)));
    let mut second = std::pin::pin!(second);
    let soon = tokio::time::timeout(Duration::from_millis(50), &mut second).await;
    assert!(soon.is_err());
    drop(first);
    assert!(second.await.is_ok());
}

#[tokio::test]
async fn a_call_does_not_outwait_the_loop_that_may_have_asked_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    let ceiling = Ceiling {
        tokens: Some(2_000),
        cost: None,
    };
    let (asking, asked) = (shared(ceiling, &recorder), shared(ceiling, &recorder));
    let looping = asking
        .admit_for(turn(Some(1_900)), ReservationSpan::Loop)
        .await
        .unwrap();
    let refused = tokio::time::timeout(Duration::from_mins(1), asked.admit(turn(Some(1_900))));
    assert_eq!(
        error_texts(refused.await.unwrap()),
        [
            "the next model call would exceed the budget of the day: 0 of 2000 tokens are used, calls in flight may use 2000 more tokens; the day ends at 2026-11-22 00:00",
            "run the same command again when the calls in flight have ended, or raise `llm.budget.tokens_per_day` in ktx.yaml",
        ]
    );
    // A loop of the same budget ends by itself.
    let own = asking.admit(turn(Some(1_900)));
    let mut own = std::pin::pin!(own);
    let soon = tokio::time::timeout(Duration::from_millis(50), &mut own).await;
    assert!(soon.is_err());
    drop(looping);
    assert!(own.await.is_ok());
}

/// Reserves what `claude` can use.
#[tokio::test]
async fn a_call_of_unknown_length_reserves_a_long_answer_and_hidden_input() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    let ceiling = Ceiling {
        tokens: Some(u64::MAX),
        cost: None,
    };
    let _permit = shared(ceiling, &recorder).admit(turn(None)).await.unwrap();
    let status = period_usage(folder.path(), ceiling);
    assert_eq!(status.usage.ours.tokens, 100 + 20_000 + 32_000);
}

/// COG-16.
#[tokio::test]
async fn a_cost_limit_cannot_be_enforced_on_a_day_with_an_unknown_cost() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    recorder.record(message("m1", 1));
    let limits = |cost, tokens| Ceiling { cost, tokens };
    let money = limits(Some(Money::from_dollars(5.0)), None);
    let refused = [
        "the budget of $5.0000 a day cannot be held: the model `claude-new` has no list price"
            .to_owned(),
        "give its price under `llm.pricing` in ktx.yaml, or use `llm.budget.tokens_per_day`"
            .to_owned(),
    ];
    let budget = shared(money, &recorder);
    assert_eq!(error_texts(budget.admit(turn(Some(1))).await), refused);
    assert_eq!(error_texts(budget.look()), refused);
    let by_tokens = shared(limits(None, Some(1_000)), &recorder);
    assert!(by_tokens.admit(turn(Some(1))).await.is_ok());
    let day = DayBudget::new(money, Arc::clone(&recorder), TimeZone::UTC, Duration::ZERO);
    let priceless = Budget::shared(Limits::default(), Some(day), Arc::default(), |_, _| None);
    let [message, _] = error_texts(priceless.admit(turn(Some(1))).await);
    assert_eq!(
        message,
        "the budget of $5.0000 a day cannot be held: the model of the role `default` has no list price"
    );
}

#[tokio::test]
async fn a_ledger_that_cannot_be_opened_admits_no_call() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("usage.sqlite");
    std::fs::create_dir(&file).unwrap();
    let ceiling = Ceiling {
        tokens: Some(1_000),
        cost: None,
    };
    let budget = shared(ceiling, &recorder(folder.path()));
    let [message, _] = error_texts(budget.admit(turn(Some(1))).await);
    assert_eq!(
        message,
        "the budget cannot be held, because usage is not recorded: the usage ledger cannot be opened: its folder cannot be written, or it is not a file"
    );
}
