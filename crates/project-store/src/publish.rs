//! Publishes one commit per run by compare-and-swap.
//!
//! `git fast-import` moves the branch only if no other commit has moved it. Then each unchanged file
//! and its index entry are updated; changed files and staged entries stay. A record lets the next
//! publish complete this step after a kill.

mod around;
mod error;
mod history;
mod locks;
mod obstacles;
mod proposals;
mod queries;
mod record;
mod step;
mod stream;
mod tree;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;

use jiff::Timestamp;

use crate::files::require_writable;
use crate::git::{Git, failed};
use crate::{GitError, ProjectLock, ProjectPath, Store};

pub use around::is_committed_around;
pub use error::PublishError;
pub use history::{BlamedCommit, BlamedLines, History, HistoryError, LoggedCommit};
use obstacles::is_in_repository;
pub use proposals::{ProposedCommit, ProposedFile};
use step::FileMove;
pub use step::{SkipReason, SkippedFile};
use stream::{StreamedCommit, StreamedFile};
use tree::{Tree, TreeEntry};

/// Maximum attempts while others move the branch.
const TRIES: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishBase {
    /// Such as `refs/heads/main`.
    pub branch: String,
    /// `None` before the first commit.
    pub commit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Write(Vec<u8>),
    Delete,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: ProjectPath,
    pub content: Content,
}

