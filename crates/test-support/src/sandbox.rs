//! Runs programs in a temporary folder with a clean environment.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make files and run programs"
)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use anyhow::Context as _;
use regex::Regex;

/// A folder with an empty home; programs see only the machine's `PATH`.
#[derive(Debug)]
pub struct Sandbox {
    folder: tempfile::TempDir,
    program: PathBuf,
    variables: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutput {
    /// `None` after a signal.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl std::fmt::Display for RunOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let code = self
            .code
            .map_or_else(|| "signal".to_owned(), |code| code.to_string());
        write!(
            f,
            "exit: {code}\n--- stdout\n{}--- stderr\n{}",
            self.stdout, self.stderr
        )
    }
}

impl Sandbox {
    pub fn new(program: impl Into<PathBuf>) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("ktx-test-").tempdir()?;
        let root = folder.path().canonicalize()?;
        std::fs::create_dir(root.join("home"))?;
        std::fs::create_dir(root.join("work"))?;
        let home = root.join("home");
        let mut variables = BTreeMap::new();
        if let Ok(path) = std::env::var("PATH") {
            variables.insert("PATH".to_owned(), path);
        }
        let home = home.to_str().context("the temporary folder is not UTF-8")?;
        for (name, value) in [
            ("HOME", home),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Ada Test"),
            ("GIT_AUTHOR_EMAIL", "ada@example.com"),
            ("GIT_COMMITTER_NAME", "Ada Test"),
            ("GIT_COMMITTER_EMAIL", "ada@example.com"),
            ("NO_COLOR", "1"),
            ("TZ", "UTC"),
        ] {
            variables.insert(name.to_owned(), value.to_owned());
        }
        Ok(Self {
            folder,
            program: program.into(),
            variables,
        })
    }

    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.variables.insert(name.to_owned(), value.into());
    }

    pub fn unset(&mut self, name: &str) {
        self.variables.remove(name);
    }

    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    fn root(&self) -> PathBuf {
        // Programs print canonical paths.
        self.folder
            .path()
            .canonicalize()
            .unwrap_or_else(|_| self.folder.path().to_owned())
    }

    pub fn command<I, S>(&self, arguments: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(self.work())
            .env_clear()
            .envs(&self.variables)
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, words: &str) -> anyhow::Result<RunOutput> {
        self.finish(&mut self.command(words.split_whitespace()))
    }

    pub fn run_arguments(&self, arguments: &[&str]) -> anyhow::Result<RunOutput> {
        self.finish(&mut self.command(arguments))
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> anyhow::Result<RunOutput> {
        use std::io::Write as _;
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().context("stdin is piped")?;
        let input = input.to_owned();
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output()?;
        if writer.join().is_err() {
            anyhow::bail!("the writer of stdin panicked");
        }
        Ok(self.printed(output.status.code(), &output.stdout, &output.stderr))
    }

    pub fn finish(&self, command: &mut Command) -> anyhow::Result<RunOutput> {
        let output = command
            .output()
            .with_context(|| format!("{} does not start", self.program.display()))?;
        Ok(self.printed(output.status.code(), &output.stdout, &output.stderr))
    }

    fn printed(&self, code: Option<i32>, stdout: &[u8], stderr: &[u8]) -> RunOutput {
        RunOutput {
            code,
            stdout: self.filter(stdout),
            stderr: self.filter(stderr),
        }
    }

    /// Replaces the sandbox, times, ids and durations.
    pub fn filter(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let text = text.replace(&*self.root().to_string_lossy(), "[SANDBOX]");
        let text = match self.program.parent() {
            Some(folder) => text.replace(&*folder.to_string_lossy(), "[BIN]"),
            None => text,
        };
        filter_text(&text)
    }

    pub fn write(&self, path: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.work().join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, text)?;
        Ok(path)
    }

    pub fn read(&self, path: &str) -> anyhow::Result<String> {
        let path = self.work().join(path);
        std::fs::read_to_string(&path).with_context(|| path.display().to_string())
    }

    pub fn git(&self, folder: &str, words: &[&str]) -> anyhow::Result<String> {
        let output = Command::new("git")
            .args(words)
            .current_dir(self.work().join(folder))
            .env_clear()
            .envs(&self.variables)
            .output()?;
        if !output.status.success() {
            anyhow::bail!("git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(self.filter(&output.stdout))
    }

    pub fn copy(&self, from: &Path, to: &str) -> anyhow::Result<()> {
        copy_folder(from, &self.work().join(to))
    }
}

fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Varying text and its placeholders. ASCII classes: Unicode ones compile longer in debug builds
/// than most programs run.
const VARYING: [(&str, &str); 7] = [
    (r"(?-u)\d{4}-\d{2}-\d{2}-\d{6}-[a-z0-9-]+", "[SYNC]"),
    (
        r"(?-u)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "[UUID]",
    ),
    (r"(?-u)\b(?:[a-z][2-9]){3}(?:-[a-z0-9-]+)?\b", "[SESSION]"),
    (
        r"(?-u)\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})",
        "[TIME]",
    ),
    (r"(?-u)\b[0-9a-f]{40}\b", "[COMMIT]"),
    (r"(?-u)\b\d+(\.\d+)? ?(ms|µs)\b", "[DURATION]"),
    (r"(?-u)\b\d+\.\d+ ?s\b", "[DURATION]"),
];

// A test counts patterns, so invalid ones are noticed.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    VARYING
        .iter()
        .filter_map(|(pattern, mark)| Some((Regex::new(pattern).ok()?, *mark)))
        .collect()
});

/// Replaces sync ids, UUIDs, timestamps, commit ids and durations.
pub fn filter_text(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, mark) in PATTERNS.iter() {
        text = pattern.replace_all(&text, *mark).into_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_replaces_what_varies() {
        assert_eq!(PATTERNS.len(), VARYING.len());
        for (text, expected) in [
            ("raw/2026-01-02-030405-a1b2-c/x", "raw/[SYNC]/x"),
            ("run 0198f3a2-7c4b-7d11-8a90-1b2c3d4e5f60.", "run [UUID]."),
            (
                "at 2026-01-02T03:04:05.678Z, 2026-01-02T03:04:05+01:00",
                "at [TIME], [TIME]",
            ),
            (
                "commit 0123456789abcdef0123456789abcdef01234567",
                "commit [COMMIT]",
            ),
            (
                "12 ms, 1.5ms, 7 µs, 2.25 s, 3.0s",
                "[DURATION], [DURATION], [DURATION], [DURATION], [DURATION]",
            ),
            ("in k3f7x2-net-revenue, k3f7x2", "in [SESSION], [SESSION]"),
            ("12 msgs, 3 s, 4.5 stars", "12 msgs, 3 s, 4.5 stars"),
        ] {
            assert_eq!(filter_text(text), expected);
        }
    }
}
