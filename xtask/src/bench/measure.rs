//! Runs and measures programs.
#![expect(
    clippy::disallowed_methods,
    reason = "benchmarks write into their own temporary folder"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::repository::Repository;
use crate::{environment, process};

pub(crate) fn program_that_does_nothing(repository: &Repository, folder: &Path) -> Result<PathBuf> {
    program(repository, folder, ("nothing", "fn main() {}\n"))
}

pub(crate) fn program(
    repository: &Repository,
    folder: &Path,
    (name, text): (&str, &str),
) -> Result<PathBuf> {
    let (source, program) = (folder.join(format!("{name}.rs")), folder.join(name));
    std::fs::write(&source, text).context("the yardstick cannot be written")?;
    let mut compile = process::command(repository, "rustc");
    compile
        .args(["--edition=2024", "-O", "-o"])
        .arg(&program)
        .arg(&source);
    process::output(&mut compile)?;
    Ok(program)
}

/// Errors include standard error.
pub(crate) fn milliseconds(command: &mut Command) -> Result<f64> {
    let started = Instant::now();
    let result = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} could not be started", process::shown(command)))?;
    let took = started.elapsed().as_secs_f64() * 1000.0;
    if !result.status.success() {
        let stderr = String::from_utf8_lossy(&result.stderr);
        bail!(
            "{} ended with {}: {}",
            process::shown(command),
            result.status,
            stderr.trim()
        );
    }
    Ok(took)
}

/// A median is robust against disturbed runs.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// KiB, from GNU `time`; `None` without it.
pub(crate) fn peak_memory(repository: &Repository, command: &Command) -> Result<Option<f64>> {
    timed(repository, command, "%M")
}

/// From GNU `time`; `None` without it.
pub(crate) fn processor_seconds(repository: &Repository, command: &Command) -> Result<Option<f64>> {
    let user = timed(repository, command, "%U")?;
    let system = timed(repository, command, "%S")?;
    Ok(user.zip(system).map(|(user, system)| user + system))
}

fn timed(repository: &Repository, command: &Command, figure: &str) -> Result<Option<f64>> {
    let Some(time) = environment::find_program("time", &[]) else {
        return Ok(None);
    };
    let mut timed = process::command(repository, time);
    timed
        .args(["-f", &format!("figure {figure}")])
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        timed.current_dir(folder);
    }
    let result = timed
        .stdin(Stdio::null())
        .output()
        .context("`time` could not be started")?;
    let text = String::from_utf8_lossy(&result.stderr);
    let printed = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("figure "));
    printed
        .map(|printed| printed.trim().parse().context("`time` printed no number"))
        .transpose()
}

/// KiB, from a process's status file.
pub(crate) fn high_water_mark(status: &str) -> Option<f64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}
