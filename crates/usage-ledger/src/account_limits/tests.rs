//! Tests of stored limits.

use std::time::Duration;

use ktx_llm_runtime::RuntimeEvent;

use super::book_file::read;
use super::{AccountLimit, LimitBook, LimitStatus, LimitedAccount, limit_of};

fn now() -> jiff::Timestamp {
    "2026-11-22T12:00:00Z".parse().unwrap()
}

fn check(event: &RuntimeEvent, expected: Option<(&str, LimitStatus, Option<f64>, Option<&str>)>) {
    let expected = expected.map(|(window, status, utilization, until)| AccountLimit {
        window: window.to_owned(),
        status,
        utilization,
        resets_at: until.map(|until| until.parse().unwrap()),
        observed_at: now(),
    });
    assert_eq!(limit_of(event, now()), expected, "{event:?}");
}

#[test]
fn reported_limits_are_stored_with_their_end() {
    let observed = |utilization, resets_at| RuntimeEvent::RateLimitObserved {
        window: "five_hour".to_owned(),
        utilization,
        resets_at,
    };
    check(&observed(None, None), None);
    check(
        &observed(Some(0.82), Some(1_795_356_300)),
        Some((
            "5-hour window",
            LimitStatus::Allowed,
            Some(0.82),
            Some("2026-11-22T14:05:00Z"),
        )),
    );
    check(
        &RuntimeEvent::RateLimitRefused {
            window: "seven_day".to_owned(),
            resets_at: Some(1_795_356_300),
        },
        Some((
            "7-day window",
            LimitStatus::Refused,
            None,
            Some("2026-11-22T14:05:00Z"),
        )),
    );
    check(
        &RuntimeEvent::WaitStarted {
            reason: "limit of tokens".to_owned(),
            duration: Duration::from_secs(90),
        },
        Some((
            "limit of tokens",
            LimitStatus::Refused,
            None,
            Some("2026-11-22T12:01:30Z"),
        )),
    );
    check(&RuntimeEvent::WaitFinished, None);
}

#[test]
fn a_limit_is_forgotten_when_its_window_is_over() {
    let limit = |until: Option<&str>| AccountLimit {
        window: "5-hour window".to_owned(),
        status: LimitStatus::Refused,
        utilization: None,
        resets_at: until.map(|until| until.parse().unwrap()),
        observed_at: now(),
    };
    let later = now() + jiff::SignedDuration::from_secs(61);
    assert!(limit(Some("2026-11-22T14:05:00Z")).holds(later));
    assert!(!limit(Some("2026-11-22T12:01:00Z")).holds(later));
    assert!(limit(None).holds(now()));
    assert!(!limit(None).holds(later));
}

/// Absent fields have defaults.
#[test]
fn the_stored_form_reads_back() {
    let text = r#"{"accounts":{"anthropic":{"window":"5-hour window","standing":"refused","observedAt":"2026-11-22T12:00:00Z"}}}"#;
    let book: super::StoredLimits = serde_json::from_str(text).unwrap();
    let again: super::StoredLimits =
        serde_json::from_str(&serde_json::to_string(&book).unwrap()).unwrap();
    assert_eq!(
        (book.accounts.get("anthropic"), again.accounts.len()),
        (again.accounts.get("anthropic"), 1)
    );
}

fn book(folder: &std::path::Path, key: &str) -> LimitBook {
    LimitBook {
        path: folder.join("rate-limits.json"),
        account: LimitedAccount {
            backend: "openai",
            identity: vec!["https://api.test/v1".to_owned(), key.to_owned()],
        },
        last: std::sync::Mutex::default(),
    }
}

fn waiting(seconds: u64) -> RuntimeEvent {
    RuntimeEvent::WaitStarted {
        reason: "limit of tokens".to_owned(),
        duration: Duration::from_secs(seconds),
    }
}

#[test]
fn a_limit_belongs_to_the_key_that_met_it() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (book(folder.path(), "sk-old"), book(folder.path(), "sk-new"));
    old.note(&waiting(90), now()).unwrap();
    let kept = read(&old.path);
    assert_eq!(kept.accounts.len(), 1);
    assert!(kept.accounts.contains_key(&kept.name(&old.account)));
    assert!(!kept.accounts.contains_key(&kept.name(&new.account)));
    new.note(&waiting(60), now()).unwrap();
    let kept = read(&old.path);
    assert_eq!(kept.accounts.len(), 2);
    let text = std::fs::read_to_string(&old.path).unwrap();
    for hidden in ["sk-", "api.test"] {
        assert!(!text.contains(hidden), "{text}");
    }
    // The salt of another project differs.
    let elsewhere = tempfile::tempdir().unwrap();
    let there = book(elsewhere.path(), "sk-old");
    there.note(&waiting(90), now()).unwrap();
    assert_ne!(
        read(&there.path).name(&old.account),
        kept.name(&old.account)
    );
}

