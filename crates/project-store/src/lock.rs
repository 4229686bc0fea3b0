//! The lock that lets only one command at a time change a project.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use jiff::Timestamp;
use ktx_diagnostics::{Hint, Hints};
use serde::{Deserialize, Serialize};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    /// The command, such as `ktx scan`.
    pub command: String,
    /// The time at which it took the lock; absent in a lock file of an older ktx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The second since 1970 in which its process began, as the system tells it; absent in a lock file of an older
    /// ktx. A system gives the number of an ended process to another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<u64>,
}

impl Holder {
    /// This process, which runs `command`.
    pub fn this_process(command: &str, since: Option<Timestamp>) -> Self {
        let pid = std::process::id();
        Self {
            pid,
            command: command.to_owned(),
            since,
            begun: begun(pid),
        }
    }

    /// Whether its process runs here: in this machine, in this container.
    fn runs_here(&self) -> bool {
        self.begun.is_some() && begun(self.pid) == self.begun
    }

    /// Sends the process the signal of Ctrl-C.
    pub(crate) fn interrupt(self) -> io::Result<Interruption> {
        if self.runs_here() && interrupt(self.pid)? {
            Ok(Interruption::Sent(self))
        } else {
            Ok(Interruption::NotReached(self))
        }
    }
}

/// What became of the wish to end a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interruption {
    /// No run has the project's lock.
    NoRun,
    /// The process was asked to end.
    Sent(Holder),
    /// The process with this number is not the one that took the lock: that one runs on another machine, in another
    /// container, or is of an older ktx.
    NotReached(Holder),
}

/// The second since 1970 in which a process began; `None` if there is no such process.
fn begun(process: u32) -> Option<u64> {
    let process = sysinfo::Pid::from_u32(process);
    let mut system = System::new().ok()?;
    let wanted = ProcessesToUpdate::Some(&[process]);
    system.refresh_processes_specifics(wanted, true, ProcessRefreshKind::nothing());
    system.process(process).map(sysinfo::Process::start_time)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    No,
    AtMost(Duration),
}

/// Held until it is dropped or the process ends in any way.
#[derive(Debug)]
pub struct ProjectLock {
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("the project is in use{}", by(.holder.as_ref()))]
    Held {
        /// The holder, if it has written its name.
        holder: Option<Holder>,
    },
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
    /// Creates a missing file and records the holder in it.
    pub(crate) fn acquire(path: &Path, holder: &Holder, wait: Wait) -> Result<Self, LockError> {
        let failed = |source| LockError::File {
            path: path.to_owned(),
            source,
        };
        let file = open(path).map_err(failed)?;
        let mut file = match (file.try_lock(), wait) {
            (Ok(()), _) => file,
            (Err(TryLockError::WouldBlock), Wait::AtMost(time)) => lock_within(file, time)
                .map_err(failed)?
                .ok_or_else(|| held_error(path))?,
            (Err(TryLockError::WouldBlock), Wait::No) => return Err(held_error(path)),
            (Err(TryLockError::Error(source)), _) => return Err(failed(source)),
        };
        sign(&mut file, holder).map_err(failed)?;
        Ok(Self { _file: file })
    }

    /// Fails if another process holds the lock. Creates and writes no file.
    pub(crate) fn check_free(path: &Path) -> Result<(), LockError> {
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
            Err(TryLockError::WouldBlock) => Err(held_error(path)),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

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
fn lock_within(file: File, time: Duration) -> io::Result<Option<File>> {
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

/// Sends a process the signal of Ctrl-C; false if there is no such process.
#[cfg(unix)]
fn interrupt(process: u32) -> io::Result<bool> {
    let process = i32::try_from(process).ok();
    let Some(process) = process.and_then(rustix::process::Pid::from_raw) else {
        return Ok(false);
    };
    match rustix::process::kill_process(process, rustix::process::Signal::INT) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn interrupt(_: u32) -> io::Result<bool> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

fn sign(file: &mut File, holder: &Holder) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    let mut line = serde_json::to_vec(holder)?;
    line.push(b'\n');
    file.write_all(&line)
}

fn held_error(path: &Path) -> LockError {
    // The holder may not have written its name yet; then the error names none.
    let text = std::fs::read_to_string(path).ok();
    LockError::Held {
        holder: text.and_then(|text| serde_json::from_str(&text).ok()),
    }
}

#[cfg(test)]
mod tests;
