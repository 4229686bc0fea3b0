//! The command lines of the two runners.

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
