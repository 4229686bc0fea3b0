//! File operations that readers see completely or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ktx_diagnostics::{Code, Failure, chain};
use tempfile::NamedTempFile;

const TEMPORARY: &str = ".ktx-tmp-";

const WRITERS: usize = 16;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot read `{path}`")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot write `{path}`")]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot remove `{path}`")]
    Remove {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let message = match &error {
            FileError::Read { path, source } => {
                format!("could not read `{}`: {source}", path.display())
            }
            FileError::Write { .. } | FileError::Remove { .. } => chain(&error).join(": "),
        };
        Self::new(Code::FileUnreadable, message)
    }
}

/// Writes nothing; ignores disk space.
pub(crate) fn require_writable(path: &Path) -> Result<(), FileError> {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).map_err(|source| FileError::Write {
        path: path.to_owned(),
        source: source.into(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteEffect {
    Changed,
    Unchanged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoveEffect {
    Gone,
    Absent,
}

pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

pub fn read_optional(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(source) => Err(FileError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Lists every file below `folder`, even hidden ones, sorted; none if it is missing. Does not
/// follow links to folders. See [`walk`](crate::walk).
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

/// Readers see the old or the new content. Creates folders, keeps permissions and links, and does
/// not write equal content. Writes directly to devices and pipes.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<WriteEffect, FileError> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return stream(path, bytes);
    }
    let target = destination(path)?;
    let folder = target.parent().unwrap_or(Path::new("."));
    put(&target, bytes, folder, FileAccess::Shared)
}

/// Like [`write_atomically`], readable only by the user.
pub fn write_privately(path: &Path, bytes: &[u8]) -> Result<WriteEffect, FileError> {
    let target = destination(path)?;
    let folder = target.parent().unwrap_or(Path::new("."));
    put(&target, bytes, folder, FileAccess::Private)
}

/// Writes a missing file. Concurrent callers all get the first writer's content.
pub(crate) fn keep_private(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, FileError> {
    let failed = |source| FileError::Write {
        path: path.to_owned(),
        source,
    };
    if read_optional(path)?.is_none() {
        let folder = path.parent().unwrap_or(Path::new("."));
        let file = fill(path, bytes, folder, FileAccess::Private).map_err(failed)?;
        match file.persist_noclobber(path) {
            Ok(_) => sync_folder(folder)?,
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error.error)),
        }
    }
    close(path, 0o600).map_err(failed)?;
    read_optional(path)?.ok_or_else(|| failed(ErrorKind::NotFound.into()))
}

fn stream(path: &Path, bytes: &[u8]) -> Result<WriteEffect, FileError> {
    let written = File::options()
        .write(true)
        .open(path)
        .and_then(|mut device| device.write_all(bytes));
    written.map_err(|source| FileError::Write {
        path: path.to_owned(),
        source,
    })?;
    Ok(WriteEffect::Changed)
}

/// One write per line, so that processes do not mix lines. Only the user can read a new file.
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

pub(crate) fn write_staged(
    path: &Path,
    bytes: &[u8],
    staging: &Path,
    access: FileAccess,
) -> Result<WriteEffect, FileError> {
    let target = destination(path)?;
    put(&target, bytes, staging, access)
}

#[derive(Debug)]
pub(crate) struct Replacement<'a> {
    pub(crate) path: PathBuf,
    pub(crate) bytes: &'a [u8],
    pub(crate) expected: Option<&'a [u8]>,
}

/// Writes concurrently, because a disk syncs neighbors together. Files without the expected content
/// stay unchanged and are returned.
pub(crate) fn replace_all(
    files: &[&Replacement<'_>],
    staging: &Path,
) -> Result<BTreeSet<PathBuf>, FileError> {
    let writers = WRITERS.min(files.len());
    let write = |first: usize| {
        let mut left = Vec::new();
        for file in files.iter().skip(first).step_by(writers) {
            if !replace(file, staging)? {
                left.push(file.path.clone());
            }
        }
        Ok(left)
    };
    let left = std::thread::scope(|scope| {
        let running: Vec<_> = (0..writers)
            .map(|first| scope.spawn(move || write(first)))
            .collect();
        let mut left = BTreeSet::new();
        for writer in running {
            left.extend(
                writer
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,
            );
        }
        Ok(left)
    })?;
    let folders: BTreeSet<&Path> = files
        .iter()
        .filter(|file| !left.contains(&file.path))
        .filter_map(|file| file.path.parent())
        .collect();
    folders.into_iter().try_for_each(sync_folder)?;
    Ok(left)
}

fn replace(file: &Replacement<'_>, staging: &Path) -> Result<bool, FileError> {
    let mut unchanged = Ok(true);
    let check = || {
        unchanged = is_unchanged(&file.path, file.expected);
        matches!(unchanged, Ok(true))
    };
    match persist(&file.path, file.bytes, staging, FileAccess::Shared, check) {
        Err(FileError::Write { source, .. })
            if matches!(
                source.kind(),
                ErrorKind::AlreadyExists | ErrorKind::NotADirectory
            ) =>
        {
            Ok(false)
        }
        done => done.and(unchanged),
    }
}

/// `None` means missing.
pub(crate) fn is_unchanged(path: &Path, expected: Option<&[u8]>) -> Result<bool, FileError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(read_optional(path)?.as_deref() == expected),
        Ok(_) => Ok(false),
        Err(error) if is_absent(&error) => Ok(expected.is_none()),
        Err(source) => Err(FileError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

#[expect(clippy::disallowed_methods, reason = "files are removed here")]
pub fn remove(path: &Path) -> Result<RemoveEffect, FileError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(RemoveEffect::Gone),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(RemoveEffect::Absent),
        Err(source) => Err(FileError::Remove {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Both must be on the same disk.
#[expect(clippy::disallowed_methods, reason = "folders are moved here")]
pub fn move_folder(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::rename(from, to).map_err(|source| FileError::Write {
        path: to.to_owned(),
        source,
    })
}

/// Does not follow links.
#[expect(clippy::disallowed_methods, reason = "folders are removed here")]
pub fn remove_folder(path: &Path) -> Result<(), FileError> {
    fs::remove_dir_all(path).map_err(|source| FileError::Remove {
        path: path.to_owned(),
        source,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileAccess {
    /// Keeps existing permissions; a new file follows the umask.
    Shared,
    Private,
}

pub(crate) fn make_private_folder(path: &Path) -> Result<(), FileError> {
    make_folder(path)?;
    close(path, 0o700).map_err(|source| FileError::Write {
        path: path.to_owned(),
        source,
    })
}

fn close(path: &Path, mode: u32) -> io::Result<()> {
    if fs::metadata(path)?.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

pub(crate) fn make_folder(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(|source| FileError::Write {
        path: path.to_owned(),
        source,
    })
}

/// Removes temporary files of ended processes.
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
    // "Not permitted" means that the process exists and belongs to another user.
    rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH)
}

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

fn put(
    path: &Path,
    bytes: &[u8],
    staging: &Path,
    access: FileAccess,
) -> Result<WriteEffect, FileError> {
    let written = place(path, bytes, staging, access)?;
    if written == WriteEffect::Changed {
        sync_folder(path.parent().unwrap_or(Path::new(".")))?;
    }
    Ok(written)
}

/// Without a sync of the folder.
fn place(
    path: &Path,
    bytes: &[u8],
    staging: &Path,
    access: FileAccess,
) -> Result<WriteEffect, FileError> {
    if read_optional(path)?.is_some_and(|found| found == bytes) {
        if access == FileAccess::Private {
            close(path, 0o600).map_err(|source| FileError::Write {
                path: path.to_owned(),
                source,
            })?;
        }
        return Ok(WriteEffect::Unchanged);
    }
    persist(path, bytes, staging, access, || true)?;
    Ok(WriteEffect::Changed)
}

/// Calls `allowed` just before the move.
fn persist(
    path: &Path,
    bytes: &[u8],
    staging: &Path,
    access: FileAccess,
    mut allowed: impl FnMut() -> bool,
) -> Result<(), FileError> {
    let failed = |source| FileError::Write {
        path: path.to_owned(),
        source,
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    for staging in [staging, folder] {
        let file = fill(path, bytes, staging, access).map_err(failed)?;
        if !allowed() {
            return Ok(());
        }
        match file.persist(path) {
            Ok(_) => return Ok(()),
            Err(error) if error.error.kind() == ErrorKind::CrossesDevices && staging != folder => {}
            Err(error) => return Err(failed(error.error)),
        }
    }
    Ok(())
}

/// A file's name is on the disk only after a sync of its folder.
fn sync_folder(folder: &Path) -> Result<(), FileError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| FileError::Write {
            path: folder.to_owned(),
            source,
        })
}

fn fill(path: &Path, bytes: &[u8], folder: &Path, access: FileAccess) -> io::Result<NamedTempFile> {
    let mode = match access {
        FileAccess::Private => Some(Permissions::from_mode(0o600)),
        FileAccess::Shared => fs::metadata(path).ok().map(|found| found.permissions()),
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
