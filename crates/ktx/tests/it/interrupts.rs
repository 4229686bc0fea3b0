//! Signals at any moment, and errors before any cost.

use std::process::{Child, Stdio};
use std::time::Duration;

use ktx_test_support::sandbox::{RunOutput, Sandbox};
use serde_json::json;

use crate::claude::play;
use crate::claude_pauses::shop_of_twelve;
use crate::support::{git, run};

/// `ktx ingest` stops after its probe at the locked database.
fn held() -> (Sandbox, rusqlite::Connection, Child) {
    let mut sandbox = shop_of_twelve();
    play(&mut sandbox, json!({ "echo": {} }));
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let state = sandbox.work().join(".ktx/state/ktx.sqlite");
    let state = rusqlite::Connection::open(state).unwrap();
    state.execute_batch("BEGIN IMMEDIATE").unwrap();
    let child = sandbox
        .command(["ingest"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for _ in 0..600 {
        if asked(&sandbox) > 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(asked(&sandbox), 1, "never probed");
    std::thread::sleep(Duration::from_secs(1));
    (sandbox, state, child)
}

fn asked(sandbox: &Sandbox) -> usize {
    let text = std::fs::read_to_string(sandbox.home().join("record.jsonl"));
    text.unwrap_or_default().lines().count()
}

pub(crate) fn send(signal: &str, child: &Child) {
    let sent = std::process::Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

fn printed(sandbox: &Sandbox, child: Child) -> RunOutput {
    let output = child.wait_with_output().unwrap();
    RunOutput {
        code: output.status.code(),
        stdout: sandbox.filter(&output.stdout),
        stderr: sandbox.filter(&output.stderr),
    }
}

#[test]
fn a_signal_between_two_steps_ends_the_command() {
    for signal in ["-INT", "-TERM"] {
        let (sandbox, state, child) = held();
        send(signal, &child);
        std::thread::sleep(Duration::from_millis(200));
        state.execute_batch("ROLLBACK").unwrap();
        let printed = printed(&sandbox, child);
        assert_eq!(printed.code, Some(130), "{signal}: {printed}");
        let told =
            "error: cancelled\n\nhint: finished work is kept; `ktx ingest` continues from there\n";
        assert!(printed.stderr.ends_with(told), "{printed}");
        let last = git(&sandbox, &["log", "-1", "--format=%s"]);
        assert_eq!((asked(&sandbox), &*last), (1, "ktx scan: warehouse\n"));
    }
}

#[test]
fn a_second_signal_between_two_steps_ends_the_command_at_once() {
    let (sandbox, state, child) = held();
    send("-INT", &child);
    std::thread::sleep(Duration::from_millis(200));
    send("-INT", &child);
    let printed = printed(&sandbox, child);
    state.execute_batch("ROLLBACK").unwrap();
    assert_eq!(printed.code, Some(130), "{printed}");
    assert_eq!(printed.stderr, "Project: [SANDBOX]/work\n");
    let next = run(&sandbox, "scan");
    assert_eq!(next.code, Some(0), "{next}");
}

#[test]
fn a_project_in_use_costs_nothing() {
    let mut sandbox = shop_of_twelve();
    play(&mut sandbox, json!({ "echo": {} }));
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let lock = std::fs::File::open(sandbox.work().join(".ktx/state/lock")).unwrap();
    lock.lock().unwrap();
    let printed = run(&sandbox, "ingest");
    assert_eq!(printed.code, Some(1), "{printed}");
    assert!(
        printed.stderr.contains("error: the project is in use"),
        "{printed}"
    );
    assert_eq!(asked(&sandbox), 0);
    drop(lock);
}
