//! The lock that lets only one command at a time change a project.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use jiff::Timestamp;
use ktx_diagnostics::{Hint, Hints};
use serde::{Deserialize, Serialize};

/// Who holds the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process id.
    pub pid: u32,
    /// The command, such as `ktx scan`.
    pub command: String,
    /// When it took the lock; absent in a lock file of an older ktx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// How long to wait for the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    No,
    /// At most this long.
    AtMost(Duration),
}

/// The lock, held until it is dropped or the process ends in any way.
#[derive(Debug)]
pub struct ProjectLock {
    _file: File,
}

/// Why the lock was not acquired.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("the project is in use{}", by(.holder.as_ref()))]
    Held {
        /// The holder, if it has written its name.
        holder: Option<Holder>,
    },
    /// The lock file cannot be used.
    #[error("cannot lock `{path}`")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn by(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| {
        format!(" by `{}` (process {})", holder.command, holder.pid)
    })
}

impl Hints for LockError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Held { .. } => vec![Hint::new(
                "wait until it has ended, then run the command again",
            )],
            Self::File { .. } => Vec::new(),
        }
    }
}

impl ProjectLock {
    /// Takes the lock in the file at `path`, creating the file if it is missing, and records the
    /// holder in it.
    pub(crate) fn acquire(path: &Path, holder: &Holder, wait: Wait) -> Result<Self, LockError> {
        let failed = |source| LockError::File {
            path: path.to_owned(),
            source,
        };
        let file = open(path).map_err(failed)?;
        let mut file = match (file.try_lock(), wait) {
            (Ok(()), _) => file,
            (Err(TryLockError::WouldBlock), Wait::AtMost(time)) => waited(file, time)
                .map_err(failed)?
                .ok_or_else(|| held(path))?,
            (Err(TryLockError::WouldBlock), Wait::No) => return Err(held(path)),
            (Err(TryLockError::Error(source)), _) => return Err(failed(source)),
        };
        sign(&mut file, holder).map_err(failed)?;
        Ok(Self { _file: file })
    }

    /// Fails if another process holds the lock in the file at `path`. Creates and writes no file.
    pub(crate) fn look(path: &Path) -> Result<(), LockError> {
        let failed = |source| LockError::File {
            path: path.to_owned(),
            source,
        };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(held(path)),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Takes the lock in the file at `path`, waiting without a limit.
    pub(crate) fn acquire_blocking(path: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::File {
            path: path.to_owned(),
            source,
        };
        let file = open(path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(Self { _file: file })
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Waits on a separate thread, because the system call has no timeout. After a timeout the thread
/// gets the lock later and releases it at once.
fn waited(file: File, time: Duration) -> io::Result<Option<File>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let locked = file.lock().map(|()| file);
        // If the receiver is gone, this drops the file and releases the lock.
        drop(sender.send(locked));
    });
    match receiver.recv_timeout(time) {
        Ok(locked) => locked.map(Some),
        Err(_) => Ok(None),
    }
}

fn sign(file: &mut File, holder: &Holder) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    let mut line = serde_json::to_vec(holder)?;
    line.push(b'\n');
    file.write_all(&line)
}

fn held(path: &Path) -> LockError {
    // The holder may not have written its name yet; then the error names no holder.
    let text = std::fs::read_to_string(path).ok();
    LockError::Held {
        holder: text.and_then(|text| serde_json::from_str(&text).ok()),
    }
}

#[cfg(test)]
mod tests;
