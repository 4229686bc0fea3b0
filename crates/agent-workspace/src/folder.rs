//! A folder whose files are opened part by part, without following links.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, fchmod, fstat, fsync, linkat, mkdirat, open, openat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::fault::{MOST_FILE_BYTES, WorkspaceFault};

/// Maximum entries in a listing.
pub const MOST_ENTRIES: usize = 1_000;

const TEMPORARY: &str = ".ktx-tmp-";

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

pub(crate) type ContentDigest = [u8; 32];

pub(crate) fn digest(content: &[u8]) -> ContentDigest {
    Sha256::digest(content).into()
}

/// Required state before a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Absent,
    /// SHA-256 of the content.
    Content([u8; 32]),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub name: String,
    pub kind: EntryKind,
    /// Bytes; 0 for a folder.
    pub size: u64,
}

/// Kind of an entry. Links and devices are not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    Folder,
    File,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    pub entries: Vec<Entry>,
    pub is_cut: bool,
}

/// An open folder. Paths are relative to it, with `/`.
#[derive(Debug)]
pub struct LocalFolder {
    root: OwnedFd,
}

pub(crate) fn parts(path: &str) -> Result<Vec<&str>, WorkspaceFault> {
    let outside = || WorkspaceFault::Outside(path.to_owned());
    if path.starts_with('/') || path.contains(['\0', '\\']) {
        return Err(outside());
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(outside()),
            hidden if hidden.starts_with('.') => {
                return Err(WorkspaceFault::LeftOut(path.to_owned()));
            }
            part => parts.push(part),
        }
    }
    Ok(parts)
}

impl LocalFolder {
    /// Opens a folder. It stays the same folder if its path changes later.
    pub fn open(folder: &Path) -> std::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            root: open(folder, flags, Mode::empty())?,
        })
    }

    pub fn read(&self, path: &str) -> Result<Vec<u8>, WorkspaceFault> {
        let (folder, name) = self.located(path)?;
        read_at(&folder, name, path)
    }

    pub fn list(&self, path: &str) -> Result<Listing, WorkspaceFault> {
        let folder = self.descend(&parts(path)?, path)?;
        let failed = |error| WorkspaceFault::of(path, error);
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            // An entry may vanish between both calls.
            let Ok(found) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let kind = match FileType::from_raw_mode(found.st_mode) {
                FileType::Directory => EntryKind::Folder,
                FileType::RegularFile => EntryKind::File,
                _ => continue,
            };
            let size = match kind {
                EntryKind::Folder => 0,
                EntryKind::File => u64::try_from(found.st_size).unwrap_or_default(),
            };
            entries.push(Entry {
                name: name.to_owned(),
                kind,
                size,
            });
        }
        entries.sort();
        let is_cut = entries.len() > MOST_ENTRIES;
        entries.truncate(MOST_ENTRIES);
        Ok(Listing { entries, is_cut })
    }

    /// Writes a file atomically, if it is as expected. Creates missing folders.
    pub fn write(
        &self,
        path: &str,
        content: &[u8],
        expected: Expected,
    ) -> Result<(), WorkspaceFault> {
        if content.len() > MOST_FILE_BYTES {
            return Err(WorkspaceFault::TooLong(path.to_owned()));
        }
        let parts = parts(path)?;
        let Some((name, folders)) = parts.split_last() else {
            return Err(WorkspaceFault::Folder(path.to_owned()));
        };
        let folder = match expected {
            Expected::Absent => self.descend_creating(folders, path)?,
            Expected::Content(_) => self.descend(folders, path)?,
        };
        let failed = |error| WorkspaceFault::of(path, error);
        let temporary = format!("{TEMPORARY}{}-{name}", std::process::id());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&folder, &temporary, flags, Mode::from_raw_mode(0o644));
        let written = fill(file.map_err(failed)?, content, path)
            .and_then(|file| put(&folder, &temporary, name, path, &file, expected));
        if written.is_err() || expected == Expected::Absent {
            // After a rename there is nothing to remove.
            unlinkat(&folder, &temporary, AtFlags::empty()).or_else(|error| match error {
                Errno::NOENT => Ok(()),
                other => Err(failed(other)),
            })?;
        }
        written?;
        fsync(&folder).map_err(failed)
    }

    fn located<'p>(&self, path: &'p str) -> Result<(OwnedFd, &'p str), WorkspaceFault> {
        let parts = parts(path)?;
        let Some((name, folders)) = parts.split_last() else {
            return Err(WorkspaceFault::Folder(path.to_owned()));
        };
        Ok((self.descend(folders, path)?, name))
    }

    fn descend(&self, folders: &[&str], path: &str) -> Result<OwnedFd, WorkspaceFault> {
        let failed = |error| WorkspaceFault::of(path, error);
        let mut folder = openat(&self.root, ".", FOLDER, Mode::empty()).map_err(failed)?;
        for part in folders {
            folder = below(&folder, part, path)?;
        }
        Ok(folder)
    }

    fn descend_creating(&self, folders: &[&str], path: &str) -> Result<OwnedFd, WorkspaceFault> {
        let failed = |error| WorkspaceFault::of(path, error);
        let mut folder = openat(&self.root, ".", FOLDER, Mode::empty()).map_err(failed)?;
        for part in folders {
            match mkdirat(&folder, *part, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
            folder = below(&folder, part, path)?;
        }
        Ok(folder)
    }
}

