//! Command lines of the runners.

use super::*;

#[track_caller]
fn check(runner: Runner, filters: &[&str], expected: &str) {
    assert_eq!(runner.arguments(filters).join(" "), expected);
}

#[test]
fn runs_the_whole_workspace_unless_a_package_is_chosen() {
    let nextest = Runner::Nextest(Profile::Local);
    check(nextest, &[], "nextest run --locked --workspace");
    check(
        nextest,
        &["guard::"],
        "nextest run --locked --workspace guard::",
    );
    check(
        nextest,
        &["-p", "ktx-scan"],
        "nextest run --locked -p ktx-scan",
    );
    check(
        Runner::Cargo,
        &["guard::"],
        "test --locked --workspace guard::",
    );
}

#[test]
fn uses_the_profile_for_unattended_runs() {
    let nextest = Runner::Nextest(Profile::Unattended);
    check(
        nextest,
        &[],
        "nextest run --locked --profile ci --workspace",
    );
}

#[test]
fn a_build_takes_only_the_packages() {
    let build = |filters: &[&str]| Runner::Nextest(Profile::Local).build(filters).join(" ");
    assert_eq!(
        build(&["--no-fail-fast", "guard::"]),
        "nextest run --locked --workspace --no-run"
    );
    assert_eq!(
        build(&["-p", "ktx-scan", "--package=ktx", "-E", "test(guard)"]),
        "nextest run --locked -p ktx-scan --package=ktx --no-run"
    );
}

#[test]
fn the_number_of_threads_is_the_users_when_it_is_given() {
    let nextest = Runner::Nextest(Profile::Local);
    assert!(nextest.takes_threads(&["-p", "ktx-scan"]));
    for given in ["-j1", "-j", "--test-threads=1", "--no-capture"] {
        assert!(!nextest.takes_threads(&[given]), "{given}");
    }
    assert!(!Runner::Cargo.takes_threads(&[]));
}
