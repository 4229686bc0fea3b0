//! Whether files have changed, without reading them.

use std::fs::{self, Metadata};
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::failure::Failure;

/// Deeper folders than this are not looked into.
const DEPTH: usize = 16;

/// One file below a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileEntry {
    /// The path below the folder, with `/`.
    pub(super) path: String,
    /// Changes when the file changes.
    pub(super) stamp: String,
    /// When it was modified, in nanoseconds since 1970.
    pub(super) modified: u128,
}

/// The stamp of one file or folder; `None` when it is not there.
pub(super) fn stamp(path: &Path) -> Result<Option<String>, Failure> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(of(&metadata))),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// All files below a folder, ordered by path; hidden ones and linked folders are left out. A folder
/// that is not there has none.
pub(super) fn files(folder: &Path) -> Result<Vec<FileEntry>, Failure> {
    let mut found = Vec::new();
    collect(folder, "", DEPTH, &mut found)?;
    found.sort();
    Ok(found)
}

/// The names of the folders in a folder, ordered.
pub(super) fn folders(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    for (name, entry) in entries(folder)? {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.push(name);
        }
    }
    Ok(found)
}

fn collect(
    folder: &Path,
    prefix: &str,
    depth: usize,
    found: &mut Vec<FileEntry>,
) -> Result<(), Failure> {
    for (name, entry) in entries(folder)? {
        let kind = entry
            .file_type()
            .map_err(|error| unreadable(&entry.path(), &error))?;
        let path = format!("{prefix}{name}");
        if kind.is_dir() {
            if depth > 0 {
                collect(&entry.path(), &format!("{path}/"), depth - 1, found)?;
            }
            continue;
        }
        // Only links need the way through the whole path.
        let metadata = if kind.is_symlink() {
            if leaves_the_project(&entry.path()) {
                tracing::warn!(path = %entry.path().display(), "a link that leads out of the project is not read");
                continue;
            }
            fs::metadata(entry.path())
        } else {
            entry.metadata()
        };
        match metadata {
            Ok(metadata) if metadata.is_file() => {
                found.push(FileEntry {
                    path,
                    stamp: of(&metadata),
                    modified: modified(&metadata),
                });
            }
            // A linked folder, a socket, or a file that has just been removed.
            Ok(_) => {}
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(unreadable(&entry.path(), &error)),
        }
    }
    Ok(())
}

/// Whether a link in a project leads to a file outside of it: whoever sends a project must not
/// choose what else of the machine is read and served. A link that leads nowhere stays inside.
fn leaves_the_project(link: &Path) -> bool {
    let Ok(target) = fs::canonicalize(link) else {
        return false;
    };
    let root = link
        .ancestors()
        .skip(1)
        .find(|folder| folder.join("ktx.yaml").is_file())
        .or_else(|| link.parent());
    let root = root.and_then(|root| fs::canonicalize(root).ok());
    !root.is_some_and(|root| target.starts_with(root))
}

/// What lies in a folder, ordered by name, without hidden entries.
fn entries(folder: &Path) -> Result<Vec<(String, fs::DirEntry)>, Failure> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(folder, &error)),
    };
    let mut found = Vec::new();
    for entry in listing {
        let entry = entry.map_err(|error| unreadable(folder, &error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            found.push((name, entry));
        }
    }
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    Ok(found)
}

/// Size, time of modification and, where there is one, the number of the file: a file that was
/// replaced within one tick of the clock has another number.
fn of(metadata: &Metadata) -> String {
    let nanos = modified(metadata);
    format!("{}:{nanos}:{}", metadata.len(), number(metadata))
}

/// When a file was modified, in nanoseconds since 1970; 0 where that is not told.
pub(super) fn modified(metadata: &Metadata) -> u128 {
    let modified = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    modified.map_or(0, |age| age.as_nanos())
}

#[cfg(unix)]
fn number(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn number(_metadata: &Metadata) -> u64 {
    0
}

pub(super) fn is_absent(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

pub(super) fn unreadable(path: &Path, error: &Error) -> Failure {
    Failure::new(
        "file_unreadable",
        format!("could not read `{}`: {error}", path.display()),
    )
}
