//! Why a file of the workspace cannot be used.

use rustix::io::Errno;

/// The largest file that is read or written, in bytes.
pub const MOST_FILE_BYTES: usize = 1024 * 1024;

/// Why a file of the workspace cannot be used. The texts are for a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceFault {
    /// An absolute path, a `..`, a link.
    #[error("outside the workspace: `{0}`; name a file below it, without `..` and links")]
    Outside(String),
    /// A hidden file, or one that the project keeps out of git.
    #[error(
        "`{0}` is not part of the workspace: hidden files and files that git ignores are left out"
    )]
    LeftOut(String),
    #[error("there is no `{0}`; `file_list` shows what there is")]
    Missing(String),
    #[error("`{0}` is a folder")]
    Folder(String),
    /// A device, a pipe or a socket.
    #[error("`{0}` is not a file")]
    NoFile(String),
    #[error("`{0}` is not a text file")]
    NoText(String),
    #[error("`{0}` has more than {limit} KiB", limit = MOST_FILE_BYTES >> 10)]
    TooLong(String),
    /// The file is not as it was read, or was not read.
    #[error("stale: `{path}` {why}; read it with `file_read`, then write again")]
    Stale {
        path: String,
        /// What was noticed.
        why: &'static str,
    },
    #[error("`{path}` cannot be used: {reason}")]
    System {
        path: String,
        /// What the system says.
        reason: String,
    },
}

impl WorkspaceFault {
    /// The fault of an operation on one path.
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
