//! One command at a time changes a project.

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
    /// The process.
    pub pid: u32,
    /// What it does, such as `ktx scan`.
    pub command: String,
    /// Since when it holds the lock; absent in a lock file of an older ktx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// How long to wait for the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// So long at most.
    AtMost(Duration),
}

/// The lock, held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct ProjectLock {
    _file: File,
}

/// Why the lock was not got.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else holds it.
    #[error("the project is in use{}", by(.holder.as_ref()))]
    Held {
        /// Who, when they have said so.
        holder: Option<Holder>,
    },
    /// The lock file cannot be used.
    #[error("cannot lock `{path}`")]
    File {
        /// The lock file.
        path: PathBuf,
        /// The cause.
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
    /// Takes the lock in the file at `path`, which is made when missing, and writes into it who
    /// holds it.
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

    /// Whether somebody holds the lock in the file at `path`; nothing is made and nothing signed.
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

    /// Takes the lock in the file at `path`, however long that takes.
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

/// Waits in a thread of its own: the system's call knows no time limit. A thread that is given up
/// gets the lock later and lets go of it at once.
fn waited(file: File, time: Duration) -> io::Result<Option<File>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let locked = file.lock().map(|()| file);
        // Nobody listens any more: the file is dropped and the lock with it.
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
    // The holder may be about to write its name: then nobody is named.
    let text = std::fs::read_to_string(path).ok();
    LockError::Held {
        holder: text.and_then(|text| serde_json::from_str(&text).ok()),
    }
}

#[cfg(test)]
mod tests;
