//! The servers of a project, one of each kind: its lock, its token for agents, its log.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;

use ktx_secrets::Secret;

use crate::files::{keep_private, make_folder};
use crate::lock::{Holder, LockError, ProjectLock, Wait};
use crate::{FileError, LocalServer, Store};

/// The size in bytes above which the log is rotated when a server starts.
const LONG_LOG: u64 = 1024 * 1024;

impl Store {
    /// Takes the lock of a server of the project, held until its process ends in any way.
    /// `wait`: how long to wait for another server that is about to end.
    ///
    /// # Errors
    /// [`LockError::Held`] with the other server's process.
    pub fn serve(&self, server: LocalServer, wait: Wait) -> Result<ProjectLock, LockError> {
        let path = self.layout().server_lock(server);
        self.local_folder(&self.layout().state())
            .map_err(|error| LockError::File {
                path: path.clone(),
                source: std::io::Error::other(error),
            })?;
        let holder = Holder::this_process(server.command(), None);
        ProjectLock::acquire(&path, &holder, wait)
    }

    /// Creates nothing.
    ///
    /// # Errors
    /// [`LockError::Held`] with the process of a running server.
    pub fn is_not_served(&self, server: LocalServer) -> Result<(), LockError> {
        ProjectLock::check_free(&self.layout().server_lock(server))
    }

    /// The token with which agents log in to the server; stores `fresh` if there is none yet. The
    /// token never changes, so that the settings of agents stay valid. Only the user may read its
    /// file, which git ignores.
    ///
    /// # Errors
    /// [`FileError`] if it can neither be read nor written.
    pub fn server_token(&self, fresh: &Secret) -> Result<Secret, FileError> {
        self.local_folder(&self.layout().state())?;
        let kept = keep_private(&self.layout().server_token(), fresh.expose().as_bytes())?;
        Ok(Secret::new(String::from_utf8_lossy(&kept).trim()))
    }

    /// Opens the server's log for appending; only the user may read it. A long log is rotated to
    /// a file beside it.
    ///
    /// # Errors
    /// [`FileError`] if it cannot be written.
    #[expect(
        clippy::disallowed_methods,
        reason = "a log that is moved aside is whole at any moment"
    )]
    pub fn open_server_log(&self, server: LocalServer) -> Result<File, FileError> {
        let path = self.layout().server_log(server);
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