impl Change {
    pub fn write(path: ProjectPath, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path,
            content: Content::Write(bytes.into()),
        }
    }

    pub const fn delete(path: ProjectPath) -> Self {
        Self {
            path,
            content: Content::Delete,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct PublishRequest<'a> {
    /// The last change of a file wins.
    pub changes: &'a [Change],
    pub message: &'a str,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishResult {
    /// `None` if nothing changed.
    pub commit: Option<String>,
    pub changed: Vec<ProjectPath>,
    /// Files that differ from the commit and stay, sorted by path.
    pub skipped: Vec<SkippedFile>,
}

enum ImportResult {
    Made(ImportedCommit),
    Moved,
    /// Another git locks the branch, or a crash left the lock.
    Locked(GitError),
}

struct ImportedCommit {
    commit: String,
    entries: Tree,
}

#[derive(Debug)]
pub struct Publisher {
    store: Store,
    git: Git,
    /// The project's path in the repository: empty, or with a trailing slash.
    prefix: String,
    /// Removed locks of crashed gits, not reported yet.
    removed: Mutex<Vec<PathBuf>>,
}

impl Publisher {
    /// Opens the project's own repository, or the one around it. Creates one if there is none or it
    /// ignores the project.
    pub(crate) fn open(store: Store) -> Result<Self, PublishError> {
        let root = store.layout().root().to_owned();
        let git = Git::find(&root, store.environment())?;
        if !is_in_repository(&git)? {
            git.text(&["init", "--quiet"])?;
        }
        let inside = git.text(&["rev-parse", "--is-inside-work-tree"])?;
        if inside.trim() != "true" {
            return Err(PublishError::NoWorkTree { root });
        }
        let top = git.text(&["rev-parse", "--show-toplevel"])?;
        let prefix = git.text(&["rev-parse", "--show-prefix"])?;
        let top = PathBuf::from(top.trim_end_matches('\n'));
        let prefix = prefix.trim_end_matches('\n').to_owned();
        Ok(Self {
            git: git.at(&top),
            store,
            prefix,
            removed: Mutex::default(),
        })
    }

    /// Completes a killed publish first.
    pub fn begin(&self) -> Result<PublishBase, PublishError> {
        let _lock = self.locked()?;
        self.recover()?;
        self.base()
    }

    /// Checks permissions and locks. Creates nothing.
    pub fn check_writable(&self) -> Result<(), PublishError> {
        let places = ["rev-parse", "--git-path", "objects", "--git-dir"];
        for place in self.git.text(&places)?.lines() {
            require_writable(&self.git.folder().join(place))?;
        }
        self.check_locks()
    }

    /// On the branch's current commit, because others may have changed other files since `base`.
    pub fn publish(
        &self,
        base: &PublishBase,
        request: &PublishRequest<'_>,
    ) -> Result<PublishResult, PublishError> {
        let _lock = self.locked()?;
        self.recover()?;
        let wanted: BTreeMap<&ProjectPath, &Content> = request
            .changes
            .iter()
            .map(|change| (&change.path, &change.content))
            .collect();
        let before = self.tree(base.commit.as_deref())?;
        let mut in_the_way = None;
        for _ in 0..TRIES {
            let tip = self.base()?;
            if tip.branch != base.branch {
                return Err(PublishError::OtherBranch {
                    began: base.branch.clone(),
                    now: tip.branch,
                });
            }
            let now = if tip == *base {
                before.clone()
            } else {
                self.tree(tip.commit.as_deref())?
            };
            let changes = self.effective(&wanted, &before, &now)?;
            if changes.is_empty() {
                self.remove_record()?;
                return Ok(PublishResult {
                    commit: None,
                    changed: Vec::new(),
                    skipped: Vec::new(),
                });
            }
            let old = changes
                .keys()
                .map(|path| ((*path).clone(), now.get(*path).cloned()));
            let index = self.index()?;
            self.write_record(&old.collect(), &index.unseen)?;
            self.store.failpoint("publish:before-import");
            let imported = self.import(&tip, &now, &changes, request);
            if !matches!(imported, Ok(ImportResult::Made(_))) {
                self.remove_record()?;
            }
            let imported = match imported? {
                ImportResult::Made(imported) => imported,
                ImportResult::Moved => {
                    in_the_way = None;
                    continue;
                }
                ImportResult::Locked(lock) => {
                    in_the_way = Some(lock);
                    continue;
                }
            };
            self.store.failpoint("publish:after-import");
            let moves = changes.iter().map(|(path, content)| FileMove {
                path: (*path).clone(),
                old: now.get(*path).cloned(),
                new: imported.entries.get(*path).cloned(),
                content: match content {
                    Content::Write(bytes) => Cow::Borrowed(bytes),
                    Content::Delete => Cow::Borrowed(&[]),
                },
            });
            let skipped =
                self.update_work_tree(&imported.commit, &moves.collect::<Vec<_>>(), &index)?;
            return Ok(PublishResult {
                commit: Some(imported.commit),
                changed: changes.into_keys().cloned().collect(),
                skipped,
            });
        }
        Err(in_the_way.map_or(PublishError::TooManyRaces, PublishError::Git))
    }

    fn effective<'c>(
        &self,
        wanted: &BTreeMap<&'c ProjectPath, &'c Content>,
        before: &Tree,
        now: &Tree,
    ) -> Result<BTreeMap<&'c ProjectPath, &'c Content>, PublishError> {
        let existing: BTreeSet<&str> = wanted
            .keys()
            .filter_map(|path| now.get(path))
            .map(|entry| entry.id.as_str())
            .collect();
        let blobs = self.blobs(&existing)?;
        let mut changes = BTreeMap::new();
        let mut conflicts = Vec::new();
        for (path, content) in wanted {
            let entry = now.get(path);
            if entry.is_some_and(|entry| !entry.is_file()) {
                return Err(PublishError::NotAFile {
                    path: (*path).clone(),
                });
            }
            let found = entry.and_then(|entry| blobs.get(&entry.id));
            let same = match content {
                Content::Write(bytes) => found == Some(bytes),
                Content::Delete => entry.is_none(),
            };
            if same {
                continue;
            }
            if entry != before.get(path) {
                conflicts.push((*path).clone());
            }
            changes.insert(*path, *content);
        }
        if !conflicts.is_empty() {
            return Err(PublishError::Conflict { paths: conflicts });
        }
        obstacles::require_folders(self.store.layout().root(), &changes, now)?;
        Ok(changes)
    }

    fn import(
        &self,
        tip: &PublishBase,
        now: &Tree,
        changes: &BTreeMap<&ProjectPath, &Content>,
        request: &PublishRequest<'_>,
    ) -> Result<ImportResult, PublishError> {
        let commit = StreamedCommit {
            branch: &tip.branch,
            parent: tip.commit.as_deref(),
            author: &self.identity("AUTHOR")?,
            committer: &self.identity("COMMITTER")?,
            at: request.at,
            message: request.message,
        };
        let files: Vec<StreamedFile<'_>> = changes
            .iter()
            .map(|(path, content)| StreamedFile {
                path: format!("{}{path}", self.prefix),
                mode: now.get(path).map_or("100644", |entry| entry.mode.as_str()),
                content,
            })
            .collect();
        let input = stream::render(&commit, &files);
        let arguments = ["fast-import", "--quiet", "--done", "--date-format=raw"];
        let output = self.git.run(&arguments, &input)?;
        if output.status.success() {
            let output_text = String::from_utf8_lossy(&output.stdout);
            let mut ids = output_text.lines().map(str::to_owned);
            let commit = ids.next().unwrap_or_default();
            let written = changes
                .keys()
                .zip(&files)
                .filter(|(_, file)| file.is_written());
            let entries = written.zip(ids).map(|((path, file), id)| {
                (
                    (*path).clone(),
                    TreeEntry {
                        mode: file.mode.to_owned(),
                        id,
                    },
                )
            });
            return Ok(ImportResult::Made(ImportedCommit {
                commit,
                entries: entries.collect(),
            }));
        }
        let error = failed(&arguments, &output);
        if matches!(error, GitError::Locked { .. }) {
            return Ok(ImportResult::Locked(error));
        }
        let output_text = String::from_utf8_lossy(&output.stderr).to_lowercase();
        if output_text.contains("not updating") || output_text.contains("cannot lock ref") {
            return Ok(ImportResult::Moved);
        }
        Err(error.into())
    }

    /// `Name <address>` from the environment or git's settings; otherwise ktx.
    fn identity(&self, role: &str) -> Result<String, PublishError> {
        let name = self
            .git
            .identity(&format!("GIT_{role}_NAME"), "user.name")?;
        let address = self
            .git
            .identity(&format!("GIT_{role}_EMAIL"), "user.email")?;
        let name = name.unwrap_or_else(|| "ktx".to_owned());
        let address = address.unwrap_or_else(|| "ktx@localhost".to_owned());
        Ok(format!("{name} <{address}>"))
    }

    fn base(&self) -> Result<PublishBase, PublishError> {
        let branch = self.git.query(&["symbolic-ref", "--quiet", "HEAD"], 1)?;
        let branch = branch.ok_or(PublishError::DetachedHead)?;
        let commit = format!("{branch}^{{commit}}");
        let commit = self
            .git
            .query(&["rev-parse", "--quiet", "--verify", &commit], 1)?;
        Ok(PublishBase { branch, commit })
    }

    fn tree(&self, commit: Option<&str>) -> Result<Tree, PublishError> {
        let Some(commit) = commit else {
            return Ok(Tree::default());
        };
        let mut arguments = vec!["ls-tree", "-r", "-z", "--full-tree", commit];
        if !self.prefix.is_empty() {
            arguments.extend(["--", &self.prefix]);
        }
        Ok(tree::parse_tree(
            &self.git.bytes(&arguments, b"")?,
            &self.prefix,
        ))
    }

    fn blobs(&self, ids: &BTreeSet<&str>) -> Result<BTreeMap<String, Vec<u8>>, PublishError> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let input: String = ids.iter().flat_map(|id| [*id, "\n"]).collect();
        let output = self.git.bytes(&["cat-file", "--batch"], input.as_bytes())?;
        Ok(tree::parse_blobs(&output))
    }

    fn locked(&self) -> Result<ProjectLock, PublishError> {
        self.store.local_folder(&self.store.layout().state())?;
        Ok(ProjectLock::acquire_blocking(
            &self.store.layout().publish_lock(),
        )?)
    }
}

#[cfg(test)]
mod tests;
