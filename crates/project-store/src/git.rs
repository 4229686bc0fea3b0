//! The `git` program. Only this module starts it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ktx_config::Environment;
use ktx_diagnostics::{Hint, Hints};

const NEEDED: (u32, u32) = (2, 20);

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("`git` is not installed")]
    Missing,
    #[error("cannot start `git`")]
    Start {
        #[source]
        source: io::Error,
    },
    #[error("`git` {found} is too old: ktx needs {}.{}", NEEDED.0, NEEDED.1)]
    TooOld { found: String },
    #[error("git cannot use the repository of `{entry}`: {message}")]
    Unusable { entry: PathBuf, message: String },
    /// Another git holds the lock, or a crash left it.
    #[error("git lock `{file}` exists: another git is running, or a crashed one left it")]
    Locked { file: PathBuf },
    #[error("`git {command}` failed: {message}")]
    Failed { command: String, message: String },
}

impl Hints for GitError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Missing => vec![Hint::new("install git and put it on `PATH`")],
            Self::Unusable { entry, .. } => vec![Hint::new(format!(
                "run `git status` in `{}`, repair what it names, then run the command again",
                entry.parent().unwrap_or(entry).display()
            ))],
            Self::TooOld { .. } => vec![Hint::new("install a newer git")],
            Self::Locked { file } => vec![Hint::new(format!(
                "wait until the other git has ended, or remove `{}` when no git runs in this \
                 repository; then run the command again",
                file.display()
            ))],
            Self::Start { .. } | Self::Failed { .. } => Vec::new(),
        }
    }
}

/// Relative paths with `/`; a folder covers everything below. Fails outside of a repository.
pub fn ignored_files(
    folder: &Path,
    environment: &Environment,
) -> Result<BTreeSet<String>, GitError> {
    let git = Git::find(folder, environment)?;
    let listed = git.text(&[
        "ls-files",
        "--others",
        "--ignored",
        "--exclude-standard",
        "--directory",
        "-z",
    ])?;
    let paths = listed.split('\0').map(|path| path.trim_end_matches('/'));
    Ok(paths
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect())
}

/// `git` without its environment variables, hooks and signatures, in English.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    folder: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    identity: BTreeMap<String, String>,
}

const IDENTITY: [&str; 4] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
];

impl Git {
    pub(crate) fn find(folder: &Path, environment: &Environment) -> Result<Self, GitError> {
        let identity = IDENTITY.iter().filter_map(|name| {
            let value = environment.all().get(std::ffi::OsStr::new(name))?;
            Some(((*name).to_owned(), value.to_string_lossy().into_owned()))
        });
        let identity = identity.collect();
        let kept = environment.all().iter();
        let kept = kept.filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_"));
        let mut environment: BTreeMap<OsString, OsString> = kept
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for (name, value) in [
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
        ] {
            environment.insert(name.into(), value.into());
        }
        let git = Self {
            folder: folder.to_owned(),
            environment,
            identity,
        };
        let version = git.text(&["version"])?;
        let found = version.trim().trim_start_matches("git version ").to_owned();
        if parse_version(&found).is_some_and(|found| found < NEEDED) {
            return Err(GitError::TooOld { found });
        }
        Ok(git)
    }

    /// Adds the user's network settings. Never prompts; no transport can run programs of the
    /// repository.
    pub(crate) fn fetching(mut self, environment: &Environment) -> Self {
        let is_way = |name: &str| name.starts_with("GIT_SSH") || name.starts_with("GIT_SSL_");
        for (name, value) in environment.all() {
            if is_way(&name.to_string_lossy()) {
                self.environment.insert(name.clone(), value.clone());
            }
        }
        self.with("GIT_ALLOW_PROTOCOL", "https:http:ssh:git:file")
            .with("GIT_LFS_SKIP_SMUDGE", "1")
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    pub(crate) fn at(&self, folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            ..self.clone()
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn identity(&self, variable: &str, key: &str) -> Result<Option<String>, GitError> {
        // These characters would end the field in a commit.
        let clean = |text: &str| {
            let text = text.replace(['<', '>', '\n', '\0'], "").trim().to_owned();
            Some(text).filter(|text| !text.is_empty())
        };
        if let Some(name) = self.identity.get(variable).and_then(|text| clean(text)) {
            return Ok(Some(name));
        }
        let setting = self.query(&["config", "--get", key], 1)?;
        Ok(setting.and_then(|text| clean(&text)))
    }

    pub(crate) fn bytes(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
        let output = self.run(arguments, input)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(failed(arguments, &output))
    }

    pub(crate) fn text(&self, arguments: &[&str]) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.bytes(arguments, b"")?).into_owned())
    }

    /// `None` if git exits with `no`.
    pub(crate) fn query(&self, arguments: &[&str], no: i32) -> Result<Option<String>, GitError> {
        let output = self.run(arguments, b"")?;
        match output.status.code() {
            Some(0) => {
                let text = String::from_utf8_lossy(&output.stdout);
                Ok(Some(text.trim_end_matches('\n').to_owned()))
            }
            Some(code) if code == no => Ok(None),
            _ => Err(failed(arguments, &output)),
        }
    }

    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Output, GitError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "this module owns git's processes"
        )]
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(&self.folder)
            .args([
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.fsmonitor=false",
            ])
            .args(arguments)
            .env_clear()
            .envs(&self.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|source| match source.kind() {
            ErrorKind::NotFound => GitError::Missing,
            _ => GitError::Start { source },
        })?;
        let pipe = child.stdin.take();
        std::thread::scope(|scope| {
            let writer = scope.spawn(move || pipe.map_or(Ok(()), |mut pipe| pipe.write_all(input)));
            let output = child
                .wait_with_output()
                .map_err(|source| GitError::Start { source })?;
            match writer.join() {
                // A failed git may not read its input; its message says why.
                Ok(Err(source)) if output.status.success() => Err(GitError::Start { source }),
                _ => Ok(output),
            }
        })
    }
}

pub(crate) fn failed(arguments: &[&str], output: &Output) -> GitError {
    let message = message(output);
    match lock_in_the_way(&message) {
        Some(file) => GitError::Locked { file },
        None => GitError::Failed {
            command: arguments.first().copied().unwrap_or_default().to_owned(),
            message,
        },
    }
}

/// The message is the same for the index, branches, `HEAD` and packed branches.
fn lock_in_the_way(message: &str) -> Option<PathBuf> {
    let (_, rest) = message.split_once("Unable to create '")?;
    let (file, rest) = rest.split_once(".lock'")?;
    let is_there = rest.starts_with(": File exists");
    is_there.then(|| PathBuf::from(format!("{file}.lock")))
}

pub(crate) fn message(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stderr: Vec<&str> = stderr
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if stderr.is_empty() {
        output.status.to_string()
    } else {
        stderr.join("; ")
    }
}

/// Unknown formats count as new enough.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(['.', ' ', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests;
