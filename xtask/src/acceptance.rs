//! Runs the scripts of `fixtures/acceptance`, each of which shows one promise with real servers.
#![expect(
    clippy::disallowed_methods,
    reason = "the logs of the scripts are in the target folder"
)]

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::repository::{Repository, file_name, read_folder};
use crate::{Verdict, environment, process, terminal};

const FOLDER: &str = "fixtures/acceptance";

const ROUNDS: &str = "5";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Programs {
    Build,
    Built,
}

/// Runs every script, or the one called `name`; a failure does not stop the others.
pub(crate) fn run(
    repository: &Repository,
    programs: Programs,
    name: Option<&str>,
) -> Result<Verdict> {
    let scripts: Vec<PathBuf> = scripts(repository)?
        .into_iter()
        .filter(|script| name.is_none_or(|name| file_name(script) == format!("{name}.sh")))
        .collect();
    if scripts.is_empty() {
        bail!(
            "no script `{}` in `{FOLDER}`",
            name.unwrap_or("of any name")
        );
    }
    let build = [
        "build",
        "--locked",
        "-p",
        "ktx",
        "-p",
        "ktx-test-support",
        "--bins",
    ];
    if programs == Programs::Build && !process::succeeds(&mut process::cargo(repository, &build))? {
        return Ok(Verdict::Fail);
    }
    let logs = repository.target().join("acceptance");
    std::fs::create_dir_all(&logs).context("the folder of the logs cannot be made")?;
    let mut verdict = Verdict::Pass;
    for script in scripts {
        let started = Instant::now();
        let log = logs.join(format!("{}.log", file_name(&script)));
        std::fs::write(&log, "").context("a log cannot be written")?;
        let mut command = process::command(repository, &script);
        let rounds = environment::variable("ROUNDS").unwrap_or_else(|| ROUNDS.to_owned());
        command
            .env("ROUNDS", rounds)
            .env("CARGO_TARGET_DIR", repository.target());
        let outcome = process::logged(&mut command, &log);
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        for line in text.lines().filter(|line| line.starts_with("ok: ")) {
            terminal::line(&format!("  {line}"));
        }
        let word = match outcome {
            Ok(()) => "holds",
            Err(error) => {
                terminal::problem(&format!("{error:#}"));
                verdict = Verdict::Fail;
                "FAILED"
            }
        };
        terminal::line(&format!(
            "{}: {word} ({:.1} s)",
            file_name(&script),
            started.elapsed().as_secs_f64()
        ));
    }
    Ok(verdict)
}

/// The folder's other files are included by the scripts.
fn scripts(repository: &Repository) -> Result<Vec<PathBuf>> {
    let files = read_folder(&repository.root().join(FOLDER))?;
    Ok(files.into_iter().filter(|file| is_script(file)).collect())
}

fn is_script(file: &Path) -> bool {
    std::fs::read(file).is_ok_and(|bytes| bytes.starts_with(b"#!"))
}

#[cfg(test)]
mod tests;
