//! The one server of a project: its place, who has it, what agents show to it, and its log.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;

use ktx_secrets::Secret;

use crate::files::{keep_private, make_folder};
use crate::lock::{Holder, LockError, ProjectLock, Wait};
use crate::{FileError, Store};

/// A log that is longer when a server starts makes room for a new one.
const LONG_LOG: u64 = 1024 * 1024;

impl Store {
    /// Takes the place of the one server of the project, which is held until the end of its process however that
    /// ends. Waits so long for another one that is about to end, or only looks.
    ///
    /// # Errors
    /// [`LockError::Held`] with the process that serves, when its place is taken.
    pub fn serve(&self, wait: Wait) -> Result<ProjectLock, LockError> {
        let path = self.layout().server_lock();
        self.local_folder(&self.layout().state())
            .map_err(|error| LockError::File {
                path: path.clone(),
                source: std::io::Error::other(error),
            })?;
        let holder = Holder {
            pid: std::process::id(),
            command: "ktx mcp".to_owned(),
            since: None,
        };
        ProjectLock::acquire(&path, &holder, wait)
    }

    /// Whether nobody serves the project now. Makes nothing.
    ///
    /// # Errors
    /// [`LockError::Held`] with the process that serves, when there is one.
    pub fn is_not_served(&self) -> Result<(), LockError> {
        ProjectLock::look(&self.layout().server_lock())
    }

    /// The token that agents show to the server; `fresh` when there is none yet. It stays, so that the settings
    /// of agents stay right, in a file that only the user may read and that git ignores.
    ///
    /// # Errors
    /// [`FileError`] when it can neither be read nor written.
    pub fn server_token(&self, fresh: &Secret) -> Result<Secret, FileError> {
        self.local_folder(&self.layout().state())?;
        let kept = keep_private(&self.layout().server_token(), fresh.expose().as_bytes())?;
        Ok(Secret::new(String::from_utf8_lossy(&kept).trim()))
    }

    /// The log of the server, to add to; only the user may read it. A long one makes room: it is kept as
    /// `mcp.log.1`.
    ///
    /// # Errors
    /// [`FileError`] when it cannot be written.
    #[expect(
        clippy::disallowed_methods,
        reason = "a log that is moved aside is whole at any moment"
    )]
    pub fn open_server_log(&self) -> Result<File, FileError> {
        let path = self.layout().mcp_log();
        let failed = |source| FileError::Write {
            path: path.clone(),
            source,
        };
        make_folder(&self.layout().logs())?;
        if path
            .metadata()
            .is_ok_and(|metadata| metadata.len() > LONG_LOG)
        {
            std::fs::rename(&path, path.with_extension("log.1")).map_err(failed)?;
        }
        let mut options = File::options();
        options.append(true).create(true).mode(0o600);
        options.open(&path).map_err(failed)
    }
}
