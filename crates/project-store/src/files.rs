//! Files that are there whole or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// How files begin that have no name yet; the id of the process that makes them follows.
const TEMPORARY: &str = ".ktx-tmp-";

/// How many files are made safe at the same time.
const WRITERS: usize = 16;

/// Why a file could not be read, written or removed.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// It cannot be removed.
    #[error("cannot remove `{path}`")]
    Remove {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The file is new or has new content.
    Changed,
    /// The file had that content already and was not touched.
    Unchanged,
}

/// What a removal did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// The file is gone now.
    Gone,
    /// There was no such file.
    Absent,
}

/// The bytes of a file; none when there is no such file.
pub fn read_optional(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(source) => Err(FileError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Every file below `folder`, sorted by path; none when there is no such folder. Links to folders
/// are not followed.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |source| FileError::Read {
            path: folder.clone(),
            source,
        };
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(source) => return Err(failed(source)),
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push(entry.path());
            } else if entry.path().is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Writes a file so that readers see the old content or the new one, never a part: a new file in
/// the same folder, synced, renamed over the old one. Missing folders are made; permissions of an
/// existing file and a symbolic link to it stay; equal content is not written.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<Written, FileError> {
    let target = destination(path)?;
    let folder = target.parent().unwrap_or(Path::new("."));
    put(&target, bytes, folder, Access::Shared)
}

/// Adds a line to the end of a file, which only the user may read when it is new. The line is
/// written with its line feed in one piece, so that lines of several processes do not mix.
pub fn append_line(path: &Path, line: &[u8]) -> Result<(), FileError> {
    let failed = |source| FileError::Write {
        path: path.to_owned(),
        source,
    };
    let mut file = File::options()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    let mut whole = Vec::with_capacity(line.len() + 1);
    whole.extend_from_slice(line);
    whole.push(b'\n');
    file.write_all(&whole).map_err(failed)
}

/// As [`write_atomically`], with the unnamed file in `staging`, and `access` for a new file.
pub(crate) fn write_staged(
    path: &Path,
    bytes: &[u8],
    staging: &Path,
    access: Access,
) -> Result<Written, FileError> {
    let target = destination(path)?;
    put(&target, bytes, staging, access)
}

/// As [`write_staged`] for many files, several at a time: a disk that makes one file safe makes its
/// neighbours safe with it. Readers may see some of them new and others old.
pub(crate) fn write_all_staged(
    files: &[(PathBuf, &[u8])],
    staging: &Path,
) -> Result<(), FileError> {
    let writers = WRITERS.min(files.len());
    let write = |first: usize| {
        for (path, bytes) in files.iter().skip(first).step_by(writers) {
            place(&destination(path)?, bytes, staging, Access::Shared)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..writers)
            .map(|first| scope.spawn(move || write(first)))
            .collect();
        running.into_iter().try_for_each(|writer| {
            writer
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    let mut folders = BTreeSet::new();
    for (path, _) in files {
        folders.insert(destination(path)?.parent().map(Path::to_owned));
    }
    folders
        .into_iter()
        .flatten()
        .try_for_each(|folder| sync_folder(&folder))
}

/// Removes a file.
#[expect(clippy::disallowed_methods, reason = "files are removed here")]
pub fn remove(path: &Path) -> Result<Removed, FileError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(Removed::Gone),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Removed::Absent),
        Err(source) => Err(FileError::Remove {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Whom the user's file mask allows.
    Shared,
    /// Only the user.
    Private,
}

/// Makes a folder with its parents.
pub(crate) fn make_folder(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(|source| FileError::Write {
        path: path.to_owned(),
        source,
    })
}

/// Removes the unnamed files in `folder` whose process is gone.
pub(crate) fn sweep(folder: &Path) -> Result<(), FileError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(FileError::Read {
                path: folder.to_owned(),
                source,
            });
        }
    };
    for entry in entries {
        let entry = entry.map_err(|source| FileError::Read {
            path: folder.to_owned(),
            source,
        })?;
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY));
        let process = process.and_then(|rest| rest.split('-').next()?.parse().ok());
        if process.is_some_and(|process| !is_alive(process)) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn is_alive(process: i32) -> bool {
    let Some(process) = rustix::process::Pid::from_raw(process) else {
        return false;
    };
    // Not permitted means that it lives and is somebody else's.
    rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH)
}

/// Where a write to `path` ends up: the target of a symbolic link.
fn destination(path: &Path) -> Result<PathBuf, FileError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            fs::canonicalize(path).map_err(|source| FileError::Write {
                path: path.to_owned(),
                source,
            })
        }
        _ => Ok(path.to_owned()),
    }
}

fn put(path: &Path, bytes: &[u8], staging: &Path, access: Access) -> Result<Written, FileError> {
    let written = place(path, bytes, staging, access)?;
    if written == Written::Changed {
        sync_folder(path.parent().unwrap_or(Path::new(".")))?;
    }
    Ok(written)
}

/// Puts a file in its place; its name is not yet safe.
fn place(path: &Path, bytes: &[u8], staging: &Path, access: Access) -> Result<Written, FileError> {
    if read_optional(path)?.is_some_and(|found| found == bytes) {
        return Ok(Written::Unchanged);
    }
    let failed = |source| FileError::Write {
        path: path.to_owned(),
        source,
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let file = match fill(path, bytes, staging, access)
        .map_err(failed)?
        .persist(path)
    {
        Ok(file) => file,
        Err(error) if error.error.kind() == ErrorKind::CrossesDevices => {
            let again = fill(path, bytes, folder, access).map_err(failed)?;
            again.persist(path).map_err(|error| failed(error.error))?
        }
        Err(error) => return Err(failed(error.error)),
    };
    drop(file);
    Ok(Written::Changed)
}

/// A name is on the disk when its folder is.
fn sync_folder(folder: &Path) -> Result<(), FileError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| FileError::Write {
            path: folder.to_owned(),
            source,
        })
}

fn fill(path: &Path, bytes: &[u8], folder: &Path, access: Access) -> io::Result<NamedTempFile> {
    let mode = match (fs::metadata(path), access) {
        (Ok(found), _) => Some(found.permissions()),
        (Err(_), Access::Private) => Some(Permissions::from_mode(0o600)),
        (Err(_), Access::Shared) => None,
    };
    let prefix = format!("{TEMPORARY}{}-", std::process::id());
    let mut file = tempfile::Builder::new()
        .prefix(&prefix)
        .permissions(Permissions::from_mode(if mode.is_some() {
            0o600
        } else {
            0o666
        }))
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(mode) = mode {
        file.as_file().set_permissions(mode)?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests;
