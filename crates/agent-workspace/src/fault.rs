//! Errors of workspace files.

use rustix::io::Errno;

/// Maximum size of a file that is read or written, in bytes.
pub const MOST_FILE_BYTES: usize = 1024 * 1024;

/// Error of a workspace file, in words for a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceFault {
    #[error("outside the workspace: `{0}`; name a file below it, without `..` and links")]
    Outside(String),
    #[error(
        "`{0}` is not part of the workspace: hidden files and files that git ignores are left out"
    )]
    LeftOut(String),
    #[error("there is no `{0}`; `file_list` shows what there is")]
    Missing(String),
    #[error("`{0}` is a folder")]
    Folder(String),
    #[error("`{0}` is not a file")]
    NoFile(String),
    #[error("`{0}` is not a text file")]
    NoText(String),
    #[error("`{0}` has more than {limit} KiB", limit = MOST_FILE_BYTES >> 10)]
    TooLong(String),
    #[error("stale: `{path}` {why}; read it with `file_read`, then write again")]
    Stale { path: String, why: &'static str },
    #[error("`{path}` cannot be used: {reason}")]
    System { path: String, reason: String },
}

impl WorkspaceFault {
    pub(crate) fn of(path: &str, error: Errno) -> Self {
        let path = path.to_owned();
        match error {
            // A link where none is followed.
            Errno::LOOP | Errno::MLINK => Self::Outside(path),
            Errno::NOENT => Self::Missing(path),
            Errno::ISDIR => Self::Folder(path),
            Errno::NXIO => Self::NoFile(path),
            other => Self::System {
                path,
                reason: std::io::Error::from(other).to_string(),
            },
        }
    }
}
