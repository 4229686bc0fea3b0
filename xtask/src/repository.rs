//! The work tree: root, files, and cargo's packages.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{environment, process};

/// Reads the files of the root, but not its folders.
const FOLDERS: [&str; 9] = [
    ".cargo",
    ".ci",
    ".config",
    ".github",
    "crates",
    "docs",
    "docs-site",
    "fixtures",
    "xtask",
];

/// Written by tools; `.git` is a file in a second work tree.
const NOT_OURS: [&str; 2] = [".git", "Cargo.lock"];

const GENERATED: [&str; 3] = ["target", "node_modules", "docs-site/book"];

/// Larger files are data.
const LARGEST_TEXT: u64 = 2 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(crate) struct Repository {
    root: PathBuf,
}

/// Relative to the root, with `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == extension)
    }
}

impl Repository {
    /// The nearest ancestor with `[workspace]` in `Cargo.toml`.
    pub(crate) fn locate() -> Result<Self> {
        let start = environment::working_folder()?;
        for folder in start.ancestors() {
            let manifest = folder.join("Cargo.toml");
            if std::fs::read_to_string(&manifest).is_ok_and(|text| text.contains("[workspace]")) {
                return Ok(Self {
                    root: folder.to_owned(),
                });
            }
        }
        bail!(
            "no workspace at or above `{}`; start xtask inside the clone",
            start.display()
        );
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn target(&self) -> PathBuf {
        environment::variable("CARGO_TARGET_DIR")
            .map_or_else(|| self.root.join("target"), |set| self.root.join(set))
    }

    pub(crate) fn text_files(&self) -> Result<Vec<TextFile>> {
        let mut paths = Vec::new();
        for entry in read_folder(&self.root)? {
            let name = file_name(&entry);
            if entry.is_dir() && FOLDERS.contains(&name.as_str()) {
                collect(&entry, &mut paths)?;
            } else if entry.is_file() && !NOT_OURS.contains(&name.as_str()) {
                paths.push(entry);
            }
        }
        let mut files = Vec::new();
        for path in paths {
            let size = path.metadata().with_context(|| unreadable(&path))?.len();
            let bytes = std::fs::read(&path).with_context(|| unreadable(&path))?;
            let Ok(text) = String::from_utf8(bytes) else {
                continue;
            };
            if size <= LARGEST_TEXT {
                files.push(TextFile {
                    path: self.relative(&path),
                    text,
                });
            }
        }
        files.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(files)
    }

    /// Own packages, offline if possible.
    pub(crate) fn own_packages(&self) -> Result<Value> {
        let ours = ["metadata", "--format-version", "1", "--no-deps"];
        self.metadata(&[&ours[..], &["--offline"]].concat())
            .or_else(|_| self.metadata(&ours))
    }

    /// All dependencies of all platforms; offline, only this platform's.
    pub(crate) fn all_packages(&self) -> Result<Value> {
        let all = ["metadata", "--format-version", "1", "--locked"];
        self.metadata(&all).or_else(|_| {
            let host = process::output(process::command(self, "rustc").arg("-vV"))?;
            let host = host
                .lines()
                .find_map(|line| line.strip_prefix("host: "))
                .unwrap_or("");
            self.metadata(&[&all[..], &["--offline", "--filter-platform", host]].concat())
        })
    }

    fn metadata(&self, arguments: &[&str]) -> Result<Value> {
        let text = process::output(&mut process::cargo(self, arguments))?;
        serde_json::from_str(&text).context("`cargo metadata` printed no JSON")
    }

    fn relative(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<_> = inside
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        parts.join("/")
    }
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in read_folder(folder)? {
        if entry.is_symlink() || GENERATED.iter().any(|end| entry.ends_with(end)) {
            continue;
        }
        if entry.is_dir() {
            collect(&entry, into)?;
        } else if entry.is_file() {
            into.push(entry);
        }
    }
    Ok(())
}

pub(crate) fn read_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| unreadable(folder))? {
        entries.push(entry.with_context(|| unreadable(folder))?.path());
    }
    entries.sort();
    Ok(entries)
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn unreadable(path: &Path) -> String {
    format!("`{}` cannot be read", path.display())
}
