//! Reads the project's files as of earlier commits; creates nothing.

mod ages;
mod blame;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ktx_diagnostics::{Code, Failure, Hint, Hints};

use super::obstacles::is_in_repository;
use super::tree;
use crate::git::Git;
use crate::{GitError, ProjectPath, Store, failure_of};

pub use blame::{BlamedCommit, BlamedLines};

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("`{root}` is not in a git work tree")]
    NoWorkTree { root: PathBuf },
    #[error("`{revision}` is not a commit of this repository")]
    UnknownRevision { revision: String },
}

impl Hints for HistoryError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Git(error) => error.hints(),
            Self::NoWorkTree { .. } => vec![Hint::new(
                "run `git init` and commit the project to have something to compare with",
            )],
            Self::UnknownRevision { revision } if revision == "HEAD" => {
                vec![Hint::new(
                    "the repository has no commit yet: make a first commit",
                )]
            }
            Self::UnknownRevision { .. } => vec![Hint::new(
                "name a commit, a branch or a tag; `git log --oneline` lists commits",
            )],
        }
    }
}

impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Self {
        let code = match &error {
            HistoryError::NoWorkTree { .. } => Code::NotInGit,
            HistoryError::UnknownRevision { .. } => Code::UnknownRevision,
            HistoryError::Git(_) => Code::GitFailed,
        };
        failure_of(code, &error).with_hints(&error)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedCommit {
    pub id: String,
    pub message: String,
}

#[derive(Debug)]
pub struct History {
    pub(super) git: Git,
    /// The project's path in the repository: empty, or with a trailing slash.
    pub(super) prefix: String,
}

impl History {
    pub(crate) fn open(store: &Store) -> Result<Self, HistoryError> {
        let root = store.layout().root().to_owned();
        let git = Git::find(&root, store.environment())?;
        if !is_in_repository(&git)?
            || git.text(&["rev-parse", "--is-inside-work-tree"])?.trim() != "true"
        {
            return Err(HistoryError::NoWorkTree { root });
        }
        let top = git.text(&["rev-parse", "--show-toplevel"])?;
        let prefix = git.text(&["rev-parse", "--show-prefix"])?;
        Ok(Self {
            git: git.at(&PathBuf::from(top.trim_end_matches('\n'))),
            prefix: prefix.trim_end_matches('\n').to_owned(),
        })
    }

    pub fn commit(&self, revision: &str) -> Result<String, HistoryError> {
        let unknown = || HistoryError::UnknownRevision {
            revision: revision.to_owned(),
        };
        // Git reads a leading dash as an option.
        if revision.is_empty() || revision.starts_with('-') {
            return Err(unknown());
        }
        let wanted = format!("{revision}^{{commit}}");
        let output = self
            .git
            .run(&["rev-parse", "--quiet", "--verify", &wanted], b"")?;
        let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() && !id.is_empty() {
            Ok(id)
        } else {
            Err(unknown())
        }
    }

    /// Files in conflict, sorted.
    pub fn conflicts(&self) -> Result<Vec<String>, HistoryError> {
        let listed = self
            .git
            .text(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
        let paths = listed.split('\0').filter(|path| !path.is_empty());
        let mut paths: Vec<String> = paths
            .filter_map(|path| Some(path.strip_prefix(&self.prefix)?.to_owned()))
            .collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// The tree id, which changes with any file below. `None` without such a folder.
    pub fn tree(&self, commit: &str, folder: &ProjectPath) -> Result<Option<String>, HistoryError> {
        let place = format!("{commit}:{}{folder}", self.prefix);
        let output = self
            .git
            .run(&["rev-parse", "--quiet", "--verify", &place], b"")?;
        let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((output.status.success() && !id.is_empty()).then_some(id))
    }

    /// Ordinary files; `None` without such a folder.
    pub fn files(
        &self,
        commit: &str,
        folder: &ProjectPath,
    ) -> Result<BTreeMap<ProjectPath, Vec<u8>>, HistoryError> {
        let place = format!("{}{folder}/", self.prefix);
        let arguments = [
            "--literal-pathspecs",
            "ls-tree",
            "-r",
            "-z",
            "--full-tree",
            commit,
            "--",
            &place,
        ];
        let entries = tree::parse_tree(&self.git.bytes(&arguments, b"")?, &self.prefix);
        let files: BTreeMap<ProjectPath, String> = entries
            .into_iter()
            .filter(|(_, entry)| entry.is_file())
            .map(|(path, entry)| (path, entry.id))
            .collect();
        let blobs = self.blobs(files.values())?;
        Ok(files
            .into_iter()
            .filter_map(|(path, id)| Some((path, blobs.get(&id)?.clone())))
            .collect())
    }

    /// Ordinary files with their newer bytes; `None` if deleted.
    pub fn changed_files(
        &self,
        older: &str,
        newer: &str,
        folder: &ProjectPath,
    ) -> Result<BTreeMap<ProjectPath, Option<Vec<u8>>>, HistoryError> {
        let place = format!("{}{folder}/", self.prefix);
        let arguments = [
            "--literal-pathspecs",
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            older,
            newer,
            "--",
            &place,
        ];
        let changed = tree::parse_diff(&self.git.bytes(&arguments, b"")?, &self.prefix);
        let ids = changed.values().flatten().map(|entry| &entry.id);
        let blobs = self.blobs(ids)?;
        let bytes = |entry: tree::TreeEntry| blobs.get(&entry.id).cloned();
        Ok(changed
            .into_iter()
            .map(|(path, entry)| (path, entry.and_then(bytes)))
            .collect())
    }

    pub fn commits_with(
        &self,
        commit: &str,
        text: &str,
    ) -> Result<Vec<LoggedCommit>, HistoryError> {
        let wanted = format!("--grep={text}");
        let arguments = [
            "log",
            "--format=%H%n%B%x00",
            "--fixed-strings",
            wanted.as_str(),
            commit,
        ];
        let log = self.git.text(&arguments)?;
        let commits = log.split('\0').filter_map(|entry| {
            let (id, message) = entry.trim_start().split_once('\n')?;
            Some(LoggedCommit {
                id: id.to_owned(),
                message: message.to_owned(),
            })
        });
        Ok(commits.collect())
    }

    pub(super) fn blobs<'i>(
        &self,
        ids: impl Iterator<Item = &'i String>,
    ) -> Result<BTreeMap<String, Vec<u8>>, HistoryError> {
        let ids: BTreeSet<&str> = ids.map(String::as_str).collect();
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let input: String = ids.iter().flat_map(|id| [*id, "\n"]).collect();
        let output = self.git.bytes(&["cat-file", "--batch"], input.as_bytes())?;
        Ok(tree::parse_blobs(&output))
    }
}
