//! One command at a time changes a project.

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
    /// Such as `ktx scan`.
    pub command: String,
    /// Older versions of ktx do not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Start in seconds since 1970, because process numbers are reused. Older versions of ktx do
    /// not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<u64>,
}

impl Holder {
    pub fn this_process(command: &str, since: Option<Timestamp>) -> Self {
        let pid = std::process::id();
        Self {
            pid,
            command: command.to_owned(),
            since,
            begun: begun(pid),
        }
    }

    /// True if the process is in this machine and container.
    fn runs_here(&self) -> bool {
        self.begun.is_some() && begun(self.pid) == self.begun
    }

    pub(crate) fn interrupt(self) -> io::Result<Interruption> {
        if self.runs_here() && interrupt(self.pid)? {
            Ok(Interruption::Sent(self))
        } else {
            Ok(Interruption::NotReached(self))
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interruption {
    NoRun,
    Sent(Holder),
    /// The process is on another machine or in another container, or the holder is an older ktx.
    NotReached(Holder),
}

/// In seconds since 1970.
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

/// Released on drop, or when the process ends.
#[derive(Debug)]
pub struct ProjectLock {
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("the project is in use{}", by(.holder.as_ref()))]
    Held { holder: Option<Holder> },
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

    /// Fails if another process holds the lock. Writes nothing.
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

/// Waits on a thread, because the system call has no timeout. A late lock is released at once.
fn lock_within(file: File, time: Duration) -> io::Result<Option<File>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let locked = file.lock().map(|()| file);
        // Releases the lock if the receiver is gone.
        drop(sender.send(locked));
    });
    match receiver.recv_timeout(time) {
        Ok(locked) => locked.map(Some),
        Err(_) => Ok(None),
    }
}

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
    // The holder may not have written its name yet.
    let text = std::fs::read_to_string(path).ok();
    LockError::Held {
        holder: text.and_then(|text| serde_json::from_str(&text).ok()),
    }
}

#[cfg(test)]
mod tests;
