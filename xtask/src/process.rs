//! Starts, times and judges child processes.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place in xtask that makes commands"
)]

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::environment;
use crate::repository::Repository;

pub(crate) fn command(repository: &Repository, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(repository.root());
    command
}

/// Uses the environment of the user's shell.
pub(crate) fn cargo(repository: &Repository, arguments: &[&str]) -> Command {
    let program = environment::variable("CARGO").unwrap_or_else(|| "cargo".to_owned());
    let mut command = command(repository, program);
    command.args(arguments);
    for name in environment::set_by_cargo() {
        command.env_remove(name);
    }
    command
}

/// Attached to the terminal; false for a nonzero exit code.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| cannot_start(command))?;
    Ok(status.success())
}

/// Writes both streams to `log`; errors include its last lines.
pub(crate) fn logged(command: &mut Command, log: &Path) -> Result<()> {
    let file = File::options()
        .create(true)
        .append(true)
        .open(log)
        .with_context(|| unwritable(log))?;
    let twin = file.try_clone().with_context(|| unwritable(log))?;
    let status = command
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(twin)
        .status()
        .with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("{} ended with {status}{}", shown(command), last_words(log));
    }
    Ok(())
}

pub(crate) fn output(command: &mut Command) -> Result<String> {
    let result = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| cannot_start(command))?;
    if !result.status.success() {
        let stderr = String::from_utf8_lossy(&result.stderr);
        bail!(
            "{} ended with {}: {}",
            shown(command),
            result.status,
            stderr.trim()
        );
    }
    String::from_utf8(result.stdout)
        .with_context(|| format!("{} printed text that is not UTF-8", shown(command)))
}

/// Formats a command as typed.
pub(crate) fn shown(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect();
    format!("`{}`", words.join(" "))
}

pub(crate) fn last_words(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(12);
    let tail: String = lines
        .iter()
        .skip(from)
        .map(|line| format!("\n    {line}"))
        .collect::<Vec<_>>()
        .concat();
    format!("; the end of `{}`:{tail}", log.display())
}

fn cannot_start(command: &Command) -> String {
    format!("{} could not be started", shown(command))
}

fn unwritable(path: &Path) -> String {
    format!("`{}` cannot be written", path.display())
}
