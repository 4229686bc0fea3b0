//! Why a log cannot be used.

use std::io;
use std::path::PathBuf;

use ktx_diagnostics::{Hint, Hints};
use ktx_project_store::{FileError, Holder};

use crate::{InvalidSessionId, SessionId};

/// Why a log cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The text cannot name a session.
    #[error(transparent)]
    Id(#[from] InvalidSessionId),
    /// No session has this id.
    #[error("there is no session `{wanted}`{}", similar(.nearest))]
    NotFound {
        /// What was looked for.
        wanted: String,
        /// The ids most like it, nearest first.
        nearest: Vec<String>,
    },
    /// Several sessions have ids that begin so.
    #[error("`{prefix}` is the beginning of {matches} session ids")]
    Ambiguous {
        /// The beginning.
        prefix: String,
        /// How many sessions it fits.
        matches: usize,
    },
    /// A session of this id exists.
    #[error("there is a session `{id}` already")]
    Exists {
        /// The session.
        id: SessionId,
    },
    /// Another writer has the log open.
    #[error("the session `{id}` is in use{}", by(.holder.as_ref()))]
    Busy {
        /// The session.
        id: SessionId,
        /// The writer, if it has written its name.
        holder: Option<Holder>,
    },
    /// A line in the middle of the log is wrong.
    #[error("{}:{line}: the record is damaged: {reason}", .path.display())]
    Damaged {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The log has a format that this version does not know.
    #[error("{}:1: the log has format {format}, and this ktx reads format {}", .path.display(), crate::FORMAT)]
    Format {
        /// The log.
        path: PathBuf,
        /// Its format.
        format: String,
    },
    /// The log cannot be read.
    #[error("cannot read `{}`", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The log cannot be written. The record is kept in memory and written with the next one.
    #[error("cannot write `{}`", .path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The log could not be written for so long that no further record is kept in memory.
    #[error("cannot write `{}`: {waiting} records are waiting, and no more are kept", .path.display())]
    Full {
        /// The log.
        path: PathBuf,
        /// How many records are in memory.
        waiting: usize,
    },
    /// The folder of a session cannot be removed.
    #[error(transparent)]
    File(#[from] FileError),
}

fn similar(nearest: &[String]) -> String {
    nearest
        .first()
        .map_or_else(String::new, |id| format!("; did you mean `{id}`?"))
}

fn by(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| {
        format!(" by `{}` (process {})", holder.command, holder.pid)
    })
}

impl Hints for LogError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Ambiguous { .. } => vec![Hint::new("write more of the id")],
            Self::Busy { .. } => vec![Hint::new(
                "wait until the other command has ended, then run this one again",
            )],
            Self::Format { .. } => vec![Hint::new("read it with the ktx that wrote it")],
            Self::Write { .. } | Self::Full { .. } => {
                vec![Hint::new(
                    "make room on the disk, then run the command again",
                )]
            }
            Self::Id(_)
            | Self::NotFound { .. }
            | Self::Exists { .. }
            | Self::Damaged { .. }
            | Self::Read { .. }
            | Self::File(_) => Vec::new(),
        }
    }
}
