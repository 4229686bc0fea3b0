//! Wording and remedies for failures of the machine, such as a full disk.

use std::error::Error;
use std::io::{self, ErrorKind};

use ktx_diagnostics::{Code, Failure, Hint};
use rusqlite::ffi;

use crate::{GitError, HistoryError, PublishError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageTrouble {
    /// Disk or quota.
    Full,
    ReadOnly,
    Denied,
    /// The process or the machine has no descriptor left.
    TooManyFiles,
    Damaged,
    /// The database, or the folder that it must write in.
    Unopenable,
    Busy,
    /// The disk is full or broken; SQLite does not say which.
    Disk,
}

impl StorageTrouble {
    pub fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            let found = direct_trouble(error);
            if found.is_some() {
                return found;
            }
            next = error.source();
        }
        None
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Full => "no space is left on the disk",
            Self::ReadOnly => "the file, or its file system, is read-only",
            Self::Denied => "permission denied",
            Self::TooManyFiles => "too many open files",
            Self::Damaged => "the file is damaged, or it is not a database",
            Self::Unopenable => "its folder cannot be written, or it is not a file",
            Self::Busy => "another program has locked it",
            Self::Disk => "the disk failed, or it is full",
        }
    }

    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Full => "free space on that disk",
            Self::ReadOnly => {
                "make it writable, or move the project to a file system that can be written"
            }
            Self::Denied => {
                "give your user permission to read and write it (`ls -l` shows who has it)"
            }
            Self::TooManyFiles => "allow more open files, such as with `ulimit -n 1024`",
            Self::Damaged => "move that file away: ktx makes a new one",
            Self::Unopenable => {
                "make its folder writable, and check whether something else has its name"
            }
            Self::Busy => "wait until the other program has ended",
            Self::Disk => "check whether the disk is full (`df`) and free space",
        }
    }

    pub fn next_step(self) -> String {
        format!("{}; then run the command again", self.remedy())
    }
}

/// Adds a next step for failures of the machine.
pub fn failure_of(code: Code, error: &(dyn Error + 'static)) -> Failure {
    let mut chain = cause_chain(error).into_iter();
    let message = chain.next().unwrap_or_default();
    let next_step = StorageTrouble::of(error).map(StorageTrouble::next_step);
    Failure {
        causes: chain.collect(),
        hints: next_step.map(Hint::new).into_iter().collect(),
        ..Failure::new(code, message)
    }
}

/// Like [`ktx_diagnostics::chain`], with words for a database's codes.
pub fn cause_chain(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let database = error
            .downcast_ref::<rusqlite::Error>()
            .and_then(of_database);
        let text = database.map_or_else(|| error.to_string(), |found| found.words().to_owned());
        if texts.last().is_none_or(|last| *last != text) {
            texts.push(text);
        }
        next = database.is_none().then(|| error.source()).flatten();
    }
    texts
}

fn direct_trouble(error: &(dyn Error + 'static)) -> Option<StorageTrouble> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return of_io(error);
    }
    if let Some(error) = error.downcast_ref::<rusqlite::Error>() {
        return of_database(error);
    }
    let git = error.downcast_ref::<GitError>();
    let git = git.or_else(|| match error.downcast_ref::<PublishError>()? {
        PublishError::Git(error) => Some(error),
        _ => None,
    });
    let git = git.or_else(|| match error.downcast_ref::<HistoryError>()? {
        HistoryError::Git(error) => Some(error),
        _ => None,
    });
    match git? {
        GitError::Failed { message, .. } | GitError::Unusable { message, .. } => of_git(message),
        GitError::Missing
        | GitError::Start { .. }
        | GitError::TooOld { .. }
        | GitError::Locked { .. } => None,
    }
}

fn of_io(error: &io::Error) -> Option<StorageTrouble> {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some(StorageTrouble::Full),
        ErrorKind::ReadOnlyFilesystem => Some(StorageTrouble::ReadOnly),
        ErrorKind::PermissionDenied => Some(StorageTrouble::Denied),
        // ENFILE and EMFILE have no `ErrorKind`.
        _ => matches!(error.raw_os_error(), Some(23 | 24)).then_some(StorageTrouble::TooManyFiles),
    }
}

fn of_database(error: &rusqlite::Error) -> Option<StorageTrouble> {
    match error.sqlite_error()?.extended_code & 0xff {
        ffi::SQLITE_FULL => Some(StorageTrouble::Full),
        ffi::SQLITE_READONLY => Some(StorageTrouble::ReadOnly),
        ffi::SQLITE_PERM | ffi::SQLITE_AUTH => Some(StorageTrouble::Denied),
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => Some(StorageTrouble::Damaged),
        ffi::SQLITE_CANTOPEN => Some(StorageTrouble::Unopenable),
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => Some(StorageTrouble::Busy),
        ffi::SQLITE_IOERR => Some(StorageTrouble::Disk),
        _ => None,
    }
}

/// Git's English messages about system errors.
fn of_git(message: &str) -> Option<StorageTrouble> {
    let words = [
        ("No space left on device", StorageTrouble::Full),
        ("Disk quota exceeded", StorageTrouble::Full),
        ("Read-only file system", StorageTrouble::ReadOnly),
        ("Permission denied", StorageTrouble::Denied),
        ("insufficient permission", StorageTrouble::Denied),
        ("Too many open files", StorageTrouble::TooManyFiles),
    ];
    let found = words.iter().find(|(words, _)| message.contains(words));
    found.map(|(_, trouble)| *trouble)
}

#[cfg(test)]
mod tests;
