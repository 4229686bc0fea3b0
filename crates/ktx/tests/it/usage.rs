//! `ktx usage` of a time window.

use ktx_test_support::sandbox::Sandbox;
use serde_json::json;

use crate::probes::{project, provider};
use crate::support::{json as answer, run};

fn used_at(moment: &str) -> Sandbox {
    let provider = provider();
    let sandbox = project(&provider);
    assert_eq!(run(&sandbox, "llm probe").code, Some(0));
    let file = sandbox.work().join(".ktx/state/usage.sqlite");
    let ledger = rusqlite::Connection::open(file).unwrap();
    let changed = ledger
        .execute("UPDATE usage_facts SET recorded_at = ?1", [moment])
        .unwrap();
    assert_eq!(changed, 1);
    sandbox
}

/// To the second, with any offset.
#[test]
fn a_window_begins_at_a_moment() {
    for moment in ["2026-11-22T10:30:00Z", "2026-11-22T10:30:00.5Z"] {
        let sandbox = used_at(moment);
        for (since, expected) in [
            ("2026-11-22", 1),
            ("2026-11-23", 0),
            ("2026-11-22T10:30", 1),
            ("2026-11-22T10:30:00Z", 1),
            ("2026-11-22T10:30:01Z", 0),
            ("'2026-11-22 10:30:00Z'", 1),
            ("2026-11-22T12:30:00+02:00", 1),
            ("2026-11-22T12:30:01+02:00", 0),
            ("'2026-11-22 05:30:00-05:00'", 1),
            ("2026-11-22T05:31:00-05:00", 0),
            ("2026-11-23T00:30:00+14:00", 1),
        ] {
            let found = answer(&sandbox, &format!("usage --json --since {since}"));
            let messages = &found["data"]["total"]["messages"];
            assert_eq!(messages, &json!(expected), "{moment} since {since}");
        }
    }
}

#[test]
fn what_is_no_date_is_refused() {
    let provider = provider();
    let sandbox = project(&provider);
    check!(&sandbox, "usage --since 2026-02-30T09:00", @r"
exit 2
--- stderr
Project: [SANDBOX]/work
error: `2026-02-30T09:00` is not a date

hint: use `2026-01-31`, `2026-01-31T09:30+02:00`, or a number of days such as `7d`
");
}
