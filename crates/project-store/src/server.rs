//! Locks, tokens and logs of a project's servers.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;

use ktx_secrets::Secret;

use crate::files::{keep_private, make_folder};
use crate::lock::{Holder, LockError, ProjectLock, Wait};
use crate::{FileError, LocalServer, Store};

/// In bytes.
const LONG_LOG: u64 = 1024 * 1024;

impl Store {
    /// Held until the process ends. `wait`: for a server that is about to end.
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
    pub fn check_not_served(&self, server: LocalServer) -> Result<(), LockError> {
        ProjectLock::check_free(&self.layout().server_lock(server))
    }

    /// The token with which agents log in; `fresh` if there is none. It never changes, so that
    /// agents' settings stay valid.
    pub fn server_token(&self, fresh: &Secret) -> Result<Secret, FileError> {
        self.local_folder(&self.layout().state())?;
        let kept = keep_private(&self.layout().server_token(), fresh.expose().as_bytes())?;
        Ok(Secret::new(String::from_utf8_lossy(&kept).trim()))
    }

    /// Private; a long log is rotated.
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
