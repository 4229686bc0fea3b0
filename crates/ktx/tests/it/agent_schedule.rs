//! Scheduled questions.

use std::process::Stdio;

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop, streamed};
use crate::probes::configured;
use crate::support::{commit, json as json_of, run, write};

const REPORTER: &str = "name: reporter
instructions: {inline: Report.}
tools: [wiki_search]
permissions: {mode: approval, allow: []}
schedule:
  - {name: morning, cron: '0 6 * * 1-5', timezone: Europe/Berlin, message: What changed?, within: 26h}
  - {name: often, every_minutes: 30, message: Is all well?, catch_up: never, limits: {max_turns: 3}}
  - {name: review, cron: '30 6 * * *', message: Search., on_ask: park}
";

fn provider() -> Loopback {
    Loopback::start(|request: &Request, number| {
        let asked = request.json();
        let messages = asked["messages"].as_array().map_or(0, Vec::len);
        let block = if messages == 1 && asked.to_string().contains("Search.") {
            json!({ "type": "tool_use", "id": "t1", "name": "wiki_search", "input": { "query": "revenue" } })
        } else {
            json!({ "type": "text", "text": "Nothing changed." })
        };
        Answer::stream(streamed(number, &block))
    })
    .expect("a provider")
}

fn project(provider: &Loopback) -> Sandbox {
    let sandbox = configured(shop(CONFIG), provider, "");
    write(&sandbox, "agents/reporter.yaml", REPORTER);
    commit(&sandbox, "an agent with a schedule");
    sandbox
}

/// KODE-66: entries count from first sight; one catch-up, other missed runs are recorded.
#[test]
fn questions_are_asked_at_their_times() {
    let provider = provider();
    let mut sandbox = project(&provider);
    let mut at = |time: &str| sandbox.set("KTX_TEST_NOW", time);
    at("2026-11-23T04:50:00Z");
    check!(&sandbox, "agent tick", @"
    exit 0
    --- stderr
    Project: [SANDBOX]/work
    nothing is due
    ");
    check!(&sandbox, "agent schedule list", @"
    exit 0
    agent	name	when	next	last session	skipped
    reporter	morning	0 6 * * 1-5 (Europe/Berlin)	[TIME]	-	0
    reporter	often	every 30 minutes	[TIME]	-	0
    reporter	review	30 6 * * * (UTC)	[TIME]	-	0
    --- stderr
    Project: [SANDBOX]/work
    ");
    let mut at = |time: &str| sandbox.set("KTX_TEST_NOW", time);
    at("2026-11-23T05:01:00Z");
    check!(&sandbox, "agent tick", @"
    exit 0
    agent	name	scheduled	session	state
    reporter	morning	[TIME]	sched-reporter-morning-20261123t0500	answered
    reporter	often	[TIME]	sched-reporter-often-20261123t0500	answered
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "agent tick", @"
    exit 0
    --- stderr
    Project: [SANDBOX]/work
    nothing is due
    ");
    let mut at = |time: &str| sandbox.set("KTX_TEST_NOW", time);
    at("2026-11-25T06:40:00Z");
    check!(&sandbox, "agent tick", @"
    exit 7
    agent	name	scheduled	session	state
    reporter	morning	[TIME]	sched-reporter-morning-20261125t0500	answered
    reporter	review	[TIME]	sched-reporter-review-20261125t0630	parked
    --- stderr
    Project: [SANDBOX]/work
    reporter/morning: 1 skipped (missed)
    reporter/often: 99 skipped (missed)
    reporter/review: 2 skipped (missed)
    ");
    check!(&sandbox, "agent schedule list", @"
    exit 0
    agent	name	when	next	last session	skipped
    reporter	morning	0 6 * * 1-5 (Europe/Berlin)	[TIME]	sched-reporter-morning-20261125t0500	1
    reporter	often	every 30 minutes	[TIME]	sched-reporter-often-20261123t0500	99
    reporter	review	30 6 * * * (UTC)	[TIME]	sched-reporter-review-20261125t0630	2
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "agent approvals", @r#"
    exit 0
    session	call	tool	arguments	asked	expires
    sched-reporter-review-20261125t0630	call-1	wiki_search	{"query":"revenue"}	[TIME]	never
    --- stderr
    Project: [SANDBOX]/work
    "#);
    let events = run(
        &sandbox,
        "agent sessions events sched-reporter-morning-20261123t0500 --channels monitor",
    );
    let first: Value =
        serde_json::from_str(events.stdout.lines().next().expect("an event")).expect("JSON");
    insta::assert_snapshot!(first["event"], @r#"{"type":"scheduler_triggered","task_id":"reporter/morning","spec":"0 6 * * 1-5 (Europe/Berlin)","kind":"cron","scheduled":"[TIME]","on_ask":"park"}"#);
}

/// KODE-66.
#[test]
fn two_ticks_ask_once() {
    let provider = provider();
    let mut sandbox = project(&provider);
    sandbox.set("KTX_TEST_NOW", "2026-11-23T04:50:00Z");
    run(&sandbox, "agent tick");
    sandbox.set("KTX_TEST_NOW", "2026-11-23T05:00:30Z");
    let ticks: Vec<_> = (0..6)
        .map(|_| {
            let mut command = sandbox.command(["agent", "tick", "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("it starts")
        })
        .collect();
    let mut fired = 0;
    for tick in ticks {
        let output = tick.wait_with_output().expect("it ends");
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        fired += answer["data"]["items"].as_array().map_or(0, Vec::len);
    }
    assert_eq!(fired, 2);
    assert_eq!(provider.requests().len(), 2);
    let sessions = json_of(&sandbox, "agent sessions list --json");
    assert_eq!(sessions["data"]["items"].as_array().map(Vec::len), Some(2));
}
