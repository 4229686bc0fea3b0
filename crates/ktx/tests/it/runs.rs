//! `ktx runs`: what ran on this machine.

use crate::support::{run, shop};

#[test]
fn runs_are_listed_and_shown() {
    let sandbox = shop();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "[TIME]");
    settings.add_filter(r"\b\d+ s\b", "[SECONDS]");
    let _bound = settings.bind_to_scope();
    check!(&sandbox, "runs", @"
    exit 0
    run	command	status	started	took	calls	cost
    [UUID]	ktx scan	done	[TIME]	[SECONDS]	0	-
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "runs show", @"
    exit 0
    ktx scan [UUID]: done
    started [TIME], ended [TIME] after [SECONDS]
    --- stderr
    Project: [SANDBOX]/work
    the run asked no model
    ");
    check!(&sandbox, "runs show unknown", @"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: no run begins with `unknown`

    hint: `ktx runs list` lists the runs on this machine
    ");
    check!(&sandbox, "runs cancel", @"
    exit 0
    --- stderr
    Project: [SANDBOX]/work
    no run works on the project now
    ");
}

#[test]
fn a_project_without_runs_says_so() {
    let sandbox = crate::support::project();
    assert_eq!(run(&sandbox, "runs list").code, Some(0));
    check!(&sandbox, "runs", @"
    exit 0
    run	command	status	started	took	calls	cost
    --- stderr
    Project: [SANDBOX]/work
    no run yet; `ktx scan` and `ktx ingest` are runs
    ");
}
