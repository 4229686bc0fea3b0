//! Runs of the engine over real git repositories, with a scripted model.
#![expect(clippy::expect_used, reason = "helpers of tests fail the test")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests play the user, who writes files, and read the clock"
)]

mod documents;
mod git_processes;
mod journal;
mod kills;
mod manifests;
mod notes;
mod units;
mod verdicts;
mod world;
