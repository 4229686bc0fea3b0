//! Interrupted messages cost money: the ledger has each once, marked as cut off.

use std::process::{Child, Stdio};
use std::time::Duration;

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::play;
use crate::claude_ledger::{billed, recorded};
use crate::claude_pauses::shop_of;
use crate::support::{json as answer, run};

/// All run at once, so no further message begins.
const TABLES: usize = 3;

/// Answers about tables never end; the probe's does.
pub(crate) fn hangs(sandbox: &mut Sandbox) {
    let long = "An answer that goes on and on. ".repeat(40);
    let scenario = json!({
        "model": "claude-sonnet-4-6", "steps": [{ "text": "ok" }],
        "when": [{ "prompt_contains": "table", "steps": [{ "broken_stream": long }, "hang"] }],
        "bill": sandbox.home().join("bill.jsonl"),
    });
    play(sandbox, scenario);
}

fn hanging(sandbox: &mut Sandbox) -> Child {
    hangs(sandbox);
    let child = sandbox
        .command(["ingest"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    all_are_open(sandbox, (".", 1), TABLES);
    child
}

/// Waits until `least` messages, without probes, are open in the ledger.
pub(crate) fn all_are_open(sandbox: &Sandbox, (project, probes): (&str, usize), least: usize) {
    let file = sandbox.work().join(project).join(".ktx/state/usage.sqlite");
    until("messages are open", || {
        let Ok(database) = rusqlite::Connection::open(&file) else {
            return false;
        };
        let sql = "SELECT count(*) FROM open_messages WHERE output_tokens > 400";
        let open: i64 = database
            .query_row(sql, (), |row| row.get(0))
            .unwrap_or_default();
        let open = usize::try_from(open).unwrap();
        open >= least && open + probes == bill_lines(sandbox)
    });
}

pub(crate) fn bill_lines(sandbox: &Sandbox) -> usize {
    let text = std::fs::read_to_string(sandbox.home().join("bill.jsonl")).unwrap_or_default();
    text.lines().count()
}

pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let mut held = holds();
    for _ in 0..1200 {
        if held {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
        held = holds();
    }
    assert!(held, "never: {what}");
}

pub(crate) fn signal(child: &Child, signal: &str) {
    let sent = std::process::Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Except for the last output of a message, ledger and bill are equal.
fn check(sandbox: &Sandbox) -> Value {
    let usage = answer(sandbox, "usage --json");
    let (bill, ledger) = (billed(sandbox), recorded(sandbox));
    let inputs = |counters: [u64; 5]| counters[..4].to_vec();
    let expected: Vec<_> = bill.iter().map(|(id, paid)| (id, inputs(*paid))).collect();
    let found: Vec<_> = ledger
        .iter()
        .map(|(id, (counters, _))| (id, inputs(*counters)))
        .collect();
    assert_eq!(found, expected);
    for (id, (counters, _)) in &ledger {
        let output = bill[id][4];
        assert!(
            counters[4] <= output && counters[4] + 200 > output,
            "{id}: {counters:?} of {output}"
        );
    }
    let total = &usage["data"]["total"];
    assert_eq!(
        (&total["messages"], &total["incompleteMessages"]),
        (&json!(bill.len()), &json!(bill.len() - 1))
    );
    usage
}

/// COG-14: the next command finds them; a second look changes nothing.
#[test]
fn messages_in_flight_survive_a_kill() {
    let mut sandbox = shop_of(TABLES);
    let mut child = hanging(&mut sandbox);
    let running = answer(&sandbox, "usage --json");
    assert_eq!(running["data"]["total"]["messages"], json!(1));
    signal(&child, "-KILL");
    child.wait().unwrap();
    let usage = check(&sandbox);
    assert_eq!(check(&sandbox), usage);
    let printed = run(&sandbox, "usage");
    let open = bill_lines(&sandbox) - 1;
    assert_eq!(
        printed.stderr,
        format!(
            "Project: [SANDBOX]/work\n{open} messages were cut off; their output is estimated from the part that arrived\n"
        )
    );
    assert!(printed.stdout.contains("\t~$"), "{printed}");
}

fn noted(sandbox: &Sandbox) -> Vec<u32> {
    let folder = sandbox
        .work()
        .join(".ktx/state/claude-code/claude-children");
    let notes = std::fs::read_dir(folder).into_iter().flatten().flatten();
    notes
        .filter_map(|note| note.file_name().to_str()?.split('-').next()?.parse().ok())
        .collect()
}

fn runs(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    !state.is_empty() && !state.starts_with('Z')
}

fn guard_of(parent: u32) -> Option<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.find(|process| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let (name, rest) = stat.rsplit_once(") ").unwrap_or_default();
        let owner = rest.split(' ').nth(1).and_then(|owner| owner.parse().ok());
        name.ends_with("(claude-guard") && owner == Some(parent)
    })
}

/// Includes children whose guard was killed with ktx.
#[test]
fn what_a_killed_run_has_left_ends_with_the_next_command() {
    let mut sandbox = shop_of(TABLES);
    let mut child = hanging(&mut sandbox);
    let guard = guard_of(child.id()).expect("a guard").to_string();
    let killed = std::process::Command::new("kill")
        .args(["-KILL", &guard])
        .status();
    assert!(killed.unwrap().success());
    signal(&child, "-KILL");
    child.wait().unwrap();
    let left = noted(&sandbox);
    assert!(
        left.len() >= TABLES && left.iter().all(|process| runs(*process)),
        "{left:?}"
    );
    let printed = run(&sandbox, "wiki list");
    assert_eq!(printed.code, Some(0), "{printed}");
    until("no process remains", || {
        !left.iter().any(|process| runs(*process))
    });
    assert_eq!(noted(&sandbox), Vec::<u32>::new());
}

/// COG-14, COG-22.
#[test]
fn messages_in_flight_survive_a_second_interrupt() {
    let mut sandbox = shop_of(TABLES);
    let child = hanging(&mut sandbox);
    signal(&child, "-INT");
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    check(&sandbox);
}

/// Reports missing entries; the next command finds the messages.
#[test]
fn a_locked_ledger_holds_up_no_interrupt() {
    let mut sandbox = shop_of(TABLES);
    let child = hanging(&mut sandbox);
    let file = sandbox.work().join(".ktx/state/usage.sqlite");
    let other = rusqlite::Connection::open(file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let told: Vec<&str> = stderr
        .lines()
        .filter(|line| line.contains("usage"))
        .collect();
    let open = bill_lines(&sandbox) - 1;
    let [told] = told.as_slice() else {
        unreachable!("{stderr}")
    };
    assert!(
        told.starts_with(&format!("warning: {open} model messages with "))
            && told.ends_with(" tokens are missing in the usage ledger: the usage ledger cannot be written: another program has locked it (`.ktx/state/usage.sqlite`)"),
        "{stderr}"
    );
    other.execute_batch("COMMIT").unwrap();
    check(&sandbox);
}
