//! Tests of projects in temporary folders with the real git.
#![expect(clippy::expect_used, reason = "helpers of tests fail the test")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests play the user, who writes files and runs git"
)]

mod history;
mod in_the_way;
mod init;
mod kill;
mod older;
mod publish;
mod run_files;
mod world;
