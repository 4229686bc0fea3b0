//! Tests of times and costs.

use ktx_llm_runtime::TokenUsage;
use ktx_usage_ledger::{Money, ReportRow, ReportedCosts};

use super::{moment, reported_difference, row_json};
use crate::totals::{cost, left_out};

/// UTC unless the text has an offset.
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

fn row(messages: u64, unpriced: u64) -> ReportRow {
    ReportRow {
        key: String::new(),
        messages,
        unattributed: 0,
        usage: TokenUsage::default(),
        unattributed_tokens: 0,
        cost: Money::from_dollars(0.5),
        unpriced,
        estimated: 0,
        incomplete: 0,
        uncounted: 0,
        estimated_tokens: 0,
        reported: ReportedCosts::default(),
    }
}

/// COG-16.
#[test]
fn a_cost_says_what_it_is_without() {
    let words = |row: &ReportRow| format!("{}{}", cost(row), left_out(row));
    assert_eq!(
        [row(3, 0), row(3, 2), row(3, 3)].map(|row| words(&row)),
        [
            "$0.5000",
            "$0.5000 without 2 messages whose price is unknown",
            "unknown"
        ]
    );
}

/// COG-14, C-18: a difference matters from one cent and 1 % of the computed cost.
#[test]
fn a_difference_to_what_is_reported_is_told() {
    let told = |cost: f64, compared: f64, computed: f64| {
        let reported = ReportedCosts {
            calls: 2,
            cost: Money::from_dollars(cost),
            compared_calls: u64::from(compared > 0.0),
            compared: Money::from_dollars(compared),
            computed: Money::from_dollars(computed),
        };
        let row = ReportRow {
            reported,
            ..row(3, 0)
        };
        let json = row_json(&row);
        let difference = json["reportedDifferenceUsd"].as_f64();
        (
            reported_difference(&row).is_some(),
            json["reportedCostUsd"].as_f64(),
            difference.map(|dollars| format!("{dollars:.4}")),
        )
    };
    let expected = |line, cost, difference: &str| (line, Some(cost), Some(difference.to_owned()));
    assert_eq!(told(0.5, 0.4, 0.4), expected(false, 0.5, "0.0000"));
    assert_eq!(told(0.5, 0.409, 0.4), expected(false, 0.5, "0.0090"));
    assert_eq!(told(0.5, 0.41, 0.4), expected(true, 0.5, "0.0100"));
    assert_eq!(told(5.0, 4.039, 4.0), expected(false, 5.0, "0.0390"));
    assert_eq!(told(5.0, 3.96, 4.0), expected(true, 5.0, "-0.0400"));
    assert_eq!(told(0.5, 0.0, 0.0), (false, Some(0.5), None));
    let nothing = row_json(&row(3, 0));
    assert!(nothing["reportedCostUsd"].is_null() && nothing["reportedDifferenceUsd"].is_null());
    let other = ReportRow {
        reported: ReportedCosts {
            calls: 1,
            cost: Money::from_dollars(1.25),
            compared_calls: 1,
            compared: Money::from_dollars(1.25),
            computed: Money::from_dollars(0.5),
        },
        ..row(3, 0)
    };
    assert_eq!(
        reported_difference(&other).as_deref(),
        Some(
            "the model backends themselves report $1.2500 for calls that cost $0.5000 at these list prices"
        )
    );
}
