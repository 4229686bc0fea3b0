//! The errors of a publish.

use std::path::PathBuf;

use ktx_diagnostics::{Hint, Hints};

use super::TRIES;
use crate::{FileError, GitError, LockError, ProjectPath};

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("`{root}` is not in a git work tree")]
    NoWorkTree { root: PathBuf },
    /// No branch is checked out.
    #[error("git has a detached HEAD: there is no branch to commit to")]
    DetachedHead,
    /// Another branch has been checked out since the run began.
    #[error("git is on `{now}` now, and the run began on `{began}`")]
    OtherBranch { began: String, now: String },
    /// Another commit has changed the same files since the run began.
    #[error("someone else has changed {}", listed(.paths))]
    Conflict { paths: Vec<ProjectPath> },
    /// A file of the change is a link or a submodule in git.
    #[error("`{path}` is not an ordinary file in git")]
    NotAFile { path: ProjectPath },
    /// A file of the change is below something other than a folder, in git or on the disk.
    #[error("`{path}` is not an ordinary folder")]
    NotAFolder {
        /// What should be a folder.
        path: ProjectPath,
    },
    /// The branch moved on every attempt.
    #[error("the branch moved {TRIES} times while the commit was made")]
    TooManyRaces,
    /// The commit exists, but git could not write its index, which another git may hold.
    #[error("the commit `{commit}` is made, but git's index could not be updated")]
    Index {
        commit: String,
        #[source]
        source: GitError,
    },
    /// The record of an unfinished publish cannot be parsed.
    #[error("`{path}` cannot be parsed")]
    Record {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
}

fn listed(paths: &[ProjectPath]) -> String {
    let shown: Vec<String> = paths
        .iter()
        .take(5)
        .map(|path| format!("`{path}`"))
        .collect();
    let more = paths.len().saturating_sub(shown.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{more}", shown.join(", "))
}

impl Hints for PublishError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Git(error) => error.hints(),
            Self::Lock(error) => error.hints(),
            Self::DetachedHead => vec![Hint::new("check out a branch, then run the command again")],
            Self::OtherBranch { .. } | Self::Conflict { .. } | Self::TooManyRaces => {
                vec![Hint::new("run the command again")]
            }
            Self::Index { source, .. } => source.hints(),
            Self::Record { path, .. } => {
                vec![Hint::new(format!(
                    "remove `{}`, then look at `git status`",
                    path.display()
                ))]
            }
            Self::NotAFolder { path } => vec![Hint::new(format!(
                "make `{path}` an ordinary folder and commit that, then run the command again"
            ))],
            Self::File(_) | Self::NoWorkTree { .. } | Self::NotAFile { .. } => Vec::new(),
        }
    }
}
