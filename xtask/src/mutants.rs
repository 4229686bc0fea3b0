//! Runs `cargo-mutants` and scores noticed changes.
#![expect(
    clippy::disallowed_methods,
    reason = "the list of changed lines is a temporary file of xtask"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::repository::Repository;
use crate::{Verdict, environment, process, terminal};

const VERSION: &str = "27.1.0";

/// Minimum percentage of noticed changes per crate.
const BAR: usize = 85;

const CRATES: [&str; 6] = [
    "config",
    "llm-runtime",
    "secrets",
    "tool-descriptors",
    "usage-ledger",
    "wiki",
];

/// Seconds until a test run counts as noticed.
const TIMEOUT: &str = "120";

#[derive(Clone, Copy, Debug)]
pub(crate) enum MutationExtent<'a> {
    Whole,
    /// Only lines changed since this commit.
    Since(&'a str),
}

/// Defaults to all of [`CRATES`].
pub(crate) fn run(
    repository: &Repository,
    extent: MutationExtent<'_>,
    crates: &[&str],
) -> Result<Verdict> {
    let crates = chosen(crates)?;
    let program = program(repository)?;
    let folder = tempfile::tempdir().context("there is no temporary folder")?;
    let mut command = process::command(repository, program);
    command.args(["mutants", "--no-shuffle", "--timeout", TIMEOUT, "--output"]);
    command.arg(folder.path());
    for name in &crates {
        command.args(["--package", &format!("ktx-{name}")]);
    }
    if environment::find_program("cargo-nextest", &[]).is_some() {
        command.args(["--test-tool", "nextest"]);
    }
    if let MutationExtent::Since(commit) = extent {
        let diff = folder.path().join("changed.diff");
        let arguments = ["diff", "--no-ext-diff", commit, "--", "crates"];
        let text = process::output(process::command(repository, "git").args(arguments))?;
        std::fs::write(&diff, text).with_context(|| format!("`{}`", diff.display()))?;
        command.arg("--in-diff").arg(diff);
    }
    for name in environment::set_by_cargo() {
        command.env_remove(name);
    }
    let ended_well = process::succeeds(&mut command)?;
    let outcomes = Outcomes::read(&folder.path().join("mutants.out"))?;
    // It also fails for a missed change; without outcomes, it tried none.
    if !ended_well && outcomes == Outcomes::default() {
        bail!("{} tried nothing", process::shown(&command));
    }
    for line in &outcomes.missed {
        terminal::line(&format!("no test notices: {line}"));
    }
    let scores = outcomes.scores(&crates);
    terminal::line(&table(&scores));
    Ok(if scores.values().all(Score::reaches_the_bar) {
        Verdict::Pass
    } else {
        Verdict::Fail
    })
}

fn chosen<'a>(crates: &[&'a str]) -> Result<Vec<&'a str>> {
    if crates.is_empty() {
        return Ok(CRATES.to_vec());
    }
    match crates.iter().find(|name| !CRATES.contains(name)) {
        Some(other) => bail!("`{other}` is not one of {}", CRATES.join(", ")),
        None => Ok(crates.to_vec()),
    }
}

fn program(repository: &Repository) -> Result<PathBuf> {
    let install = format!("run `cargo install --locked cargo-mutants --version {VERSION}`");
    let Some(program) = environment::find_program("cargo-mutants", &[]) else {
        bail!("`cargo-mutants` is not installed: {install}");
    };
    let arguments = ["mutants", "--version"];
    let told = process::output(process::command(repository, &program).args(arguments))?;
    let found = told.split_whitespace().last().unwrap_or_default();
    if found != VERSION {
        bail!("`cargo-mutants` has the version {found}, not {VERSION}: {install}");
    }
    Ok(program)
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Outcomes {
    noticed: Vec<String>,
    missed: Vec<String>,
}

impl Outcomes {
    /// Without changes, cargo-mutants writes no lists. A hanging test has noticed the change.
    fn read(folder: &Path) -> Result<Self> {
        let list = |name: &str| -> Result<Vec<String>> {
            let file = folder.join(name);
            match std::fs::read_to_string(&file) {
                Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
                Err(error) => Err(error).with_context(|| format!("`{}`", file.display())),
            }
        };
        Ok(Self {
            noticed: [list("caught.txt")?, list("timeout.txt")?].concat(),
            missed: list("missed.txt")?,
        })
    }

    fn scores<'a>(&self, crates: &[&'a str]) -> BTreeMap<&'a str, Score> {
        let count = |lines: &[String], name: &str| {
            let folder = format!("crates/{name}/");
            lines
                .iter()
                .filter(|line| line.starts_with(&folder))
                .count()
        };
        let score = |name: &'a str| {
            let score = Score {
                noticed: count(&self.noticed, name),
                missed: count(&self.missed, name),
            };
            (name, score)
        };
        crates.iter().map(|name| score(name)).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Score {
    noticed: usize,
    missed: usize,
}

impl Score {
    const fn tried(&self) -> usize {
        self.noticed + self.missed
    }

    /// Without a score, nothing could change.
    const fn reaches_the_bar(&self) -> bool {
        self.noticed * 100 >= self.tried() * BAR
    }

    fn percent(&self) -> String {
        (self.noticed * 1000).checked_div(self.tried()).map_or_else(
            || "-".to_owned(),
            |share| format!("{}.{} %", share / 10, share % 10),
        )
    }
}

fn table(scores: &BTreeMap<&str, Score>) -> String {
    let mut lines = vec![format!(
        "{:<17} {:>7} {:>7} {:>8}   bar {BAR} %",
        "crate", "noticed", "missed", "score"
    )];
    for (name, score) in scores {
        let mark = if score.reaches_the_bar() {
            ""
        } else {
            "   under"
        };
        lines.push(format!(
            "{name:<17} {:>7} {:>7} {:>8}{mark}",
            score.noticed,
            score.missed,
            score.percent()
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
