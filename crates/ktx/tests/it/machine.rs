//! Machine failures: named file, next step, no avoidable cost.

use ktx_test_support::sandbox::Sandbox;
use serde_json::json;

use crate::claude::play;
use crate::claude_pauses::shop_of_twelve;
use crate::support::{git, run, shop, write};

fn project() -> Sandbox {
    let mut sandbox = shop_of_twelve();
    play(&mut sandbox, json!({ "echo": {} }));
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    sandbox
}

fn asked(sandbox: &Sandbox) -> usize {
    let text = std::fs::read_to_string(sandbox.home().join("record.jsonl"));
    text.unwrap_or_default().lines().count()
}

/// Damages the middle, like a crash.
fn damage(sandbox: &Sandbox) {
    let file = sandbox.work().join(".ktx/state/ktx.sqlite");
    std::fs::write(file, "no database at all, ".repeat(1000)).unwrap();
}

#[test]
fn a_damaged_database_is_told_before_anything_is_paid() {
    let sandbox = project();
    damage(&sandbox);
    check!(&sandbox, "ingest", @r"
exit 1
--- stderr
Project: [SANDBOX]/work
error: the local database `.ktx/state/ktx.sqlite` cannot be used
  caused by: the file is damaged, or it is not a database

hint: move that file away: ktx makes a new one; then run the command again
hint: ktx may ask again for descriptions that were stored in it
");
    assert_eq!(asked(&sandbox), 0);
    std::fs::remove_file(sandbox.work().join(".ktx/state/ktx.sqlite")).unwrap();
    let printed = run(&sandbox, "ingest");
    assert_eq!(printed.code, Some(0), "{printed}");
}

#[test]
fn status_looks_at_the_local_state() {
    let sandbox = shop();
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    damage(&sandbox);
    check!(&sandbox, "status", @r"
exit 1
Project      [SANDBOX]/work
Verdict      partial (the local database `.ktx/state/ktx.sqlite` cannot be used)
Config       ✓ valid
Model        · none · no model is configured; scanning, searching, querying and serving need none
Connections  ✓ warehouse (sqlite) · configured
Local state  ✗ the local database `.ktx/state/ktx.sqlite` cannot be used: the file is damaged, or it is not a database
Can          query yes · scan no · search yes · serve yes · ingest no
Local data   warehouse: 1 source file, 1 manifest shard
Next         move that file away: ktx makes a new one; then run the command again
");
}

#[test]
fn what_git_lacks_is_told_before_anything_is_paid() {
    let sandbox = project();
    git(&sandbox, &["checkout", "-q", "--detach"]);
    check!(&sandbox, "ingest", @r"
exit 1
--- stderr
Project: [SANDBOX]/work
error: git has a detached HEAD: there is no branch to commit to

hint: check out a branch, then run the command again
");
    git(&sandbox, &["checkout", "-q", "-"]);
    let mut sandbox = sandbox;
    sandbox.set("PATH", "/nonexistent");
    check!(&sandbox, "ingest", @r"
exit 1
--- stderr
Project: [SANDBOX]/work
error: `git` is not installed

hint: install git and put it on `PATH`
");
    assert_eq!(asked(&sandbox), 0);
}

#[test]
fn locks_of_git_are_told_before_anything_is_paid() {
    let sandbox = project();
    let branch = git(&sandbox, &["symbolic-ref", "HEAD"]);
    for lock in ["index".to_owned(), branch.trim().to_owned()] {
        let lock = format!(".git/{lock}.lock");
        write(&sandbox, &lock, "");
        let printed = run(&sandbox, "ingest");
        let told = format!("error: git lock `{lock}` exists");
        assert!(
            printed.code == Some(1) && printed.stderr.contains(&told),
            "{printed}"
        );
        assert_eq!(asked(&sandbox), 0);
        std::fs::remove_file(sandbox.work().join(lock)).unwrap();
    }
    assert_eq!(run(&sandbox, "ingest").code, Some(0));
}

#[test]
fn a_lock_that_git_left_is_named() {
    let sandbox = shop();
    let branch = git(&sandbox, &["symbolic-ref", "HEAD"]);
    let lock = format!(".git/{}.lock", branch.trim());
    write(&sandbox, &lock, "");
    let printed = run(&sandbox, "scan --dry-run");
    assert_eq!(printed.code, Some(0), "{printed}");
    crate::support::database(
        &sandbox,
        "warehouse.db",
        "CREATE TABLE extra (id INTEGER PRIMARY KEY)",
    );
    let printed = run(&sandbox, "scan");
    assert_eq!(printed.code, Some(1), "{printed}");
    let told = format!(
        "error: git lock `{lock}` exists: another git is running, or a crashed one left it\n\n\
         hint: wait until the other git has ended, or remove `{lock}` when no git runs in this \
         repository; then run the command again\n"
    );
    assert!(printed.stderr.ends_with(&told), "{printed}");
}

#[test]
fn a_damaged_ledger_is_told_before_anything_is_paid() {
    let sandbox = project();
    let path = ".ktx/state/usage.sqlite";
    write(&sandbox, path, &"no database at all, ".repeat(1000));
    check!(&sandbox, "ingest", @r"
exit 1
--- stderr
Project: [SANDBOX]/work
error: `.ktx/state/usage.sqlite` cannot be used
  caused by: the file is damaged, or it is not a database

hint: move that file away: ktx makes a new one; then run the command again
hint: it holds the usage so far: keep the file
");
    assert_eq!(asked(&sandbox), 0);
    let status = run(&sandbox, "status");
    assert!(
        status.code == Some(1)
            && status.stdout.contains(
                "Local state  ✗ `.ktx/state/usage.sqlite` cannot be used: the file is damaged"
            ),
        "{status}"
    );
    std::fs::remove_file(sandbox.work().join(path)).unwrap();
    assert_eq!(run(&sandbox, "ingest").code, Some(0));
}

/// Reports the loss until a rebuild.
#[test]
fn status_looks_at_files_that_are_made_anew() {
    let sandbox = shop();
    assert_eq!(run(&sandbox, "wiki revenue").code, Some(0));
    let names = [
        "rate-limits.json",
        "claude-code/limits.json",
        "search.sqlite",
    ];
    for name in names {
        write(
            &sandbox,
            &format!(".ktx/state/{name}"),
            &"no database, no JSON".repeat(100),
        );
    }
    let status = crate::support::json(&sandbox, "status --json");
    let warnings = status["warnings"].as_array().unwrap();
    let told: Vec<&str> = warnings
        .iter()
        .filter_map(|warning| warning["message"].as_str())
        .collect();
    let limits = "is damaged: the known limits of the model's account are lost";
    assert_eq!(
        told,
        [
            format!("`.ktx/state/rate-limits.json` {limits}"),
            format!("`.ktx/state/claude-code/limits.json` {limits}"),
            "`.ktx/state/search.sqlite` is damaged: the next search rebuilds the index".to_owned(),
        ]
    );
    for name in names {
        std::fs::remove_file(sandbox.work().join(".ktx/state").join(name)).unwrap();
    }
    assert_eq!(
        crate::support::json(&sandbox, "status --json")["warnings"],
        json!([])
    );
}

#[test]
fn a_damaged_ledger_is_told_by_its_file() {
    let sandbox = shop();
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    write(
        &sandbox,
        ".ktx/state/usage.sqlite",
        &"no database at all, ".repeat(1000),
    );
    check!(&sandbox, "usage", @r"
exit 1
--- stderr
Project: [SANDBOX]/work
error: `.ktx/state/usage.sqlite` cannot be used
  caused by: the usage ledger cannot be opened
  caused by: the file is damaged, or it is not a database

hint: move that file away: ktx makes a new one; then run the command again
");
}
