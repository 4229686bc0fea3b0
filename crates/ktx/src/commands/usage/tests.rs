//! Value tests of moments and of what a cost is without.

use ktx_llm_runtime::TokenUsage;
use ktx_usage_ledger::{Money, ReportRow};

use super::{cost, left_out, moment};

/// What `--since` takes: days and times of day without an offset are UTC.
#[test]
fn moments_are_utc_whatever_they_are_written_with() {
    let now: jiff::Timestamp = "2026-11-22T12:00:00.5Z".parse().unwrap();
    let read = |text: &str| moment(text, now).map(|moment| moment.to_string());
    let cases = [
        ("2026-01-31", "2026-01-31T00:00:00Z"),
        ("2026-01-31T09:30", "2026-01-31T09:30:00Z"),
        ("2026-01-31 09:30:15", "2026-01-31T09:30:15Z"),
        ("2026-01-31T09:30:00Z", "2026-01-31T09:30:00Z"),
        ("2026-01-31T09:30:00+02:00", "2026-01-31T07:30:00Z"),
        ("2026-01-31 23:30-05:00", "2026-02-01T04:30:00Z"),
        ("2026-01-01T00:30:00+14:00", "2025-12-31T10:30:00Z"),
        ("7d", "2026-11-15T12:00:00.5Z"),
        ("0d", "2026-11-22T12:00:00.5Z"),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text).as_deref(), Some(expected), "{text}");
    }
    let wrong = [
        "",
        "d",
        "-7d",
        "7.5d",
        "99999999999d",
        "4000000000d",
        "yesterday",
        "2026-02-30",
        "2026-01-31T25:00",
        "2026-01-31T09:30[Europe/Berlin]",
        "2026-01-31T09:30+99:00",
    ];
    for text in wrong {
        assert_eq!(read(text), None, "{text}");
    }
}

/// COG-16: a cost that is not of all messages says so.
#[test]
fn a_cost_says_what_it_is_without() {
    let row = |messages, unpriced| ReportRow {
        key: String::new(),
        messages,
        unattributed: 0,
        usage: TokenUsage::default(),
        unattributed_tokens: 0,
        cost: Money::from_dollars(0.5),
        unpriced,
        estimated: 0,
        incomplete: 0,
    };
    let words = |row: &ReportRow| format!("{}{}", cost(row), left_out(row));
    assert_eq!(
        [row(3, 0), row(3, 2), row(3, 3)].map(|row| words(&row)),
        [
            "$0.5000",
            "$0.5000 without 2 messages whose price is not known",
            "unknown"
        ]
    );
}
