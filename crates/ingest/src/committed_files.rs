//! The committed files and messages of a project, read from git once per run and then updated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ktx_memory::Written;
use ktx_project_store::{History, LoggedCommit, ProjectPath};
use ktx_vocabulary::ConnectionId;

use crate::error::IngestError;

#[derive(Debug)]
pub(crate) struct CommittedFiles {
    commit: String,
    warehouse: Option<ConnectionId>,
    files: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
}

impl CommittedFiles {
    pub(crate) fn read(
        history: &History,
        commit: &str,
        warehouse: Option<&ConnectionId>,
    ) -> Result<Self, IngestError> {
        let mut files = BTreeMap::new();
        for folder in folders(warehouse)? {
            files.extend(history.files(commit, &folder)?);
        }
        Ok(Self {
            commit: commit.to_owned(),
            warehouse: warehouse.cloned(),
            files: Arc::new(files),
        })
    }

    pub(crate) fn is_about(&self, warehouse: Option<&ConnectionId>) -> bool {
        self.warehouse.as_ref() == warehouse
    }

    pub(crate) fn files(&self) -> Arc<BTreeMap<ProjectPath, Vec<u8>>> {
        Arc::clone(&self.files)
    }

    pub(crate) fn update(&mut self, history: &History, commit: &str) -> Result<(), IngestError> {
        if self.commit == commit {
            return Ok(());
        }
        for folder in folders(self.warehouse.as_ref())? {
            let changed = history.changed_files(&self.commit, commit, &folder)?;
            let files = Arc::make_mut(&mut self.files);
            for (path, bytes) in changed {
                match bytes {
                    Some(bytes) => files.insert(path, bytes),
                    None => files.remove(&path),
                };
            }
        }
        commit.clone_into(&mut self.commit);
        Ok(())
    }
}

fn folders(warehouse: Option<&ConnectionId>) -> Result<Vec<ProjectPath>, IngestError> {
    let mut folders = vec![ProjectPath::parse("wiki/global")?];
    if let Some(id) = warehouse {
        folders.push(ProjectPath::parse(&format!("semantic-layer/{id}"))?);
    }
    Ok(folders)
}

#[derive(Debug, Default)]
pub(crate) struct CommitIndex {
    ids: BTreeSet<String>,
    marked: BTreeMap<String, MarkedCommit>,
}

#[derive(Debug, Clone)]
pub(crate) struct MarkedCommit {
    pub(crate) id: String,
    pub(crate) written: Written,
}

pub(crate) const NAME: &str = "ktx";

/// Prefixes of the marks of work items.
const MARKS: [&str; 2] = ["ktx-unit: ", "ktx-note: "];

impl CommitIndex {
    pub(crate) fn new(commits: Vec<LoggedCommit>) -> Self {
        let mut index = Self::default();
        for LoggedCommit { id, message } in commits {
            let commit = MarkedCommit {
                id: id.clone(),
                written: listed_names(&message),
            };
            for mark in marks(&message) {
                index.marked.entry(mark).or_insert_with(|| commit.clone());
            }
            index.ids.insert(id);
        }
        index
    }

    pub(crate) fn add(&mut self, id: &str, message: &str) {
        let commit = MarkedCommit {
            id: id.to_owned(),
            written: listed_names(message),
        };
        for mark in marks(message) {
            self.marked.insert(mark, commit.clone());
        }
        self.ids.insert(id.to_owned());
    }

    pub(crate) fn contains(&self, commit: &str) -> bool {
        self.ids.contains(commit)
    }

    pub(crate) fn marked(&self, mark: &str) -> Option<&MarkedCommit> {
        self.marked.get(mark)
    }
}

/// Git indents the lines of messages when it squashes commits.
fn marks(message: &str) -> impl Iterator<Item = String> {
    message.lines().filter_map(|line| {
        let mut begins = MARKS.iter().filter_map(|mark| line.find(mark));
        let mark = line.get(begins.next()?..)?;
        Some(mark.trim_end().to_owned())
    })
}

fn listed_names(message: &str) -> Written {
    let named = |what: &str| -> Vec<String> {
        let lines = message.lines();
        let names = lines.filter_map(|line| line.strip_prefix(what)?.strip_prefix(": "));
        let names = names.flat_map(|names| names.split(", "));
        names.map(str::to_owned).collect()
    };
    Written {
        wiki: named("pages"),
        sl: named("sources"),
        xrefs: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
