//! Tests of wait messages.

use std::time::Duration;

use super::waiting;

#[test]
fn a_wait_says_until_when() {
    let now: jiff::Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
    let check = |seconds: f64, expected: &str| {
        let text = waiting("5-hour window", Duration::from_secs_f64(seconds), now);
        assert_eq!(text, expected);
    };
    check(0.2, "waiting 1 s, 5-hour window");
    check(59.0, "waiting 59 s, 5-hour window");
    let until = now + jiff::SignedDuration::from_mins(7);
    let clock = super::clock(until, now);
    check(420.0, &format!("waiting until {clock}, 5-hour window"));
    assert_eq!(clock.len(), "14:05".len());
}
