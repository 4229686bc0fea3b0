//! Locates executables of fakes.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, ensure};

pub fn executable() -> anyhow::Result<PathBuf> {
    executable_of("fake-claude", "fake_claude")
}

/// Builds the executable of a fake if missing or outdated.
#[expect(
    clippy::disallowed_methods,
    reason = "cargo builds a program only for the tests of its own package"
)]
pub(crate) fn executable_of(program_name: &str, module: &str) -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe().context("the test's own path is not known")?;
    // `<target>/<profile>/deps/<test>`; an example is one folder up.
    let profile = here
        .ancestors()
        .find(|folder| folder.ends_with("deps") || folder.ends_with("examples"))
        .and_then(Path::parent)
        .context("the test does not run from a cargo target folder")?;
    let program = profile.join(program_name);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let newest = newest(&sources.join(module))
        .max(changed(&sources.join(format!("{module}.rs"))))
        .max(changed(&sources.join(format!("bin/{module}.rs"))));
    if changed(&program) < newest {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = std::process::Command::new(cargo)
            .args([
                "build",
                "--quiet",
                "--offline",
                "-p",
                "ktx-test-support",
                "--bin",
                program_name,
            ])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .context("cargo could not be started")?;
        ensure!(status.success(), "the fake could not be built");
    }
    Ok(program)
}

fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(folder).ok()?;
    entries
        .flatten()
        .filter_map(|entry| changed(&entry.path()))
        .max()
}

fn changed(file: &Path) -> Option<SystemTime> {
    file.metadata().ok()?.modified().ok()
}
