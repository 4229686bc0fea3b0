//! The test command: services, fakes, tests.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use crate::repository::Repository;
use crate::services::{self, Load, Services};
use crate::{Verdict, environment, process, terminal};

/// Passes words after `--` to the runner.
pub(crate) fn run(repository: &Repository, load: Load, filters: &[&str]) -> Result<Verdict> {
    let runner = Runner::find(repository)?;
    let started = Instant::now();
    let (tools, built) = std::thread::scope(|scope| {
        let tools = scope.spawn(|| services::prepare(repository, load));
        let built = build(repository, runner, filters);
        (tools.join(), built)
    });
    let tools =
        tools.map_err(|_| anyhow::anyhow!("the preparation of the services panicked"))??;
    if !built? {
        return Ok(Verdict::Fail);
    }
    let build_seconds = started.elapsed().as_secs();
    let services = Services::start(repository, tools)?;
    let started = Instant::now();
    let mut command = process::cargo(repository, &runner.arguments(filters));
    if runner.takes_threads(filters) {
        command.env("NEXTEST_TEST_THREADS", test_threads().to_string());
    }
    command.envs(services.variables());
    let passed = process::succeeds(&mut command)?;
    let test_seconds = started.elapsed().as_secs();
    let missing = services.missing();
    for (name, reason) in &missing {
        terminal::problem(&format!("not run: {name}: {reason}"));
    }
    for name in services.not_asked() {
        terminal::problem(&format!(
            "not asked for: {name}; `cargo xtask test --heavy` brings it up"
        ));
    }
    services.stop()?;
    terminal::problem(&format!(
        "test: built in {build_seconds} s, ran in {test_seconds} s"
    ));
    let complete = missing.is_empty() || !environment::is_ci();
    if !complete {
        terminal::problem("test: every service has to be there when CI is set");
    }
    Ok(if passed && complete {
        Verdict::Pass
    } else {
        Verdict::Fail
    })
}

/// Builds first, so that services do not wait. Building fakes separately would recompile
/// dependencies with other features.
fn build(repository: &Repository, runner: Runner, filters: &[&str]) -> Result<bool> {
    let fakes = ["build", "--locked", "-p", "ktx-test-support", "--bins"];
    if chooses_packages(filters) && !process::succeeds(&mut process::cargo(repository, &fakes))? {
        return Ok(false);
    }
    process::succeeds(&mut process::cargo(repository, &runner.build(filters)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    Nextest(Profile),
    Cargo,
}

/// From `.config/nextest.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    Local,
    Unattended,
}

impl Runner {
    fn find(repository: &Repository) -> Result<Self> {
        let home = environment::variable("CARGO_HOME")
            .or_else(|| environment::variable("HOME").map(|home| format!("{home}/.cargo")));
        let folders: Vec<_> = home
            .iter()
            .map(|home| Path::new(home).join("bin"))
            .collect();
        if environment::find_program("cargo-nextest", &folders).is_none() {
            terminal::problem("cargo-nextest is not installed; using `cargo test`");
            return Ok(Self::Cargo);
        }
        let version = ["nextest", "--version"];
        process::output(&mut process::cargo(repository, &version))?;
        let unattended = environment::is_ci();
        Ok(Self::Nextest(if unattended {
            Profile::Unattended
        } else {
            Profile::Local
        }))
    }

    fn arguments<'words>(self, filters: &[&'words str]) -> Vec<&'words str> {
        let mut words = match self {
            Self::Nextest(Profile::Local) => vec!["nextest", "run", "--locked"],
            Self::Nextest(Profile::Unattended) => {
                vec!["nextest", "run", "--locked", "--profile", "ci"]
            }
            Self::Cargo => vec!["test", "--locked"],
        };
        if !chooses_packages(filters) && !filters.contains(&"--workspace") {
            words.push("--workspace");
        }
        words.extend(filters);
        words
    }

    /// Takes only packages, because a build refuses options of a run.
    fn build<'words>(self, filters: &[&'words str]) -> Vec<&'words str> {
        let packages = if chooses_packages(filters) {
            packages(filters)
        } else {
            Vec::new()
        };
        let mut words = self.arguments(&packages);
        words.push("--no-run");
        words
    }

    /// True if ktx can choose the number of threads.
    fn takes_threads(self, filters: &[&str]) -> bool {
        let chosen = ["-j", "--test-threads", "--no-capture", "--nocapture"];
        let is_chosen = |word: &&str| {
            chosen.contains(word) || word.starts_with("--test-threads=") || word.starts_with("-j")
        };
        matches!(self, Self::Nextest(_)) && !filters.iter().any(is_chosen)
    }
}

/// Two per processor: tests mostly wait.
fn test_threads() -> usize {
    std::thread::available_parallelism().map_or(2, |processors| 2 * processors.get())
}

fn packages<'words>(filters: &[&'words str]) -> Vec<&'words str> {
    let mut words = Vec::new();
    let mut rest = filters.iter().copied();
    while let Some(word) = rest.next() {
        if ["-p", "--package"].contains(&word) {
            words.push(word);
            words.extend(rest.next());
        } else if word.starts_with("--package=") {
            words.push(word);
        }
    }
    words
}

fn chooses_packages(filters: &[&str]) -> bool {
    filters
        .iter()
        .any(|word| ["-p", "--package"].contains(word) || word.starts_with("--package="))
}

#[cfg(test)]
mod tests;
