//! Whether files have changed, without reading them.
//!
//! A stamp is made of what the file system says of a file: size, times of modification and of the
//! last change of any kind, number. The last two cannot be set by programs, so an edit in place that
//! sets the time of modification back shows. Within one tick of the clock nothing shows: the stamp of
//! a file that has just changed holds a digest of its content as well. So every stamp may be kept,
//! and equal stamps mean equal content.

use std::fs::{self, Metadata};
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ktx_diagnostics::{Code, Failure};
use ktx_project_store::{LeftOut, WhyLeftOut};
use sha2::{Digest as _, Sha256};

use super::Inner;

/// A file that has changed this lately may change again within the same tick of the coarsest clock.
const YOUNG: Duration = Duration::from_secs(2);

/// One file below a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileEntry {
    /// The path below the folder, with `/`.
    pub(super) path: String,
    /// Changes when the file changes.
    pub(super) stamp: String,
}

/// The files below a folder.
#[derive(Debug, Clone, Default)]
pub(super) struct FolderFiles {
    /// The files, ordered by path.
    pub(super) entries: Vec<FileEntry>,
    /// What does not count.
    pub(super) left_out: Vec<LeftOut>,
}

impl Inner {
    /// The stamp of one file; `None` when it is not there.
    pub(super) fn stamp(&self, path: &Path) -> Result<Option<String>, Failure> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(of(path, &metadata, (self.parts.now)()))),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(unreadable(path, &error)),
        }
    }

    /// All files below a folder that count. A folder that is not there has none; one that lies
    /// outside of the project is a failure.
    pub(super) fn files(&self, folder: &Path) -> Result<FolderFiles, Failure> {
        let walked = ktx_project_store::walk(&self.parts.root, folder)?;
        if let Some(whole) = walked.left_out.iter().find(|one| one.place == folder) {
            return Err(self.left_out(whole));
        }
        for one in &walked.left_out {
            if one.why == WhyLeftOut::LeavesProject {
                tracing::warn!(path = %one.place.display(), "a link that leads out of the project is not read");
            }
        }
        let now = (self.parts.now)();
        let entries = walked.files.into_iter().map(|file| FileEntry {
            stamp: of(&file.place, &file.metadata, now),
            path: file.path,
        });
        Ok(FolderFiles {
            entries: entries.collect(),
            left_out: walked.left_out,
        })
    }

    /// The names of the folders in a folder, ordered, and what looks like one and does not count.
    pub(super) fn folders(&self, folder: &Path) -> Result<ktx_project_store::Folders, Failure> {
        let found = ktx_project_store::folders(&self.parts.root, folder)?;
        match found.left_out.iter().find(|one| one.place == folder) {
            Some(whole) => Err(self.left_out(whole)),
            None => Ok(found),
        }
    }

    /// What is said of an entry that does not count.
    pub(super) fn left_out(&self, entry: &LeftOut) -> Failure {
        let place = entry.place.strip_prefix(&self.parts.root);
        let place = place.unwrap_or(&entry.place);
        let code = match entry.why {
            WhyLeftOut::LeavesProject => Code::OutsideProject,
            WhyLeftOut::LinkedFolder
            | WhyLeftOut::LeadsNowhere
            | WhyLeftOut::TooDeep
            | WhyLeftOut::Closed => Code::LeftOut,
        };
        let failure = Failure::new(code, format!("`{}` {}", place.display(), entry.why.text()));
        match entry.why {
            WhyLeftOut::LeavesProject => {
                failure.hint("put the files themselves into the project, or remove the link")
            }
            _ => failure,
        }
    }
}

/// The stamp of one file; `None` when it cannot be looked at.
pub(crate) fn stamp_at(path: &Path, now: SystemTime) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    Some(of(path, &metadata, now))
}

/// One short text for many.
pub(super) fn digest_of<'p>(parts: impl Iterator<Item = &'p str>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update(b"\n");
    }
    let digits = hasher.finalize();
    let digits = digits.iter().map(|byte| format!("{byte:02x}"));
    digits.collect::<Vec<_>>().concat()
}

/// What changes whenever a file changes.
fn of(path: &Path, metadata: &Metadata, now: SystemTime) -> String {
    let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    let told = format!(
        "{}:{}.{}:{}",
        metadata.len(),
        since.as_secs(),
        since.subsec_nanos(),
        inner(metadata)
    );
    if !is_young(metadata, modified, now) {
        return told;
    }
    match fs::read(path) {
        Ok(bytes) => {
            let digest = Sha256::digest(&bytes);
            let digest = digest.iter().map(|byte| format!("{byte:02x}"));
            format!("{told}:{}", digest.collect::<Vec<_>>().concat())
        }
        // Whoever reads the file says so.
        Err(_) => format!("{told}:unread"),
    }
}

/// Whether a file may still change without a trace in its metadata.
fn is_young(metadata: &Metadata, modified: SystemTime, now: SystemTime) -> bool {
    // Programs may set the time of modification to any time, far ahead as well.
    let near = |time: SystemTime| match now.duration_since(time) {
        Ok(age) => age < YOUNG,
        Err(ahead) => ahead.duration() < YOUNG,
    };
    let settled = |time: SystemTime| now.duration_since(time).is_ok_and(|age| age >= YOUNG);
    near(modified) || changed(metadata).is_some_and(|time| !settled(time))
}

/// When anything about a file has changed, where the system tells.
#[cfg(unix)]
fn changed(metadata: &Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt as _;
    let seconds = u64::try_from(metadata.ctime()).ok()?;
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).ok()?;
    UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))
}

#[cfg(not(unix))]
fn changed(_metadata: &Metadata) -> Option<SystemTime> {
    None
}

/// The time of the last change and the number of a file: one that was replaced has another number.
#[cfg(unix)]
fn inner(metadata: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt as _;
    format!(
        "{}.{}:{}",
        metadata.ctime(),
        metadata.ctime_nsec(),
        metadata.ino()
    )
}

#[cfg(not(unix))]
fn inner(_metadata: &Metadata) -> String {
    String::new()
}

pub(super) fn is_absent(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

pub(super) fn unreadable(path: &Path, error: &Error) -> Failure {
    Failure::new(
        Code::FileUnreadable,
        format!("could not read `{}`: {error}", path.display()),
    )
}

#[cfg(test)]
mod tests;
