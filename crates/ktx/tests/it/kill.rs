//! `kill -9` at every named step; the same command then finishes, and the repository is sound.

use ktx_test_support::sandbox::Sandbox;

use crate::support::{SHOP, git, run, sandbox, unscanned};

fn killed_then_finished(sandbox: &mut Sandbox, command: &str, point: &str, folder: &str) {
    sandbox.set("KTX_TEST_KILL_AT", point);
    let killed = run(sandbox, command);
    assert_eq!(
        killed.code, None,
        "{point} was not reached by `{command}`: {killed}"
    );
    sandbox.unset("KTX_TEST_KILL_AT");
    let again = run(sandbox, command);
    assert_eq!(again.code, Some(0), "after {point}: {again}");
    sandbox
        .git(folder, &["fsck", "--strict"])
        .expect("a sound repository");
    let status = sandbox
        .git(folder, &["status", "--porcelain"])
        .expect("git works");
    assert_eq!(status, "", "after {point}");
}

#[test]
fn init_finishes_after_a_kill_at_every_step() {
    for point in ["init:begin", "init:files", "init:git", "init:commit"] {
        let mut sandbox = sandbox();
        killed_then_finished(&mut sandbox, "admin init p", point, "p");
        let log = sandbox.git("p", &["log", "--format=%an %s"]).unwrap();
        assert_eq!(log, "Ada Test Initialize ktx project: p\n", "after {point}");
    }
}

#[test]
fn scan_finishes_after_a_kill_at_every_step() {
    for point in ["scan:begin", "scan:computed", "scan:published"] {
        scan_finishes(point);
    }
}

#[test]
fn scan_finishes_after_a_kill_at_every_step_of_its_publication() {
    for point in [
        "publish:before-import",
        "publish:after-import",
        "publish:after-index",
        "publish:between-files",
        "publish:after-files",
    ] {
        scan_finishes(point);
    }
}

fn scan_finishes(point: &str) {
    let mut sandbox = unscanned(SHOP);
    killed_then_finished(&mut sandbox, "scan", point, ".");
    assert_eq!(
        git(&sandbox, &["log", "--format=%s"]),
        "ktx scan: warehouse\nthe shop\nInitialize ktx project: work\n",
        "after {point}"
    );
    assert_eq!(
        run(&sandbox, "sl").stdout,
        "warehouse\tcustomers\tcolumns=4\tmeasures=0\tjoins=2\n\
         warehouse\torders\tcolumns=5\tmeasures=0\tjoins=1\n\
         warehouse\tregions\tcolumns=2\tmeasures=0\tjoins=1\n",
        "after {point}"
    );
}

#[test]
fn locks_of_git_that_a_killed_run_left_are_removed_and_told() {
    for (command, lock) in [("scan", "HEAD.lock"), ("scan", "index.lock")] {
        let mut sandbox = unscanned(SHOP);
        sandbox.set("KTX_TEST_KILL_AT", "publish:after-import");
        assert_eq!(run(&sandbox, command).code, None);
        sandbox.unset("KTX_TEST_KILL_AT");
        std::fs::write(sandbox.work().join(".git").join(lock), "").expect("a lock");
        let again = run(&sandbox, command);
        assert_eq!(again.code, Some(0), "{again}");
        let told = format!("removed git lock `.git/{lock}`, which a killed run had left\n");
        assert!(again.stderr.contains(&told), "{again}");
        assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    }
}
