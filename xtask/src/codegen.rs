//! Runs the page generators, which are tests, in write mode.

use anyhow::Result;

use crate::repository::Repository;
use crate::{Mode, Verdict, process, terminal};

/// Runs the tests named `generated` of the `ktx` package.
pub(crate) fn run(repository: &Repository, mode: Mode) -> Result<Verdict> {
    let arguments = ["test", "--locked", "-p", "ktx", "--test", "it", "generated"];
    let mut command = process::cargo(repository, &arguments);
    match mode {
        Mode::Write => command.env("KTX_UPDATE_DOCS", "1"),
        Mode::Check => command.env_remove("KTX_UPDATE_DOCS"),
    };
    if process::succeeds(&mut command)? {
        return Ok(Verdict::Pass);
    }
    if mode == Mode::Check {
        terminal::problem(
            "generated pages differ; run `cargo xtask codegen` and commit the result",
        );
    }
    Ok(Verdict::Fail)
}
