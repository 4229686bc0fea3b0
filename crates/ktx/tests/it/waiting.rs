//! `--wait`: commands wait for one another.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};

use ktx_test_support::sandbox::Sandbox;

use crate::claude_cut_off::signal;
use crate::support::{CONFIG, SHOP, check, commit, database, git, run, unscanned, write};

/// The file holds another command's lock.
fn held() -> (Sandbox, File) {
    let mut sandbox = unscanned(SHOP);
    sandbox.set("TZ", "UTC");
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let mut lock = File::create(sandbox.work().join(".ktx/state/lock")).expect("the lock");
    lock.lock().expect("nobody holds it");
    let holder = r#"{"pid":4711,"command":"ktx ingest","since":"2026-01-05T03:04:05Z"}"#;
    writeln!(lock, "{holder}").expect("a line");
    (sandbox, lock)
}

fn waiting(
    sandbox: &Sandbox,
    words: &[&str],
) -> (Child, BufReader<std::process::ChildStderr>, String) {
    let mut child = sandbox
        .command(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut stderr = BufReader::new(child.stderr.take().expect("its stderr"));
    let mut said = String::new();
    while !said.contains("waiting") {
        let length = stderr.read_line(&mut said).expect("a line");
        assert!(length > 0, "it did not wait: {said}");
    }
    (child, stderr, said)
}

fn end(
    child: &mut Child,
    stderr: BufReader<std::process::ChildStderr>,
) -> (Option<i32>, Vec<String>) {
    let lines = stderr.lines().map(|line| line.expect("text"));
    let lines = lines.collect();
    (child.wait().expect("an end").code(), lines)
}

const WAITS: &str = "waiting for `ktx ingest` (process 4711, since 2026-01-05 03:04) to end, at most 10m; Ctrl-C ends the wait\n";

#[test]
fn a_command_waits_for_another_one_and_reads_what_that_has_changed() {
    let (sandbox, lock) = held();
    let (mut child, stderr, said) = waiting(&sandbox, &["scan", "--wait"]);
    assert!(said.ends_with(WAITS), "{said}");
    database(
        &sandbox,
        "second.db",
        "CREATE TABLE things (id INTEGER PRIMARY KEY);",
    );
    let second = "  second:\n    driver: sqlite\n    path: second.db\n";
    write(&sandbox, "ktx.yaml", &format!("{CONFIG}{second}"));
    commit(&sandbox, "another connection");
    drop(lock);
    let (code, rest) = end(&mut child, stderr);
    assert_eq!(code, Some(0), "{rest:?}");
    let last = git(&sandbox, &["log", "-1", "--format=%s"]);
    assert_eq!(last, "ktx scan: second\n");
}

/// Only the refusal without the flag names it.
#[test]
fn a_wait_ends_with_the_usual_refusal() {
    let (sandbox, lock) = held();
    let refusal = "
exit 1
--- stderr
Project: [SANDBOX]/work
[WAIT]error: the project is in use by `ktx ingest` (process 4711)

hint: wait until it has ended, then run the command again
";
    let waited = WAITS.replace("10m", "1s");
    check(
        &sandbox,
        "scan --wait=1s",
        &refusal.replace("[WAIT]", &waited),
    );
    let named = format!(
        "{}hint: or add `--wait`, and the command waits for it\n",
        refusal.replace("[WAIT]", "")
    );
    for line in [
        "scan",
        "scan review accept orders",
        "sl fmt",
        "connection rename warehouse other",
    ] {
        check(&sandbox, line, &named);
    }
    drop(lock);
}

#[test]
fn a_wait_for_another_command_can_be_interrupted() {
    let (sandbox, lock) = held();
    let before = git(&sandbox, &["rev-parse", "HEAD"]);
    let (mut child, stderr, _) = waiting(&sandbox, &["scan", "--wait=1h"]);
    signal(&child, "-INT");
    let (code, rest) = end(&mut child, stderr);
    assert_eq!(
        (code, rest),
        (Some(130), vec!["error: cancelled".to_owned()])
    );
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD"]), before);
    drop(lock);
}

#[test]
fn commands_at_the_same_time_end_one_after_another() {
    let sandbox = unscanned(SHOP);
    let scans: Vec<Child> = (0..3)
        .map(|_| {
            let mut scan = sandbox.command(["scan", "--wait=5m"]);
            scan.stdout(Stdio::null()).stderr(Stdio::null());
            scan.spawn().expect("a child")
        })
        .collect();
    for mut scan in scans {
        assert_eq!(scan.wait().expect("an end").code(), Some(0));
    }
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}

#[test]
fn a_duration_needs_its_unit() {
    let sandbox = unscanned(SHOP);
    let printed = run(&sandbox, "ingest --wait=10");
    assert_eq!(printed.code, Some(2), "{printed}");
    assert!(
        printed.stderr.starts_with(
            "error: invalid value '10' for '--wait[=<DURATION>]': give a number with its unit, such as `30s`, `10m` or `1h`\n"
        ),
        "{printed}"
    );
}
