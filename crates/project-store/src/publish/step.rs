//! Bringing the user's files and index in step with the commit.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::stream::quoted;
use super::tree::{self, Entry, Tree};
use super::{PublishError, Publisher};
use crate::ProjectPath;

/// A file that is not as the commit has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub path: ProjectPath,
    /// Why it was left.
    pub reason: SkipReason,
}

/// Why a file was left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// The user has changed, made or removed it.
    Changed,
    /// The user has staged a change of it.
    Staged,
}

/// A file of a commit: what it was before, and what it is.
#[derive(Debug, Clone)]
pub(super) struct Move<'a> {
    pub(super) path: ProjectPath,
    pub(super) old: Option<Entry>,
    pub(super) new: Option<Entry>,
    /// The new content; nothing for a file that is gone.
    pub(super) content: Cow<'a, [u8]>,
}

/// So many files are written at once at most.
const LARGEST_BATCH: usize = 256;

/// What is in the way of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InTree {
    /// Nothing.
    Absent,
    /// A file with this blob, line ends and filters as git is configured.
    File(String),
    /// A link, a folder, or a path through a link.
    Other,
}

impl Publisher {
    /// Ends a publish that was killed: brings in step what its record names.
    pub(super) fn recover(&self) -> Result<(), PublishError> {
        let Some(old) = self.read_record()? else {
            return Ok(());
        };
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
            Move {
                path,
                old,
                content: Cow::Owned(content.cloned().unwrap_or_default()),
                new,
            }
        });
        self.bring_in_step(&commit, &moves.collect::<Vec<_>>(), &self.index()?)
            .map(drop)
    }

    /// Brings the index, and then the files, in step with `commit`, then removes the record.
    pub(super) fn bring_in_step(
        &self,
        commit: &str,
        moves: &[Move<'_>],
        index: &Tree,
    ) -> Result<Vec<Skipped>, PublishError> {
        let (ours, staged): (Vec<&Move<'_>>, Vec<&Move<'_>>) = moves
            .iter()
            .filter(|step| step.old != step.new)
            .partition(|step| {
                [step.old.as_ref(), step.new.as_ref()].contains(&index.get(&step.path))
            });
        let entries: Vec<_> = ours
            .iter()
            .map(|step| (&step.path, step.new.as_ref()))
            .collect();
        self.update_index(&entries, &"0".repeat(commit.len()))
            .map_err(|source| PublishError::Index {
                commit: commit.to_owned(),
                source,
            })?;
        self.store.failpoint("publish:after-index");

        let skip = |path: &ProjectPath, reason| Skipped {
            path: path.clone(),
            reason,
        };
        let mut skipped: Vec<Skipped> = staged
            .iter()
            .map(|step| skip(&step.path, SkipReason::Staged))
            .collect();
        let in_tree = self.in_tree(ours.iter().map(|step| &step.path))?;
        let mut wanted = Vec::new();
        for step in ours {
            let found = in_tree.get(&step.path).unwrap_or(&InTree::Other);
            if found.is(step.old.as_ref()) {
                wanted.push(step);
            } else if !found.is(step.new.as_ref()) {
                skipped.push(skip(&step.path, SkipReason::Changed));
            }
        }
        self.put_all(&wanted)?;
        skipped.sort_by(|one, other| one.path.cmp(&other.path));
        self.store.failpoint("publish:after-files");
        self.remove_record()?;
        Ok(skipped)
    }

    /// Removes and then writes files, in batches that grow.
    fn put_all(&self, steps: &[&Move<'_>]) -> Result<(), PublishError> {
        let (written, removed): (Vec<&Move<'_>>, Vec<&Move<'_>>) =
            steps.iter().partition(|step| step.new.is_some());
        for step in removed {
            self.remove(&step.path)?;
            self.store.failpoint("publish:between-files");
        }
        let files: Vec<(&ProjectPath, &[u8])> = written
            .iter()
            .map(|step| (&step.path, &*step.content))
            .collect();
        let mut rest = files.as_slice();
        let mut batch = 1;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(batch.min(rest.len()));
            self.store.write_all(now)?;
            self.store.failpoint("publish:between-files");
            rest = later;
            batch = (batch * 4).min(LARGEST_BATCH);
        }
        Ok(())
    }

    fn remove(&self, path: &ProjectPath) -> Result<(), PublishError> {
        self.store.remove(path)?;
        // Git knows no empty folders, so none is left behind.
        let root = self.store.layout().root();
        let file = path.under(root);
        for folder in file
            .ancestors()
            .skip(1)
            .take_while(|folder| *folder != root)
        {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// What is at each path of the user's tree.
    fn in_tree<'p>(
        &self,
        paths: impl Iterator<Item = &'p ProjectPath>,
    ) -> Result<BTreeMap<ProjectPath, InTree>, PublishError> {
        let root = self.store.layout().root();
        let mut found = BTreeMap::new();
        let mut files = Vec::new();
        for path in paths {
            match look(root, path) {
                Some(state) => {
                    found.insert(path.clone(), state);
                }
                None => files.push(path),
            }
        }
        if files.is_empty() {
            return Ok(found);
        }
        let lines: Vec<String> = files
            .iter()
            .map(|path| quoted(&format!("{}{path}", self.prefix)) + "\n")
            .collect();
        let input = lines.concat();
        let output = self
            .git
            .bytes(&["hash-object", "--stdin-paths"], input.as_bytes())?;
        let output = String::from_utf8_lossy(&output);
        for (path, id) in files.into_iter().zip(output.lines()) {
            found.insert(path.clone(), InTree::File(id.to_owned()));
        }
        Ok(found)
    }

    pub(super) fn index(&self) -> Result<Tree, PublishError> {
        let project = format!(":(literal){}", self.prefix);
        let mut arguments = vec!["ls-files", "--stage", "-z", "--full-name"];
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
        entries: &[(&ProjectPath, Option<&Entry>)],
        no_id: &str,
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
        self.git
            .bytes(
                &["update-index", "-z", "--index-info"],
                lines.concat().as_bytes(),
            )
            .map(drop)
    }
}

impl InTree {
    fn is(&self, entry: Option<&Entry>) -> bool {
        match (self, entry) {
            (Self::Absent, None) => true,
            (Self::File(id), Some(entry)) => *id == entry.id,
            _ => false,
        }
    }
}

/// What is at a path; none when it is a file that has to be read.
fn look(root: &Path, path: &ProjectPath) -> Option<InTree> {
    let file = path.under(root);
    let mut folders = file
        .ancestors()
        .skip(1)
        .take_while(|folder| *folder != root);
    if folders.any(Path::is_symlink) {
        return Some(InTree::Other);
    }
    match fs::symlink_metadata(&file) {
        Ok(found) if found.is_file() => None,
        Ok(_) => Some(InTree::Other),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Some(InTree::Absent)
        }
        Err(_) => Some(InTree::Other),
    }
}
