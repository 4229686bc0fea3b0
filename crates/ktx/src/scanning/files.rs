//! A scan's committed files, its base.
//!
//! A scan commits its merge, which must not include files that the user is editing.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use ktx_diagnostics::{Code, Failure};
use ktx_project_store::{FileError, History, HistoryError, ProjectPath, read_optional};
use ktx_scan::{ProjectFiles, decisions_path};
use ktx_vocabulary::ConnectionId;

use crate::invocation::OpenProject;
use crate::report::{Outcome, Report as _};

pub(super) struct ScanFiles {
    history: Option<History>,
    commit: Option<String>,
    connection: ConnectionId,
    committed: OnceLock<BTreeMap<String, Vec<u8>>>,
    /// The working file, read-only for scans.
    decisions: (String, PathBuf),
}

const FOLDERS: [&str; 2] = ["raw-sources", "semantic-layer"];

impl ScanFiles {
    pub(super) fn at(
        commit: Option<&str>,
        connection: &ConnectionId,
        project: &OpenProject,
    ) -> Outcome<Self> {
        let history = match commit {
            Some(_) => Some(project.store.history().map_err(|error| failure(&error))?),
            None => None,
        };
        let decisions = decisions_path(connection);
        Ok(Self {
            history,
            commit: commit.map(str::to_owned),
            connection: connection.clone(),
            committed: OnceLock::new(),
            decisions: (decisions.clone(), project.dir.join(decisions)),
        })
    }

    pub(super) fn stamp_at(&self, commit: Option<&str>) -> Result<String, FileError> {
        let (Some(history), Some(commit)) = (&self.history, commit) else {
            return Ok("no commit".to_owned());
        };
        let mut stamp = String::new();
        for folder in FOLDERS {
            let place = self.folder(folder)?;
            let tree = history.tree(commit, &place);
            let tree = tree.map_err(|error| unread(&place, error))?;
            stamp.push_str(tree.as_deref().unwrap_or("none"));
            stamp.push(' ');
        }
        Ok(stamp)
    }

    fn folder(&self, folder: &str) -> Result<ProjectPath, FileError> {
        let place = format!("{folder}/{}", self.connection);
        ProjectPath::parse(&place).map_err(|error| FileError::Read {
            path: place.into(),
            source: io::Error::other(error),
        })
    }

    fn committed(&self) -> Result<&BTreeMap<String, Vec<u8>>, FileError> {
        if let Some(files) = self.committed.get() {
            return Ok(files);
        }
        let mut files = BTreeMap::new();
        if let (Some(history), Some(commit)) = (&self.history, &self.commit) {
            for folder in FOLDERS {
                let place = self.folder(folder)?;
                let found = history.files(commit, &place);
                let found = found.map_err(|error| unread(&place, error))?;
                let found = found.into_iter();
                files.extend(found.map(|(path, bytes)| (path.as_str().to_owned(), bytes)));
            }
        }
        Ok(self.committed.get_or_init(|| files))
    }

    pub(super) fn below(&self, prefix: &str) -> Outcome<BTreeMap<String, Vec<u8>>> {
        let committed = self
            .committed()
            .map_err(|error| Failure::from_error(Code::PublishFailed, &error))?;
        let from = committed.range(prefix.to_owned()..);
        Ok(from
            .take_while(|(path, _)| path.starts_with(prefix))
            .map(|(path, bytes)| (path.clone(), bytes.clone()))
            .collect())
    }

    /// Creates no repository.
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

fn unread(place: &ProjectPath, error: HistoryError) -> FileError {
    FileError::Read {
        path: place.as_str().into(),
        source: io::Error::other(error),
    }
}

pub(super) fn failure(error: &HistoryError) -> Failure {
    Failure::from_error(Code::PublishFailed, error).with_hints(error)
}

impl ProjectFiles for ScanFiles {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, FileError> {
        let (decisions, on_disk) = &self.decisions;
        if path == decisions {
            return read_optional(on_disk);
        }
        Ok(self.committed()?.get(path).cloned())
    }

    fn stamp(&self) -> Result<Option<String>, FileError> {
        self.stamp_at(self.commit.as_deref()).map(Some)
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>, FileError> {
        let folder = format!("{prefix}/");
        let paths = self.committed()?.range(folder.clone()..);
        Ok(paths
            .map(|(path, _)| path)
            .take_while(|path| path.starts_with(&folder))
            .cloned()
            .collect())
    }
}
