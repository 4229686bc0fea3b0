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
    #[error("git has a detached HEAD: there is no branch to commit to")]
    DetachedHead,
    #[error("git is on `{now}` now, and the run began on `{began}`")]
    OtherBranch { began: String, now: String },
    #[error("someone else has changed {}", listed(.paths))]
    Conflict { paths: Vec<ProjectPath> },
    #[error("`{path}` is not an ordinary file in git")]
    NotAFile { path: ProjectPath },
    #[error("`{path}` is not an ordinary folder")]
    NotAFolder { path: ProjectPath },
    #[error("the branch moved {TRIES} times while the commit was made")]
    TooManyRaces,
    /// Another git may hold the index.
    #[error("the commit `{commit}` is made, but git's index could not be updated")]
    Index {
        commit: String,
        #[source]
        source: GitError,
    },
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