#[test]
fn only_news_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let book = book(folder.path(), "sk-old");
    let at = |seconds| now() + jiff::SignedDuration::from_secs(seconds);
    let observed = |share, resets_at| RuntimeEvent::RateLimitObserved {
        window: "tokens".to_owned(),
        utilization: Some(share),
        resets_at,
    };
    let observed_at = |event: &RuntimeEvent, seconds| {
        book.note(event, at(seconds)).unwrap();
        let kept = read(&book.path);
        let limit = &kept.accounts[&kept.name(&book.account)];
        limit.observed_at.duration_since(now()).as_secs()
    };
    let end = Some(1_795_356_300);
    let written: Vec<i64> = [
        (observed(0.5, end), 0),
        (observed(0.5, end), 40),
        (observed(0.6, end), 50),
        (observed(0.6, None), 60),
        (observed(0.6, None), 80),
        (observed(0.6, None), 95),
    ]
    .iter()
    .map(|(event, seconds)| observed_at(event, *seconds))
    .collect();
    assert_eq!(written, [0, 0, 50, 60, 60, 95]);
    let other = super::LimitBook {
        account: LimitedAccount {
            backend: "groq",
            identity: Vec::new(),
        },
        path: book.path.clone(),
        last: std::sync::Mutex::default(),
    };
    other.note(&waiting(5), at(1000)).unwrap();
    assert_eq!(read(&book.path).accounts.len(), 1);
}

#[test]
fn implausible_reports_are_ignored() {
    let at = |hours| now() + jiff::SignedDuration::from_hours(hours);
    for (window, status, observed, until, holds) in [
        ("5-hour window", LimitStatus::Refused, 0, Some(4), true),
        ("5-hour window", LimitStatus::Refused, -1, Some(6), false),
        ("7-day window", LimitStatus::Refused, -1, Some(6), true),
        (
            "limit of tokens",
            LimitStatus::Refused,
            0,
            Some(7 * 24),
            true,
        ),
        (
            "limit of tokens",
            LimitStatus::Refused,
            0,
            Some(9 * 24),
            false,
        ),
        ("limit of tokens", LimitStatus::Refused, 24, Some(26), false),
        ("limit of tokens", LimitStatus::Refused, 24, None, false),
        (
            "limit of tokens",
            LimitStatus::Allowed,
            0,
            Some(40 * 24),
            true,
        ),
        (
            "limit of tokens",
            LimitStatus::Allowed,
            24,
            Some(40 * 24),
            false,
        ),
    ] {
        let limit = AccountLimit {
            window: window.to_owned(),
            status,
            utilization: None,
            resets_at: until.map(at),
            observed_at: at(observed),
        };
        assert_eq!(limit.holds(now()), holds, "{limit:?}");
    }
}

#[test]
fn another_day_is_shown() {
    let limit = AccountLimit {
        window: "5-hour window".to_owned(),
        status: LimitStatus::Refused,
        utilization: None,
        resets_at: Some("2030-01-03T12:00:00Z".parse().unwrap()),
        observed_at: "2030-01-03T11:00:00Z".parse().unwrap(),
    };
    let words = |now: &str| limit.words(now.parse().unwrap());
    assert!(words("2030-01-01T12:00:00Z").contains("until 2030-01-03 "));
    assert!(!words("2030-01-03T12:00:00Z").contains("2030"));
}

#[test]
fn a_refusal_outlasts_reports_to_other_commands() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (book(folder.path(), "sk-old"), book(folder.path(), "sk-old"));
    let kept = || {
        let kept = read(&one.path);
        let limit = &kept.accounts[&kept.name(&one.account)];
        (
            limit.status,
            limit.resets_at.unwrap().duration_since(now()).as_secs(),
        )
    };
    one.note(&waiting(90), now()).unwrap();
    let served = RuntimeEvent::RateLimitObserved {
        window: "tokens".to_owned(),
        utilization: Some(0.9),
        resets_at: Some(1_795_356_300),
    };
    other.note(&served, now()).unwrap();
    assert_eq!(kept(), (LimitStatus::Refused, 90));
    other.note(&waiting(60), now()).unwrap();
    assert_eq!(kept(), (LimitStatus::Refused, 90));
    other.note(&waiting(120), now()).unwrap();
    assert_eq!(kept(), (LimitStatus::Refused, 120));
}
