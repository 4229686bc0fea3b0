//! Installs and runs a package like a user.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::{Package, Release, create_folder};
use crate::{environment, process};

/// Printed by the demo if the compiled query is right.
const PROOF: &str = "the compiled query equals the direct count in every region";

pub(super) fn run(release: &Release<'_>, package: &Package, files: &[PathBuf]) -> Result<()> {
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let place = scratch.path().join("installed");
    create_folder(&place)?;
    let program = (package.install)(release, files, &place).context("it does not install")?;
    let printed = printed(release, &program, &["--version"], scratch.path())?;
    let expected = format!("ktx {}\n", release.version);
    if printed != expected {
        bail!("`ktx --version` printed {printed:?}, not {expected:?}");
    }
    let project = scratch.path().join("project");
    create_folder(&project)?;
    let demo = self::printed(release, &program, &["demo"], &project)?;
    if !demo.contains(PROOF) {
        bail!("`ktx demo` did not print {PROOF:?} but:\n{demo}");
    }
    Ok(())
}

/// Runs with only `PATH` in the environment.
fn printed(
    release: &Release<'_>,
    program: &Path,
    arguments: &[&str],
    folder: &Path,
) -> Result<String> {
    let mut command = process::command(release.repository, program);
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .env("PATH", environment::variable("PATH").unwrap_or_default());
    process::output(&mut command)
}
