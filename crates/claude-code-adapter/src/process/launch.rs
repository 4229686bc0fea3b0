//! Finds the program and builds its command.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use ktx_llm_runtime::{LlmError, LlmErrorKind};
use tokio::process::Command;

use crate::settings::ClaudeCodeSettings;

/// Spares the guard when `ktx` is killed by name.
pub(crate) const GUARD_NAME: &str = "claude-guard";

const SCRIPTS: &[&str] = &["js", "mjs", "ts", "tsx", "jsx"];

/// As configured, or `claude` on the given `PATH`.
pub(crate) fn find_program(settings: &ClaudeCodeSettings) -> Result<PathBuf, LlmError> {
    let Some(program) = &settings.program else {
        return on_path(settings, "claude");
    };
    if program.components().count() == 1 {
        return on_path(settings, &program.to_string_lossy());
    }
    let program = settings.project_dir.join(program);
    match program.metadata() {
        Ok(_) => Ok(program),
        Err(error) => Err(not_started(settings, &program, &error)),
    }
}

fn on_path(settings: &ClaudeCodeSettings, name: &str) -> Result<PathBuf, LlmError> {
    let path = settings.environment.get("PATH").map_or("", String::as_str);
    let candidates: Vec<PathBuf> = std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .filter(|candidate| candidate.is_file())
        .collect();
    if let Some(program) = candidates.iter().find(|program| is_executable(program)) {
        return Ok(program.clone());
    }
    Err(match candidates.first() {
        Some(file) => not_executable(file),
        None => LlmError::new(
            LlmErrorKind::Process,
            format!("Claude Code is not installed: there is no `{name}` on the PATH"),
        )
        .hint(other_program(settings)),
    })
}

fn not_executable(program: &Path) -> LlmError {
    LlmError::new(
        LlmErrorKind::Process,
        format!("`{}` is not executable", program.display()),
    )
    .hint("make the file executable (`chmod +x`), then run the command again")
}

#[cfg(unix)]
fn is_executable(candidate: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    candidate
        .metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(candidate: &Path) -> bool {
    candidate.is_file()
}

#[expect(
    clippy::disallowed_methods,
    reason = "this crate owns the Claude Code process"
)]
pub(super) fn command(
    settings: &ClaudeCodeSettings,
    program: &Path,
    arguments: &[String],
    environment: &BTreeMap<String, String>,
) -> Command {
    let is_script = program
        .extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| SCRIPTS.contains(&extension));
    let runner = Path::new("node");
    let target = if is_script { runner } else { program };
    let mut command = Command::new(target);
    if is_script {
        command.arg(program);
    }
    command
        .args(arguments)
        .env_clear()
        .envs(environment)
        .current_dir(&settings.project_dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    command
}

/// Nothing from project, terminal or environment.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate owns the Claude Code process and its guard"
)]
pub(super) fn guard(program: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    command
        .arg("internal-guard")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        command.arg0(GUARD_NAME).process_group(0);
    }
    command
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartFailureCause {
    /// Temporary: no room, or the file is being written.
    Crowded,
    /// Possibly an update.
    Absent,
    Lasting,
}

pub(super) fn cause(error: &std::io::Error) -> StartFailureCause {
    const ENOEXEC: i32 = 8;
    match error.kind() {
        ErrorKind::WouldBlock
        | ErrorKind::OutOfMemory
        | ErrorKind::ExecutableFileBusy
        | ErrorKind::Interrupted => StartFailureCause::Crowded,
        _ if is_crowded(error) => StartFailureCause::Crowded,
        ErrorKind::NotFound | ErrorKind::PermissionDenied => StartFailureCause::Absent,
        _ if error.raw_os_error() == Some(ENOEXEC) => StartFailureCause::Absent,
        _ => StartFailureCause::Lasting,
    }
}

fn is_crowded(error: &std::io::Error) -> bool {
    const ENOMEM: i32 = 12;
    const EAGAIN: i32 = 11;
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(
        error.raw_os_error(),
        Some(ENOMEM | EAGAIN | ENFILE | EMFILE)
    )
}

pub(crate) fn other_program(settings: &ClaudeCodeSettings) -> &'static str {
    if settings.program.is_some() {
        "let `KTX_CLAUDE_PATH` name the `claude` executable, or unset it to use the `claude` on the PATH"
    } else {
        "install the Claude Code CLI, log in with it, then run the command again"
    }
}

pub(crate) fn another_program(settings: &ClaudeCodeSettings, program: &Path) -> LlmError {
    LlmError::new(
        LlmErrorKind::Process,
        format!("`{}` is not Claude Code", program.display()),
    )
    .hint(other_program(settings))
}

pub(super) fn not_started(
    settings: &ClaudeCodeSettings,
    program: &Path,
    error: &std::io::Error,
) -> LlmError {
    if error.kind() == ErrorKind::PermissionDenied {
        return not_executable(program).detail(error.to_string());
    }
    let program = program.display();
    let message = match error.kind() {
        ErrorKind::NotFound => format!("Claude Code is not installed: `{program}` does not exist"),
        _ => format!("`{program}` could not be started: {error}"),
    };
    let hint = if is_crowded(error) {
        "end other programs, or raise the limits of the system (`ulimit -n`, `ulimit -u`), then run the command again"
    } else {
        other_program(settings)
    };
    LlmError::new(LlmErrorKind::Process, message)
        .hint(hint)
        .detail(error.to_string())
}
