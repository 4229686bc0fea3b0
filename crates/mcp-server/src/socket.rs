//! A Unix socket for programs of the same user.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("the path of the socket `{path}` has {bytes} bytes; the system takes at most {most}")]
    TooLong {
        path: PathBuf,
        bytes: usize,
        most: usize,
    },
    #[error("another program listens on the socket `{path}`")]
    InUse { path: PathBuf },
    /// Left by a killed server: it can be removed.
    #[error("no program listens on the socket `{path}` any more")]
    Stale { path: PathBuf },
    #[error("`{path}` exists and is not a socket")]
    NoSocket { path: PathBuf },
    #[error("cannot listen on the socket `{path}`")]
    Failed {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

pub use system::LocalSocket;

#[cfg(unix)]
mod system {
    use std::fs::{self, Permissions};
    use std::io::{Error, ErrorKind};
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
    use std::path::Path;

    use tokio::net::{UnixListener, UnixSocket, UnixStream};

    use super::SocketError;

    const LONGEST: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

    /// Clients that wait to be accepted.
    const WAITING: u32 = 128;

    /// Closing it leaves the file.
    #[derive(Debug)]
    pub struct LocalSocket(UnixListener);

    impl LocalSocket {
        /// Needs a running runtime.
        pub fn bind(path: &Path) -> Result<Self, SocketError> {
            let bytes = path.as_os_str().as_bytes().len();
            if bytes > LONGEST {
                return Err(SocketError::TooLong {
                    path: path.to_owned(),
                    bytes,
                    most: LONGEST,
                });
            }
            look_at(path)?;
            let listen = || -> Result<Self, Error> {
                let socket = UnixSocket::new_stream()?;
                socket.bind(path)?;
                // Before any client can connect.
                fs::set_permissions(path, Permissions::from_mode(0o600))?;
                Ok(Self(socket.listen(WAITING)?))
            };
            listen().map_err(|source| failed(path, source))
        }

        pub fn is_stale(path: &Path) -> bool {
            matches!(look_at(path), Err(SocketError::Stale { .. }))
        }

        pub(crate) async fn accept(&self) -> Result<UnixStream, Error> {
            Ok(self.0.accept().await?.0)
        }
    }

    fn failed(path: &Path, source: Error) -> SocketError {
        SocketError::Failed {
            path: path.to_owned(),
            source,
        }
    }

    fn look_at(path: &Path) -> Result<(), SocketError> {
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(path, error)),
        };
        let path = path.to_owned();
        if !found.file_type().is_socket() {
            return Err(SocketError::NoSocket { path });
        }
        match std::os::unix::net::UnixStream::connect(&path) {
            Ok(_) => Err(SocketError::InUse { path }),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                Err(SocketError::Stale { path })
            }
            Err(error) => Err(failed(&path, error)),
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::io::{Error, ErrorKind};
    use std::path::Path;

    use tokio::net::TcpStream;

    use super::SocketError;

    #[derive(Debug)]
    pub struct LocalSocket;

    impl LocalSocket {
        /// # Errors
        /// Always.
        pub fn bind(path: &Path) -> Result<Self, SocketError> {
            Err(SocketError::Failed {
                path: path.to_owned(),
                source: ErrorKind::Unsupported.into(),
            })
        }

        pub const fn is_stale(_: &Path) -> bool {
            false
        }

        pub(crate) async fn accept(&self) -> Result<TcpStream, Error> {
            std::future::pending().await
        }
    }
}
