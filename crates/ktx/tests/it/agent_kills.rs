//! Killed processes of sessions, and concurrent use of a session.

use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop, streamed};
use crate::claude::play;
use crate::probes::configured;
use crate::sessions::check_history;
use crate::support::{commit, json as json_of, run, words, write};

const MARKER: &str = "name: marker
instructions: {inline: Mark the file.}
workspace: {root: ../marks, write: true}
tools: []
permissions: {mode: approval, allow: []}
";

const STAGES: [&str; 8] = [
    "PRE_MODEL",
    "STREAMING_MODEL",
    "TOOL_PENDING",
    "AWAITING_APPROVAL",
    "PRE_TOOL",
    "TOOL_EXECUTING",
    "POST_TOOL",
    "READY",
];

fn call(file: &str) -> Value {
    json!({ "name": "file_write", "input": { "path": file, "content": "x" } })
}

fn begun(sandbox: &Sandbox, session: &str) -> usize {
    let log = format!(".ktx/state/agents/sessions/{session}/log.jsonl");
    let log = sandbox.read(&log).expect("the log");
    let records = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let begun = records.filter(|record| {
        let event = &record["event"];
        event["type"] == "call" && event["name"] == "file_write" && event["state"] == "EXECUTING"
    });
    begun.count()
}

fn with_marker(sandbox: &Sandbox) {
    write(sandbox, "agents/marker.yaml", MARKER);
    let quick = MARKER
        .replace("marker", "quick")
        .replace("approval", "auto");
    write(sandbox, "agents/quick.yaml", &quick);
    write(sandbox, "marks/README.md", "Marks\n");
    commit(sandbox, "an agent that marks");
}

/// Accepts only whole histories. An interrupted call must not be repeated.
fn provider() -> Loopback {
    Loopback::start(|request: &Request, _| {
        let asked = request.json();
        check_history(&asked);
        let messages = asked["messages"].as_array().expect("messages");
        let file = messages
            .iter()
            .find_map(|message| {
                let text = message["content"][0]["text"].as_str()?;
                text.strip_prefix("Mark ").map(str::to_owned)
            })
            .expect("a question");
        let block = if messages.len() == 1 {
            let mut call = call(&file);
            call["type"] = json!("tool_use");
            call["id"] = json!("t1");
            call
        } else {
            json!({ "type": "text", "text": "It is marked." })
        };
        Answer::stream(streamed(messages.len(), &block))
    })
    .expect("a provider")
}

fn with_claude() -> Sandbox {
    let mut sandbox = shop(CONFIG);
    with_marker(&sandbox);
    let done = json!({ "text": "It is marked." });
    play(
        &mut sandbox,
        json!({
            "steps": [{ "text": "ok" }],
            "when": [
                { "prompt_contains": "[called the tool file_write", "steps": [done] },
                { "prompt_contains": "Mark mark.txt", "steps": [{ "tools": [call("mark.txt")] }, done] },
            ],
        }),
    );
    sandbox
}

fn next_line(sandbox: &Sandbox, agent: &str, session: &str, file: &str) -> String {
    let shown = run(sandbox, &format!("agent sessions show {session} --json"));
    // 3 means no session; an existing one is always readable.
    assert!([Some(0), Some(3)].contains(&shown.code), "{shown}");
    if shown.code == Some(0) && shown.stdout.contains("\"user\"") {
        return format!("agent sessions resume {session} --on-ask park");
    }
    format!("agent run --agent {agent} --session {session} --create --on-ask park -m 'Mark {file}'")
}

/// Continues until the turn has an answer; returns the number of kills.
fn work(sandbox: &mut Sandbox, agent: &str, session: &str, file: &str, kill_at: &str) -> usize {
    sandbox.set("KTX_TEST_KILL_AT", kill_at);
    let mut killed = 0;
    let mut line = next_line(sandbox, agent, session, file);
    for _ in 0..8 {
        let told = run(sandbox, &line);
        match told.code {
            Some(0) => return killed,
            Some(7) => {
                let decided = run(sandbox, &format!("agent decide {session} call-1 allow"));
                if decided.code.is_none() {
                    killed += 1;
                    sandbox.unset("KTX_TEST_KILL_AT");
                }
            }
            None => {
                killed += 1;
                sandbox.unset("KTX_TEST_KILL_AT");
            }
            // Killed before the question was kept.
            Some(_) if told.stderr.contains("has no question") => {}
            Some(2) if told.stderr.contains("the last turn has its answer") => return killed,
            Some(_) => panic!("{told}"),
        }
        line = next_line(sandbox, agent, session, file);
    }
    panic!("the turn of `{session}` has no end");
}

