//! Value tests of what is kept about limits.

use std::time::Duration;

use ktx_llm_runtime::RuntimeEvent;

use super::{AccountLimit, Standing, limit_of};

fn now() -> jiff::Timestamp {
    "2026-11-22T12:00:00Z".parse().unwrap()
}

fn check(event: &RuntimeEvent, expected: Option<(&str, Standing, Option<f64>, Option<&str>)>) {
    let expected = expected.map(|(window, standing, utilization, until)| AccountLimit {
        window: window.to_owned(),
        standing,
        utilization,
        resets_at: until.map(|until| until.parse().unwrap()),
        observed_at: now(),
    });
    assert_eq!(limit_of(event, now()), expected, "{event:?}");
}

#[test]
fn what_is_heard_about_limits_is_kept_with_its_end() {
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
            Standing::Allowed,
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
            Standing::Refused,
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
            Standing::Refused,
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
        standing: Standing::Refused,
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

/// The file outlives versions: what is absent in it has no meaning, and it reads back as written.
#[test]
fn the_kept_form_reads_back() {
    let text = r#"{"accounts":{"anthropic":{"window":"5-hour window","standing":"refused","observedAt":"2026-11-22T12:00:00Z"}}}"#;
    let book: super::Book = serde_json::from_str(text).unwrap();
    let again: super::Book = serde_json::from_str(&serde_json::to_string(&book).unwrap()).unwrap();
    assert_eq!(
        (book.accounts.get("anthropic"), again.accounts.len()),
        (again.accounts.get("anthropic"), 1)
    );
}
