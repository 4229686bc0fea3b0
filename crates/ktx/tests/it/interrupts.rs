//! What a command finds out before it pays.

use ktx_test_support::sandbox::Sandbox;
use serde_json::json;

use crate::claude::play;
use crate::claude_pauses::shop_of_twelve;
use crate::support::run;

/// Processes that have ended.
fn asked(sandbox: &Sandbox) -> usize {
    let text = std::fs::read_to_string(sandbox.home().join("record.jsonl"));
    text.unwrap_or_default().lines().count()
}

/// A project that is in use is told before the model is asked for anything.
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
