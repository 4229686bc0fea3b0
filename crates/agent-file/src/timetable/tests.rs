//! Moments of schedules.

use insta::assert_snapshot;

use super::*;
use crate::model::{CatchUp, OnAsk};

fn entry(timing: Timing, zone: &str) -> Schedule {
    Schedule {
        name: "morning".to_owned(),
        timing,
        timezone: zone.to_owned(),
        message: "What changed?".to_owned(),
        catch_up: CatchUp::Once,
        within: 86_400,
        on_ask: OnAsk::Park,
        limits: None,
    }
}

fn firings(timing: Timing, zone: &str, after: &str, until: &str) -> String {
    let moments = entry(timing, zone).firings(after.parse().unwrap(), until.parse().unwrap());
    let zone = TimeZone::get(zone).unwrap();
    let shown = moments
        .iter()
        .map(|moment| moment.to_zoned(zone.clone()).to_string());
    shown.collect::<Vec<String>>().join("\n")
}

fn cron(fields: &str, zone: &str, after: &str, until: &str) -> String {
    firings(Timing::Cron(fields.to_owned()), zone, after, until)
}

/// KODE-66.
#[test]
fn cron_names_moments() {
    let week = |fields| {
        cron(
            fields,
            "UTC",
            "2026-11-22T00:00:00Z",
            "2026-11-29T00:00:00Z",
        )
    };
    assert_snapshot!(week("0 6 * * 1-5"), @"
    2026-11-23T06:00:00+00:00[UTC]
    2026-11-24T06:00:00+00:00[UTC]
    2026-11-25T06:00:00+00:00[UTC]
    2026-11-26T06:00:00+00:00[UTC]
    2026-11-27T06:00:00+00:00[UTC]
    ");
    assert_snapshot!(week("30,0 6/9 24 11 *"), @"
    2026-11-24T06:00:00+00:00[UTC]
    2026-11-24T06:30:00+00:00[UTC]
    2026-11-24T15:00:00+00:00[UTC]
    2026-11-24T15:30:00+00:00[UTC]
    ");
    assert_snapshot!(week("0 0 25 * sun"), @"
    2026-11-25T00:00:00+00:00[UTC]
    2026-11-29T00:00:00+00:00[UTC]
    ");
    assert_snapshot!(week("15 4"), @"
    2026-11-22T04:15:00+00:00[UTC]
    2026-11-23T04:15:00+00:00[UTC]
    2026-11-24T04:15:00+00:00[UTC]
    2026-11-25T04:15:00+00:00[UTC]
    2026-11-26T04:15:00+00:00[UTC]
    2026-11-27T04:15:00+00:00[UTC]
    2026-11-28T04:15:00+00:00[UTC]
    ");
    assert_snapshot!(week("0 0 31 2 *"), @"");
}

/// The start of a span is excluded; the end is included.
#[test]
fn spans_meet_without_a_hole() {
    let span = |after, until| cron("0 6 * * *", "UTC", after, until);
    assert_snapshot!(span("2026-11-22T05:59:59Z", "2026-11-22T06:00:00Z"), @"2026-11-22T06:00:00+00:00[UTC]");
    assert_snapshot!(span("2026-11-22T06:00:00Z", "2026-11-23T05:59:59Z"), @"");
}

/// KODE-66.
#[test]
fn changes_of_the_clock_lose_and_double_nothing() {
    let spring = |fields| {
        let (after, until) = ("2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z");
        cron(fields, "Europe/Berlin", after, until)
    };
    assert_snapshot!(spring("30 2 * * *"), @"2026-03-29T03:00:00+02:00[Europe/Berlin]");
    assert_snapshot!(spring("*/20 2 * * *"), @"2026-03-29T03:00:00+02:00[Europe/Berlin]");
    let autumn = |fields| {
        let (after, until) = ("2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z");
        cron(fields, "Europe/Berlin", after, until)
    };
    assert_snapshot!(autumn("30 2 * * *"), @"2026-10-25T02:30:00+02:00[Europe/Berlin]");
    // The clock changes at midnight.
    let midnight = cron(
        "0 0 * * *",
        "Africa/Cairo",
        "2026-04-23T12:00:00Z",
        "2026-04-25T12:00:00Z",
    );
    assert_snapshot!(midnight, @"
    2026-04-24T01:00:00+03:00[Africa/Cairo]
    2026-04-25T00:00:00+03:00[Africa/Cairo]
    ");
}

/// KODE-66: minutes count from 1970, so no record of the last run is needed.
#[test]
fn every_minutes_needs_no_anchor() {
    let all = firings(
        Timing::EveryMinutes(20),
        "UTC",
        "2026-11-22T05:50:00Z",
        "2026-11-22T06:40:00Z",
    );
    assert_snapshot!(all, @"
    2026-11-22T06:00:00+00:00[UTC]
    2026-11-22T06:20:00+00:00[UTC]
    2026-11-22T06:40:00+00:00[UTC]
    ");
}

#[test]
fn the_next_moment_may_be_far() {
    let next = |fields: &str| {
        let entry = entry(Timing::Cron(fields.to_owned()), "Europe/Berlin");
        entry
            .next("2026-11-22T05:50:00Z".parse().unwrap())
            .map(|it| it.to_string())
    };
    assert_eq!(next("0 7 * * *").as_deref(), Some("2026-11-22T06:00:00Z"));
    assert_eq!(next("0 12 1 6 *").as_deref(), Some("2027-06-01T10:00:00Z"));
    assert_eq!(next("0 0 31 2 *"), None);
}
