//! The file of the limit book. Commands change it one at a time.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use ktx_project_store::{read_optional, write_atomically};

use super::StoredLimits;

/// Empty if missing or unreadable; later reports rebuild it.
pub(super) fn read(path: &Path) -> StoredLimits {
    read_optional(path)
        .ok()
        .flatten()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

pub(super) fn change(path: &Path, change: impl FnOnce(&mut StoredLimits)) -> Result<(), String> {
    let place = path.with_extension("lock");
    if !place.exists() {
        // Also creates the folder.
        write_atomically(&place, b"").map_err(|error| error.to_string())?;
    }
    // Released on drop or at the end of the process.
    let _lock = lock(&place).map_err(|error| error.to_string())?;
    let mut book = read(path);
    change(&mut book);
    let text = serde_json::to_string_pretty(&book).map_err(|error| error.to_string())?;
    write_atomically(path, text.as_bytes()).map_err(|error| error.to_string())?;
    Ok(())
}

/// Bounded, because a suspended process must not block this one.
#[expect(
    clippy::disallowed_methods,
    reason = "the system's lock has no limit of time, and the wait is one of milliseconds"
)]
fn lock(path: &Path) -> io::Result<File> {
    let file = File::options().write(true).open(path)?;
    for _ in 0..100 {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::TimedOut))
}