fn below(folder: &OwnedFd, part: &str, path: &str) -> Result<OwnedFd, WorkspaceFault> {
    openat(folder, part, FOLDER, Mode::empty()).map_err(|error| match error {
        // The system does not treat a link as a folder.
        Errno::NOTDIR if is_link(folder, part) => WorkspaceFault::Outside(path.to_owned()),
        Errno::NOTDIR => WorkspaceFault::Missing(path.to_owned()),
        other => WorkspaceFault::of(path, other),
    })
}

fn is_link(folder: &OwnedFd, name: &str) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

fn read_at(folder: &OwnedFd, name: &str, path: &str) -> Result<Vec<u8>, WorkspaceFault> {
    let failed = |error| WorkspaceFault::of(path, error);
    // Non-blocking, because opening a pipe would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty()).map_err(failed)?;
    let found = fstat(&file).map_err(failed)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(WorkspaceFault::Folder(path.to_owned())),
        _ => return Err(WorkspaceFault::NoFile(path.to_owned())),
    }
    let mut content = Vec::new();
    let limit = u64::try_from(MOST_FILE_BYTES).unwrap_or(u64::MAX);
    let read = std::fs::File::from(file)
        .take(limit + 1)
        .read_to_end(&mut content);
    read.map_err(|error| WorkspaceFault::System {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    if content.len() > MOST_FILE_BYTES {
        return Err(WorkspaceFault::TooLong(path.to_owned()));
    }
    Ok(content)
}

fn fill(file: OwnedFd, content: &[u8], path: &str) -> Result<std::fs::File, WorkspaceFault> {
    let mut file = std::fs::File::from(file);
    let written = file.write_all(content).and_then(|()| file.sync_all());
    written.map_err(|error| WorkspaceFault::System {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(file)
}

/// Renames a written file if the target is as expected.
fn put(
    folder: &OwnedFd,
    temporary: &str,
    name: &str,
    path: &str,
    file: &std::fs::File,
    expected: Expected,
) -> Result<(), WorkspaceFault> {
    let failed = |error| WorkspaceFault::of(path, error);
    let stale = |why| WorkspaceFault::Stale {
        path: path.to_owned(),
        why,
    };
    match expected {
        // A hard link fails if the name exists, whatever it is.
        Expected::Absent => {
            linkat(folder, temporary, folder, name, AtFlags::empty()).map_err(|error| match error {
                Errno::EXIST if is_link(folder, name) => WorkspaceFault::Outside(path.to_owned()),
                Errno::EXIST => stale("exists and was not read"),
                other => failed(other),
            })
        }
        Expected::Content(before) => {
            let now = match read_at(folder, name, path) {
                Ok(now) => now,
                Err(WorkspaceFault::Missing(_)) => {
                    return Err(stale("was removed since it was read"));
                }
                Err(WorkspaceFault::TooLong(_)) => {
                    return Err(stale("has changed since it was read"));
                }
                Err(other) => return Err(other),
            };
            if digest(&now) != before {
                return Err(stale("has changed since it was read"));
            }
            let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
            fchmod(file.as_fd(), Mode::from_raw_mode(found.st_mode & 0o777)).map_err(failed)?;
            renameat(folder, temporary, folder, name).map_err(failed)
        }
    }
}
