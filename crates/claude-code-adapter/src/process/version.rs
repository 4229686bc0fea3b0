//! The version of the program before it runs, and what it says itself when it could not be used.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use super::launch;
use crate::environment::{Compaction, Substitution, child_environment};
use crate::host::is_version;
use crate::settings::ClaudeCodeSettings;

/// The version as the installation tells it, without running anything: by the package that the
/// program lies in, or by its own name among the versions that the installer keeps.
pub(super) fn installed_version(program: &Path) -> Option<String> {
    // Whatever cannot be read tells nothing.
    let file = program.canonicalize().ok()?;
    let folder = file.parent()?;
    if let Ok(text) = std::fs::read_to_string(folder.join("package.json")) {
        let package: Value = serde_json::from_str(&text).ok()?;
        if package.get("name")? == "@anthropic-ai/claude-code" {
            return package.get("version")?.as_str().map(str::to_owned);
        }
    }
    let kept = folder.file_name()? == "versions";
    let name = file.file_name()?.to_str()?;
    (kept && is_version(name)).then(|| name.to_owned())
}

/// Enough for a slow machine; the answer only makes a message better.
const LIMIT: Duration = Duration::from_secs(10);

/// The version that `--version` prints, such as `2.1.330`. Reaches no model and needs no login.
pub(crate) async fn told_version(settings: &ClaudeCodeSettings) -> Option<String> {
    // The caller has started the program before; without an answer the message does without.
    let program = launch::find_program(settings).ok()?;
    let environment = child_environment(
        &settings.environment,
        &settings.version,
        Compaction::Refused,
        Substitution::Refused,
        "version",
    );
    let arguments = ["--version".to_owned()];
    let mut command: Command = launch::command(settings, &program, &arguments, &environment);
    command.stdin(std::process::Stdio::null());
    let output = timeout(LIMIT, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().next()?;
    is_version(version).then(|| version.to_owned())
}
