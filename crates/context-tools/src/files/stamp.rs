//! Detects changed files without reading them.
//!
//! A stamp has a file's size, times of modification and of any change, and number. Programs cannot
//! set the last two. A young file can change within one clock tick, so its stamp also has a digest.
//! Equal stamps mean equal content.

use std::fs::{self, Metadata};
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ktx_diagnostics::{Code, Failure};
use ktx_project_store::{OmissionReason, OmittedFile};
use sha2::{Digest as _, Sha256};

use super::Inner;

/// A younger file can change again within the same tick of the coarsest clock.
const YOUNG: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileEntry {
    pub(super) path: String,
    pub(super) stamp: String,
}

#[derive(Debug, Clone, Default)]
pub(super) struct FolderFiles {
    /// Ordered by path.
    pub(super) entries: Vec<FileEntry>,
    pub(super) left_out: Vec<OmittedFile>,
}

impl Inner {
    pub(super) fn stamp(&self, path: &Path) -> Result<Option<String>, Failure> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(of(path, &metadata, (self.parts.now)()))),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(unreadable(path, &error)),
        }
    }

    /// A missing folder has no files.
    pub(super) fn files(&self, folder: &Path) -> Result<FolderFiles, Failure> {
        let walked = ktx_project_store::walk(&self.parts.root, folder)?;
        if let Some(whole) = walked.left_out.iter().find(|one| one.place == folder) {
            return Err(self.left_out(whole));
        }
        for one in &walked.left_out {
            if one.why == OmissionReason::LeavesProject {
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

    pub(super) fn folders(&self, folder: &Path) -> Result<ktx_project_store::FolderList, Failure> {
        let found = ktx_project_store::folders(&self.parts.root, folder)?;
        match found.left_out.iter().find(|one| one.place == folder) {
            Some(whole) => Err(self.left_out(whole)),
            None => Ok(found),
        }
    }

    pub(super) fn left_out(&self, entry: &OmittedFile) -> Failure {
        let place = entry.place.strip_prefix(&self.parts.root);
        let place = place.unwrap_or(&entry.place);
        let code = match entry.why {
            OmissionReason::LeavesProject => Code::OutsideProject,
            OmissionReason::LinkedFolder
            | OmissionReason::LeadsNowhere
            | OmissionReason::TooDeep
            | OmissionReason::Closed => Code::LeftOut,
        };
        let failure = Failure::new(code, format!("`{}` {}", place.display(), entry.why.text()));
        match entry.why {
            OmissionReason::LeavesProject => {
                failure.hint("put the files themselves into the project, or remove the link")
            }
            _ => failure,
        }
    }
}

pub(crate) fn stamp_at(path: &Path, now: SystemTime) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    Some(of(path, &metadata, now))
}

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
        // The reader of the file reports the reason.
        Err(_) => format!("{told}:unread"),
    }
}

fn is_young(metadata: &Metadata, modified: SystemTime, now: SystemTime) -> bool {
    // Programs can set the time of modification to the future.
    let near = |time: SystemTime| match now.duration_since(time) {
        Ok(age) => age < YOUNG,
        Err(ahead) => ahead.duration() < YOUNG,
    };
    let settled = |time: SystemTime| now.duration_since(time).is_ok_and(|age| age >= YOUNG);
    near(modified) || changed(metadata).is_some_and(|time| !settled(time))
}

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

/// Includes the file's number, because a replaced file has another one.
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
