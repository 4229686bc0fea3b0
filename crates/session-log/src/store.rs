//! The folder of all sessions.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use ktx_diagnostics::nearest;
use ktx_project_store::{Holder, remove_folder};

use crate::log::path_in;
use crate::{Inbox, LogError, LogReader, Record, SessionId, SessionLog, lock};

const SHORTEST_PREFIX: usize = 6;

/// One folder per session.
#[derive(Debug, Clone)]
pub struct SessionStore {
    folder: PathBuf,
}

impl SessionStore {
    /// `folder` need not exist.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    pub fn create(&self, id: &SessionId, holder: &Holder) -> Result<SessionLog, LogError> {
        let folder = self.folder_of(id);
        let failed = |source| LogError::Write {
            path: folder.clone(),
            source,
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&self.folder).map_err(failed)?;
        match builder.recursive(false).create(&folder) {
            Ok(()) => {}
            // A process killed before its first record left only a folder.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(source) => return Err(failed(source)),
        }
        let log = SessionLog::open(&folder, id, holder, |_| ())?;
        if log.last() > 0 {
            return Err(LogError::Exists { id: id.clone() });
        }
        Ok(log)
    }

    /// Passes the session's records to `each`.
    pub fn open(
        &self,
        id: &SessionId,
        holder: &Holder,
        each: impl FnMut(Record),
    ) -> Result<SessionLog, LogError> {
        self.known(id)?;
        SessionLog::open(&self.folder_of(id), id, holder, each)
    }

    pub fn read(&self, id: &SessionId) -> Result<LogReader, LogError> {
        self.known(id)?;
        LogReader::open(&path_in(&self.folder_of(id)))
    }

    /// In order.
    pub fn list(&self) -> Result<Vec<SessionId>, LogError> {
        let mut ids = self.names()?;
        ids.retain(|id| has_records(&self.path(id)));
        Ok(ids)
    }

    pub(crate) fn names(&self) -> Result<Vec<SessionId>, LogError> {
        let failed = |source| LogError::Read {
            path: self.folder.clone(),
            source,
        };
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(failed(source)),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let id = name.to_str().and_then(|name| SessionId::parse(name).ok());
            ids.extend(id);
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// Returns the most recently written session.
    pub fn newest(&self) -> Result<Option<SessionId>, LogError> {
        let mut dated = Vec::new();
        for id in self.list()? {
            let path = self.path(&id);
            let written = std::fs::metadata(&path).and_then(|about| about.modified());
            let written = written.map_err(|source| LogError::Read { path, source })?;
            dated.push((written, id));
        }
        Ok(dated.into_iter().max().map(|(_, id)| id))
    }

    pub fn exists(&self, id: &SessionId) -> bool {
        has_records(&self.path(id))
    }

    pub fn is_open(&self, id: &SessionId) -> bool {
        lock::is_held(&self.folder_of(id).join("lock"))
    }

    /// Finds a session by id or unique prefix of at least six characters.
    pub fn find(&self, text: &str) -> Result<SessionId, LogError> {
        let id = SessionId::parse(text)?;
        if has_records(&self.path(&id)) {
            return Ok(id);
        }
        let all = self.list()?;
        let is_long = text.len() >= SHORTEST_PREFIX;
        let begins = |id: &&SessionId| is_long && id.as_str().starts_with(text);
        let fitting: Vec<&SessionId> = all.iter().filter(begins).collect();
        match fitting.split_first() {
            // Sub-agents' sessions begin with its id, too.
            Some((id, others)) if others.iter().all(|other| belongs_to(other, id)) => {
                Ok((*id).clone())
            }
            Some(_) => Err(LogError::Ambiguous {
                prefix: text.to_owned(),
                matches: fitting.len(),
            }),
            None => Err(LogError::NotFound {
                wanted: text.to_owned(),
                nearest: nearest(text, all.iter().map(SessionId::as_str))
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            }),
        }
    }

    pub fn delete(&self, id: &SessionId, holder: &Holder) -> Result<(), LogError> {
        self.known(id)?;
        let folder = self.folder_of(id);
        let _lock = lock::acquire(&folder.join("lock"), id, holder)?;
        Ok(remove_folder(&folder)?)
    }

    pub fn inbox(&self, id: &SessionId) -> Inbox {
        Inbox::new(&self.folder_of(id))
    }

    /// The log need not exist.
    pub fn path(&self, id: &SessionId) -> PathBuf {
        path_in(&self.folder_of(id))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn known(&self, id: &SessionId) -> Result<(), LogError> {
        if has_records(&self.path(id)) {
            return Ok(());
        }
        self.find(id.as_str()).and(Err(LogError::NotFound {
            wanted: id.to_string(),
            nearest: Vec::new(),
        }))
    }

    fn folder_of(&self, id: &SessionId) -> PathBuf {
        self.folder.join(id.as_str())
    }
}

/// True if `id` is `other` with a suffix.
fn belongs_to(id: &SessionId, other: &SessionId) -> bool {
    let rest = id.as_str().strip_prefix(other.as_str());
    rest.is_some_and(|rest| rest.starts_with('-'))
}

/// A process killed before its first record leaves an empty log.
fn has_records(log: &Path) -> bool {
    std::fs::metadata(log).is_ok_and(|about| about.is_file() && about.len() > 0)
}