/// KODE-50…53: at each stage, on both kinds of backend.
#[test]
fn a_kill_at_any_stage_runs_no_call_twice() {
    let provider = provider();
    let http = configured(shop(CONFIG), &provider, "");
    with_marker(&http);
    for (backend, mut sandbox) in [("http", http), ("claude", with_claude())] {
        let mut kills = 0;
        for stage in STAGES {
            for side in ["before-", ""] {
                std::fs::remove_file(sandbox.work().join("marks/mark.txt")).unwrap_or_default();
                let session = format!("s-{side}{}", stage.to_lowercase().replace('_', "-"));
                let kill_at = format!("{side}session:{stage}");
                let agent = if stage == "AWAITING_APPROVAL" {
                    "marker"
                } else {
                    "quick"
                };
                kills += work(&mut sandbox, agent, &session, "mark.txt", &kill_at);
                sandbox.unset("KTX_TEST_KILL_AT");
                let is_marked = sandbox.read("marks/mark.txt").is_ok();
                let shown = json_of(&sandbox, &format!("agent sessions show {session} --json"));
                let place = format!("{backend} {kill_at}: {shown:#}");
                assert_eq!(shown["state"], "ready", "{place}");
                let begun = begun(&sandbox, &session);
                match shown["calls"][0]["state"].as_str() {
                    Some("COMPLETED") => assert!(begun == 1 && is_marked, "{place}"),
                    Some("SEALED") => assert!(begun <= 1, "{place}"),
                    None => assert!(begun == 0, "{place}"),
                    _ => panic!("{place}"),
                }
            }
        }
        assert_eq!(kills, 2 * STAGES.len(), "{backend}");
    }
}

fn random(state: &AtomicU64) -> u64 {
    let next = |seed: u64| {
        seed.wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407)
    };
    let before = state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |seed| {
        Some(next(seed))
    });
    next(before.unwrap_or_default()) >> 33
}

fn killed_after(sandbox: &Sandbox, line: &str, wait: Duration) {
    let mut command = sandbox.command(words(line));
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("it starts");
    std::thread::sleep(wait);
    child.kill().unwrap_or_default();
    drop(child.wait());
}

/// `KTX_TEST_KILLS=1000` asks for more.
const KILLS: u64 = 100;

const KILLS_A_SESSION: u64 = 4;

const LANES: u64 = 3;

pub(crate) fn number(variable: &str) -> Option<u64> {
    let text = std::env::var_os(variable)?;
    text.into_string().ok()?.parse().ok()
}

fn killed_session(sandbox: &mut Sandbox, number: u64, dice: &AtomicU64) {
    let file = format!("mark-{number}.txt");
    let session = format!("moment-{number}");
    let agent = if number.is_multiple_of(2) {
        "marker"
    } else {
        "quick"
    };
    for _ in 0..KILLS_A_SESSION {
        let line = next_line(sandbox, agent, &session, &file);
        let wait = Duration::from_micros(random(dice) % 250_000);
        killed_after(sandbox, &line, wait);
    }
    work(sandbox, agent, &session, &file, "");
    assert!(begun(sandbox, &session) <= 1, "{session}");
}

/// KODE-50, KODE-53: the call runs at most once. `KTX_TEST_SEED` repeats the moments of a run.
#[test]
fn a_kill_at_any_moment_loses_nothing() {
    let seed = number("KTX_TEST_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("KTX_TEST_SEED={seed}");
    let sessions = number("KTX_TEST_KILLS").unwrap_or(KILLS) / KILLS_A_SESSION;
    let provider = provider();
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let provider = &provider;
            scope.spawn(move || {
                let mut sandbox = configured(shop(CONFIG), provider, "");
                with_marker(&sandbox);
                let dice = AtomicU64::new(seed + lane);
                for number in (lane..sessions).filter(|number| number % LANES == lane) {
                    killed_session(&mut sandbox, number, &dice);
                }
            });
        }
    });
}
