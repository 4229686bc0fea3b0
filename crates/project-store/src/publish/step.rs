//! Updates the user's files and index to the commit.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::record::UnfinishedPublish;
use super::stream::quoted;
use super::tree::{self, GitIndex, TreeEntry};
use super::{PublishError, Publisher};
use crate::files::{Replacement, is_unchanged, replace_all};
use crate::{ProjectPath, read_optional};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedFile {
    pub path: ProjectPath,
    pub reason: SkipReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    Changed,
    Staged,
}

#[derive(Debug, Clone)]
pub(super) struct FileMove<'a> {
    pub(super) path: ProjectPath,
    pub(super) old: Option<TreeEntry>,
    pub(super) new: Option<TreeEntry>,
    /// Empty for a deleted file.
    pub(super) content: Cow<'a, [u8]>,
}

/// Maximum files written concurrently.
const LARGEST_BATCH: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
enum WorkTreeEntry {
    Absent,
    File {
        /// The blob id, after line ends and filters.
        id: String,
        /// Read before git, so that later edits show.
        bytes: Vec<u8>,
    },
    /// A link, a folder, or a path through a link.
    Other,
}

impl Publisher {
    pub(super) fn recover(&self) -> Result<(), PublishError> {
        let Some(UnfinishedPublish { old, unseen }) = self.read_record()? else {
            return Ok(());
        };
        self.remove_stale_locks()?;
        let Some(commit) = self.base()?.commit else {
            return self.remove_record();
        };
        let new = self.tree(Some(&commit))?;
        let ids = old
            .keys()
            .filter_map(|path| new.get(path))
            .map(|entry| entry.id.as_str());
        let blobs = self.blobs(&ids.collect())?;
        let moves = old.into_iter().map(|(path, old)| {
            let new = new.get(&path).cloned();
            let content = new.as_ref().and_then(|entry| blobs.get(&entry.id));
            FileMove {
                path,
                old,
                content: Cow::Owned(content.cloned().unwrap_or_default()),
                new,
            }
        });
        let mut index = self.index()?;
        index.unseen.extend(unseen);
        self.update_work_tree(&commit, &moves.collect::<Vec<_>>(), &index)
            .map(drop)
    }

