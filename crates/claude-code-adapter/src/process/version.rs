//! The program's version, before it runs and after a failure.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use super::launch;
use crate::environment::{Compaction, Substitution, child_environment};
use crate::settings::ClaudeCodeSettings;
use crate::versions::{is_older, is_version};

/// From its package, or from the file name among the installer's versions.
pub(super) fn installed_version(program: &Path) -> Option<String> {
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

#[derive(Debug, Default)]
pub(super) struct KnownProgram(Mutex<Option<FileIdentity>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct FileIdentity {
    file: PathBuf,
    inode: u64,
    size: u64,
    modified: Option<SystemTime>,
}

impl KnownProgram {
    /// Returns the version if the program was replaced: an older one would fail only after a paid prompt.
    pub(super) async fn new_version(&self, settings: &ClaudeCodeSettings) -> Option<String> {
        // The start itself reports a missing program.
        let now = FileIdentity::of(&launch::find_program(settings).ok()?)?;
        let is_new = {
            let mut known = self.lock();
            let before = known.get_or_insert_with(|| now.clone());
            *before != now
        };
        if !is_new {
            return None;
        }
        let VersionReply::Version(version) = ask_version(settings).await else {
            return None;
        };
        // The next call must get the same error.
        if !is_older(&version) {
            *self.lock() = Some(now);
        }
        Some(version)
    }

    fn lock(&self) -> MutexGuard<'_, Option<FileIdentity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileIdentity {
    fn of(program: &Path) -> Option<Self> {
        let file = program.canonicalize().ok()?;
        let metadata = file.metadata().ok()?;
        Some(Self {
            file,
            inode: inode(&metadata),
            size: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
const fn inode(_metadata: &Metadata) -> u64 {
    0
}

/// Only improves a message.
const LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VersionReply {
    /// Such as `2.1.330`.
    Version(String),
    Another(PathBuf),
    Nothing,
}

/// No model, no login.
pub(crate) async fn ask_version(settings: &ClaudeCodeSettings) -> VersionReply {
    // Without an answer the message has no version.
    let Ok(program) = launch::find_program(settings) else {
        return VersionReply::Nothing;
    };
    let environment = child_environment(
        &settings.parent(),
        Compaction::Refused,
        Substitution::Refused,
        "version",
    );
    let arguments = ["--version".to_owned()];
    let mut command: Command = launch::command(settings, &program, &arguments, &environment);
    command.stdin(std::process::Stdio::null());
    let Ok(Ok(output)) = timeout(LIMIT, command.output()).await else {
        return VersionReply::Nothing;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.split_whitespace().next() {
        Some(version) if is_version(version) => VersionReply::Version(version.to_owned()),
        _ if output.status.success() => VersionReply::Another(program),
        _ => VersionReply::Nothing,
    }
}
