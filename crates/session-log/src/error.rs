//! Errors of a log.

use std::io;
use std::path::PathBuf;

use ktx_diagnostics::{Hint, Hints};
use ktx_project_store::{FileError, Holder};

use crate::{InvalidSessionId, SessionId};

#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error(transparent)]
    Id(#[from] InvalidSessionId),
    #[error("there is no session `{wanted}`{}", similar(.nearest))]
    NotFound {
        wanted: String,
        /// Nearest first.
        nearest: Vec<String>,
    },
    #[error("`{prefix}` is the beginning of {matches} session ids")]
    Ambiguous { prefix: String, matches: usize },
    #[error("there is a session `{id}` already")]
    Exists { id: SessionId },
    #[error("the session `{id}` is in use{}", by(.holder.as_ref()))]
    Busy {
        id: SessionId,
        /// `None` if the writer's name is missing.
        holder: Option<Holder>,
    },
    #[error("{}:{line}: the record is damaged: {reason}", .path.display())]
    Damaged {
        path: PathBuf,
        line: u64,
        reason: &'static str,
    },
    #[error("{}:1: the log has format {format}, and this ktx reads format {}", .path.display(), crate::FORMAT)]
    Format { path: PathBuf, format: String },
    #[error("cannot read `{}`", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot write `{}`", .path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// This record was not taken.
    #[error("cannot write `{}`: {waiting} records are waiting, and no more are kept", .path.display())]
    Full { path: PathBuf, waiting: usize },
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
