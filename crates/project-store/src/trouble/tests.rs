//! Tests every kind of problem, from messages of the system, SQLite and git.

use std::io;

use rusqlite::ffi;

use super::{StorageTrouble, cause_chain};
use crate::{GitError, PublishError, StateError};

fn sqlite(code: i32) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some("said".to_owned()))
}

#[test]
fn each_trouble_is_known_by_its_code() {
    let of_io = |code| StorageTrouble::of(&io::Error::from_raw_os_error(code));
    let of_sqlite = |code| StorageTrouble::of(&sqlite(code));
    let of_git = |message: &str| {
        StorageTrouble::of(&PublishError::Git(GitError::Failed {
            command: "fast-import".to_owned(),
            message: message.to_owned(),
        }))
    };
    assert_eq!(
        [
            ("ENOSPC", of_io(28)),
            ("EROFS", of_io(30)),
            ("EACCES", of_io(13)),
            ("EMFILE", of_io(24)),
            ("ENFILE", of_io(23)),
            ("ENOENT", of_io(2)),
            ("FULL", of_sqlite(ffi::SQLITE_FULL)),
            ("READONLY_DIRECTORY", of_sqlite(1544)),
            ("CORRUPT", of_sqlite(ffi::SQLITE_CORRUPT)),
            ("NOTADB", of_sqlite(ffi::SQLITE_NOTADB)),
            ("CANTOPEN", of_sqlite(ffi::SQLITE_CANTOPEN)),
            ("BUSY_SNAPSHOT", of_sqlite(517)),
            ("IOERR_SHMSIZE", of_sqlite(4874)),
            ("CONSTRAINT", of_sqlite(ffi::SQLITE_CONSTRAINT)),
            (
                "git, read-only",
                of_git("fatal: Unable to create temporary file 'x': Read-only file system")
            ),
            (
                "git, full",
                of_git("fatal: write error: No space left on device")
            ),
            ("git, else", of_git("fatal: bad object HEAD")),
        ],
        [
            ("ENOSPC", Some(StorageTrouble::Full)),
            ("EROFS", Some(StorageTrouble::ReadOnly)),
            ("EACCES", Some(StorageTrouble::Denied)),
            ("EMFILE", Some(StorageTrouble::TooManyFiles)),
            ("ENFILE", Some(StorageTrouble::TooManyFiles)),
            ("ENOENT", None),
            ("FULL", Some(StorageTrouble::Full)),
            ("READONLY_DIRECTORY", Some(StorageTrouble::ReadOnly)),
            ("CORRUPT", Some(StorageTrouble::Damaged)),
            ("NOTADB", Some(StorageTrouble::Damaged)),
            ("CANTOPEN", Some(StorageTrouble::Unopenable)),
            ("BUSY_SNAPSHOT", Some(StorageTrouble::Busy)),
            ("IOERR_SHMSIZE", Some(StorageTrouble::Disk)),
            ("CONSTRAINT", None),
            ("git, read-only", Some(StorageTrouble::ReadOnly)),
            ("git, full", Some(StorageTrouble::Full)),
            ("git, else", None),
        ]
    );
}

#[test]
fn codes_of_a_database_become_words() {
    let error = StateError::Database {
        path: "/p/.ktx/state/ktx.sqlite".into(),
        source: sqlite(ffi::SQLITE_NOTADB),
    };
    assert_eq!(StorageTrouble::of(&error), Some(StorageTrouble::Damaged));
    assert_eq!(
        cause_chain(&error),
        [
            "the local database `/p/.ktx/state/ktx.sqlite` cannot be used",
            "the file is damaged, or it is not a database",
        ]
    );
    let other = sqlite(ffi::SQLITE_CONSTRAINT);
    assert_eq!(cause_chain(&other), ktx_diagnostics::chain(&other));
}
