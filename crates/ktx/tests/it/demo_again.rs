//! `ktx demo` over an earlier demo keeps paid usage, survives kills, and refuses before any cost.

use std::process::Stdio;

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::play;
use crate::claude_cut_off::{all_are_open, bill_lines, hangs, signal};
use crate::support::{json as answer, run, sandbox, write};

fn used(sandbox: &Sandbox) -> (u64, u64) {
    let usage = answer(sandbox, "usage --json --project-dir ktx-demo");
    let total = &usage["data"]["total"];
    let number = |key: &str| total[key].as_u64().unwrap();
    (number("messages"), number("incompleteMessages"))
}

fn names(sandbox: &Sandbox) -> Vec<String> {
    let entries = std::fs::read_dir(sandbox.work()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn paid_for(scenario: &Value) -> (Sandbox, u64) {
    let mut sandbox = sandbox();
    play(&mut sandbox, json!({ "echo": {} }));
    let printed = run(&sandbox, "demo --backend claude-code");
    assert_eq!(printed.code, Some(0), "{printed}");
    write(&sandbox, "ktx-demo/notes/mine.txt", "mine");
    play(&mut sandbox, scenario.clone());
    let before = used(&sandbox).0;
    assert!(before > 1);
    (sandbox, before)
}

#[test]
fn usage_outlives_the_demo() {
    let (sandbox, before) = paid_for(&json!({ "echo": {} }));
    assert_eq!(run(&sandbox, "demo --force").code, Some(0));
    assert_eq!(used(&sandbox), (before, 0));
    let again = run(&sandbox, "demo --force --backend claude-code");
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!(used(&sandbox), (2 * before, 0));
    assert_eq!(names(&sandbox), ["ktx-demo"]);
}

#[test]
fn usage_outlives_a_demo_that_fails() {
    let refused = json!({ "api_error": { "class": "server_error", "status": 500 } });
    let (mut sandbox, before) = paid_for(&json!({ "steps": [{ "text": "ok" }, refused] }));
    let failed = run(&sandbox, "demo --force --backend claude-code");
    assert_eq!(failed.code, Some(5), "{failed}");
    assert_eq!(used(&sandbox), (before + 1, 0));

    hangs(&mut sandbox);
    let child = sandbox
        .command(["demo", "--force", "--backend", "claude-code"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    all_are_open(&sandbox, ("ktx-demo", 2), 1);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let bill = u64::try_from(bill_lines(&sandbox)).unwrap();
    assert_eq!(used(&sandbox), (before + 1 + bill, bill - 2), "{stderr}");
    assert_eq!(sandbox.read("ktx-demo/notes/mine.txt").unwrap(), "mine");
    assert_eq!(names(&sandbox), ["ktx-demo"]);
}

fn killed_at(sandbox: &mut Sandbox, point: &str) {
    sandbox.set("KTX_TEST_KILL_AT", point);
    let killed = run(sandbox, "demo --force");
    assert_eq!(killed.code, None, "{point}: {killed}");
    sandbox.unset("KTX_TEST_KILL_AT");
    assert_eq!(names(sandbox).len(), 2, "{point}");
}

/// The earlier demo comes back when the new one is gone.
#[test]
fn a_demo_that_was_killed_leaves_the_earlier_one() {
    let (mut sandbox, before) = paid_for(&json!({ "echo": {} }));
    killed_at(&mut sandbox, "demo:made");
    let told = run(&sandbox, "demo --dir ktx-demo");
    assert_eq!(told.code, Some(3));
    assert!(
        told.stderr
            .starts_with("a killed `ktx demo` created the folder; the demo before it is in `"),
        "{told}"
    );
    std::fs::remove_dir_all(sandbox.work().join("ktx-demo")).unwrap();
    assert_eq!(run(&sandbox, "demo").code, Some(3));
    assert_eq!(names(&sandbox), ["ktx-demo"]);
    assert_eq!(sandbox.read("ktx-demo/notes/mine.txt").unwrap(), "mine");
    assert_eq!(used(&sandbox), (before, 0));
}

#[test]
fn a_killed_demo_is_made_anew() {
    let (mut sandbox, before) = paid_for(&json!({ "echo": {} }));
    killed_at(&mut sandbox, "demo:made");
    killed_at(&mut sandbox, "demo:made");
    let aside = sandbox.work().join(&names(&sandbox)[0]);
    assert!(aside.join("notes/mine.txt").is_file());
    assert_eq!(run(&sandbox, "demo --force").code, Some(0));
    assert_eq!((names(&sandbox).len(), used(&sandbox)), (1, (before, 0)));
}

/// The earlier demo is removed, its usage stays.
#[test]
fn a_demo_that_was_killed_at_its_end_is_whole() {
    let (mut sandbox, before) = paid_for(&json!({ "echo": {} }));
    killed_at(&mut sandbox, "demo:whole");
    assert_eq!(run(&sandbox, "demo").code, Some(3));
    assert_eq!((names(&sandbox).len(), used(&sandbox)), (1, (before, 0)));
}

#[test]
fn a_demo_inside_a_repository_is_refused_before_anything_is_paid_for() {
    let mut sandbox = sandbox();
    play(&mut sandbox, json!({ "echo": {} }));
    sandbox.git(".", &["init", "--quiet"]).unwrap();
    write(&sandbox, "mine.txt", "mine");
    sandbox.git(".", &["add", "mine.txt"]).unwrap();
    sandbox
        .git(".", &["commit", "--quiet", "--message", "mine"])
        .unwrap();
    assert_eq!(run(&sandbox, "demo").code, Some(0));
    let refused = "exit 3
--- stderr
error: `[SANDBOX]/work/ktx-demo` is part of the git repository around it, whose last commit has files there

hint: name a folder with `--dir` that the repository does not have
hint: or remove the folder, commit that, and run the same command again
";
    crate::support::check(&sandbox, "demo --force --backend claude-code", refused);
    std::fs::remove_dir_all(sandbox.work().join("ktx-demo")).unwrap();
    crate::support::check(&sandbox, "demo --backend claude-code", refused);
    assert!(!sandbox.home().join("record.jsonl").exists());
    sandbox
        .git(".", &["commit", "--quiet", "--all", "--message", "gone"])
        .unwrap();
    let printed = run(&sandbox, "demo --backend claude-code");
    assert_eq!(printed.code, Some(0), "{printed}");
}

#[test]
fn a_demo_that_was_killed_at_its_begin_is_made_anew() {
    let mut sandbox = sandbox();
    sandbox.set("KTX_TEST_KILL_AT", "demo:folder");
    assert_eq!(run(&sandbox, "demo").code, None);
    sandbox.unset("KTX_TEST_KILL_AT");
    assert_eq!(run(&sandbox, "demo").code, Some(0));
    write(&sandbox, "ktx-demo/notes/mine.txt", "mine");
    killed_at(&mut sandbox, "demo:folder");
    let refused = run(&sandbox, "demo");
    assert_eq!(refused.code, Some(3), "{refused}");
    assert_eq!(sandbox.read("ktx-demo/notes/mine.txt").unwrap(), "mine");
    assert_eq!(names(&sandbox), ["ktx-demo"]);
}

/// A closed pipe undoes nothing. An unreadable ledger is reported first.
#[test]
fn a_demo_stays_though_nobody_reads_about_it() {
    let sandbox = sandbox();
    assert_eq!(run(&sandbox, "demo").code, Some(0));
    write(&sandbox, "ktx-demo/notes/mine.txt", "mine");
    let ledger = sandbox.work().join("ktx-demo/.ktx/state/usage.sqlite");
    std::fs::write(&ledger, "no database at all").unwrap();
    let refused = run(&sandbox, "demo --force");
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(
        refused
            .stderr
            .contains("the usage of the earlier demo cannot be kept"),
        "{refused}"
    );
    assert_eq!(sandbox.read("ktx-demo/notes/mine.txt").unwrap(), "mine");
    std::fs::remove_file(&ledger).unwrap();
    let mut child = sandbox
        .command(["demo", "--force", "--dir", "ktx-demo/.", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!stderr.contains("is restored"), "{stderr}");
    assert_eq!(names(&sandbox), ["ktx-demo"]);
    assert!(sandbox.read("ktx-demo/notes/mine.txt").is_err());
    assert!(sandbox.read("ktx-demo/ktx.yaml").is_ok());
}