    pub(super) fn update_work_tree(
        &self,
        commit: &str,
        moves: &[FileMove<'_>],
        index: &GitIndex,
    ) -> Result<Vec<SkippedFile>, PublishError> {
        let (ours, staged): (Vec<&FileMove<'_>>, Vec<&FileMove<'_>>) = moves
            .iter()
            .filter(|step| step.old != step.new)
            .partition(|step| {
                [step.old.as_ref(), step.new.as_ref()].contains(&index.entries.get(&step.path))
            });
        let entries: Vec<_> = ours
            .iter()
            .map(|step| (&step.path, step.new.as_ref()))
            .collect();
        self.update_index(&entries, &"0".repeat(commit.len()), &index.unseen)
            .map_err(|source| PublishError::Index {
                commit: commit.to_owned(),
                source,
            })?;
        self.store.failpoint("publish:after-index");

        let skip = |path: &ProjectPath, reason| SkippedFile {
            path: path.clone(),
            reason,
        };
        let mut skipped: Vec<SkippedFile> = staged
            .iter()
            .map(|step| skip(&step.path, SkipReason::Staged))
            .collect();
        let in_tree = self.in_tree(ours.iter().map(|step| &step.path))?;
        let mut wanted = Vec::new();
        for step in ours {
            let found = in_tree.get(&step.path).unwrap_or(&WorkTreeEntry::Other);
            if found.is(step.old.as_ref()) {
                wanted.push((step, found.bytes()));
            } else if !found.is(step.new.as_ref()) && !index.unseen.contains(&step.path) {
                skipped.push(skip(&step.path, SkipReason::Changed));
            }
        }
        let late = self.put_all(&wanted)?;
        skipped.extend(late.iter().map(|path| skip(path, SkipReason::Changed)));
        skipped.sort_by(|one, other| one.path.cmp(&other.path));
        self.store.failpoint("publish:after-files");
        self.remove_record()?;
        Ok(skipped)
    }

    /// Works in growing batches. Files that changed meanwhile stay unchanged and are returned.
    fn put_all(
        &self,
        steps: &[(&FileMove<'_>, Option<&[u8]>)],
    ) -> Result<Vec<ProjectPath>, PublishError> {
        let mut late = Vec::new();
        let mut files = Vec::new();
        for (step, expected) in steps {
            if step.new.is_some() {
                files.push((
                    &step.path,
                    Replacement {
                        path: step.path.under(self.store.layout().root()),
                        bytes: &step.content,
                        expected: *expected,
                    },
                ));
                continue;
            }
            if !self.remove(&step.path, *expected)? {
                late.push(step.path.clone());
            }
            self.store.failpoint("publish:between-files");
        }
        let staging = self.store.local_folder(&self.store.layout().staging())?;
        let mut rest = files.as_slice();
        let mut batch = 1;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(batch.min(rest.len()));
            let replacements: Vec<&Replacement<'_>> = now.iter().map(|(_, file)| file).collect();
            let left = replace_all(&replacements, &staging)?;
            let left = now.iter().filter(|(_, file)| left.contains(&file.path));
            late.extend(left.map(|(path, _)| (*path).clone()));
            self.store.failpoint("publish:between-files");
            rest = later;
            batch = (batch * 4).min(LARGEST_BATCH);
        }
        Ok(late)
    }

    /// False if the content differs.
    fn remove(&self, path: &ProjectPath, expected: Option<&[u8]>) -> Result<bool, PublishError> {
        let root = self.store.layout().root();
        let file = path.under(root);
        if !is_unchanged(&file, expected)? {
            return Ok(false);
        }
        self.store.remove(path)?;
        // Git does not track empty folders.
        for folder in file
            .ancestors()
            .skip(1)
            .take_while(|folder| *folder != root)
        {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(true)
    }

    fn in_tree<'p>(
        &self,
        paths: impl Iterator<Item = &'p ProjectPath>,
    ) -> Result<BTreeMap<ProjectPath, WorkTreeEntry>, PublishError> {
        let root = self.store.layout().root();
        let mut found = BTreeMap::new();
        let mut files = Vec::new();
        for path in paths {
            let state = match entry_at(root, path) {
                Some(state) => state,
                None => match read_optional(&path.under(root))? {
                    Some(bytes) => {
                        files.push((path, bytes));
                        continue;
                    }
                    None => WorkTreeEntry::Absent,
                },
            };
            found.insert(path.clone(), state);
        }
        if files.is_empty() {
            return Ok(found);
        }
        let lines: Vec<String> = files
            .iter()
            .map(|(path, _)| quoted(&format!("{}{path}", self.prefix)) + "\n")
            .collect();
        let input = lines.concat();
        let output = self
            .git
            .bytes(&["hash-object", "--stdin-paths"], input.as_bytes())?;
        let output = String::from_utf8_lossy(&output);
        for ((path, bytes), id) in files.into_iter().zip(output.lines()) {
            let id = id.to_owned();
            found.insert(path.clone(), WorkTreeEntry::File { id, bytes });
        }
        Ok(found)
    }

    pub(super) fn index(&self) -> Result<GitIndex, PublishError> {
        let project = format!(":(literal){}", self.prefix);
        let mut arguments = vec!["ls-files", "-t", "--stage", "-z", "--full-name"];
        if !self.prefix.is_empty() {
            arguments.extend(["--", &project]);
        }
        Ok(tree::parse_index(
            &self.git.bytes(&arguments, b"")?,
            &self.prefix,
        ))
    }

    fn update_index(
        &self,
        entries: &[(&ProjectPath, Option<&TreeEntry>)],
        no_id: &str,
        unseen: &BTreeSet<ProjectPath>,
    ) -> Result<(), crate::GitError> {
        if entries.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = entries
            .iter()
            .map(|(path, entry)| {
                let (mode, id) = match entry {
                    Some(entry) => (entry.mode.as_str(), entry.id.as_str()),
                    None => ("0", no_id),
                };
                format!("{mode} {id}\t{}{path}\0", self.prefix)
            })
            .collect();
        self.git.bytes(
            &["update-index", "-z", "--index-info"],
            lines.concat().as_bytes(),
        )?;
        // A new entry is not marked skip-worktree.
        let unseen: String = entries
            .iter()
            .filter(|(path, entry)| entry.is_some() && unseen.contains(path))
            .flat_map(|(path, _)| [self.prefix.as_str(), path.as_str(), "\0"])
            .collect();
        if unseen.is_empty() {
            return Ok(());
        }
        self.git
            .bytes(
                &["update-index", "--skip-worktree", "-z", "--stdin"],
                unseen.as_bytes(),
            )
            .map(drop)
    }
}

impl WorkTreeEntry {
    fn is(&self, entry: Option<&TreeEntry>) -> bool {
        match (self, entry) {
            (Self::Absent, None) => true,
            (Self::File { id, .. }, Some(entry)) => *id == entry.id,
            _ => false,
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::File { bytes, .. } => Some(bytes),
            Self::Absent | Self::Other => None,
        }
    }
}

fn entry_at(root: &Path, path: &ProjectPath) -> Option<WorkTreeEntry> {
    let file = path.under(root);
    let mut folders = file
        .ancestors()
        .skip(1)
        .take_while(|folder| *folder != root);
    if folders.any(Path::is_symlink) {
        return Some(WorkTreeEntry::Other);
    }
    match fs::symlink_metadata(&file) {
        Ok(found) if found.is_file() => None,
        Ok(_) => Some(WorkTreeEntry::Other),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Some(WorkTreeEntry::Absent)
        }
        Err(_) => Some(WorkTreeEntry::Other),
    }
}
