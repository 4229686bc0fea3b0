//! The base of a scan: its own files as committed.
//!
//! A scan commits its merge. If it merged files that the user is still editing, it would commit
//! them as well.

use std::collections::BTreeMap;

use ktx_diagnostics::{Code, Failure};
use ktx_project_store::{FileError, History, HistoryError, ProjectPath, read_optional};
use ktx_scan::{ProjectFiles, decisions_path};
use ktx_vocabulary::ConnectionId;

use crate::invocation::OpenProject;
use crate::report::{Outcome, Report as _};

pub(super) struct Files {
    committed: BTreeMap<String, Vec<u8>>,
    /// The file of decisions, which a scan reads and never writes: from the working tree.
    decisions: (String, std::path::PathBuf),
}

impl Files {
    /// Loads the files of a commit; without a commit there are none.
    pub(super) fn at(
        commit: Option<&str>,
        connection: &ConnectionId,
        project: &OpenProject,
    ) -> Outcome<Self> {
        let mut committed = BTreeMap::new();
        if let Some(commit) = commit {
            let history = project.store.history().map_err(|error| failure(&error))?;
            for folder in ["raw-sources", "semantic-layer"] {
                let found = below(&history, commit, &format!("{folder}/{connection}"))?;
                committed.extend(found);
            }
        }
        let decisions = decisions_path(connection);
        Ok(Self {
            committed,
            decisions: (decisions.clone(), project.dir.join(decisions)),
        })
    }

    /// Returns the committed files with this path prefix.
    pub(super) fn below(&self, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        let from = self.committed.range(prefix.to_owned()..);
        from.take_while(|(path, _)| path.starts_with(prefix))
            .map(|(path, bytes)| (path.clone(), bytes.clone()))
            .collect()
    }

    /// Loads the files of the last commit, without creating a repository.
    pub(super) fn at_head(connection: &ConnectionId, project: &OpenProject) -> Outcome<Self> {
        let head = project
            .store
            .history()
            .and_then(|history| history.commit("HEAD"));
        match head {
            Ok(commit) => Self::at(Some(&commit), connection, project),
            Err(HistoryError::NoWorkTree { .. } | HistoryError::UnknownRevision { .. }) => {
                Self::at(None, connection, project)
            }
            Err(error) => Err(failure(&error)),
        }
    }
}

fn below(history: &History, commit: &str, folder: &str) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let folder =
        ProjectPath::parse(folder).map_err(|error| Failure::from_error(Code::Internal, &error))?;
    let found = history
        .files(commit, &folder)
        .map_err(|error| failure(&error))?;
    let files = found.into_iter();
    Ok(files
        .map(|(path, bytes)| (path.as_str().to_owned(), bytes))
        .collect())
}

fn failure(error: &HistoryError) -> Failure {
    Failure::from_error(Code::PublishFailed, error).with_hints(error)
}

impl ProjectFiles for Files {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, FileError> {
        let (decisions, on_disk) = &self.decisions;
        if path == decisions {
            return read_optional(on_disk);
        }
        Ok(self.committed.get(path).cloned())
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>, FileError> {
        let folder = format!("{prefix}/");
        let paths = self.committed.range(folder.clone()..);
        Ok(paths
            .map(|(path, _)| path)
            .take_while(|path| path.starts_with(&folder))
            .cloned()
            .collect())
    }
}
