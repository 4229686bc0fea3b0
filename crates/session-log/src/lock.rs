//! The lock for writing a log.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use ktx_project_store::Holder;

use crate::{LogError, SessionId};

pub(crate) fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Takes the lock and writes the holder's name into its file. The kernel releases it when the
/// process ends.
pub(crate) fn acquire(path: &Path, id: &SessionId, holder: &Holder) -> Result<File, LogError> {
    let failed = |source| LogError::Write {
        path: path.to_owned(),
        source,
    };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let name = std::fs::read_to_string(path);
            return Err(LogError::Busy {
                id: id.clone(),
                holder: name.ok().and_then(|name| serde_json::from_str(&name).ok()),
            });
        }
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    let mut name = serde_json::to_vec(holder).unwrap_or_default();
    name.push(b'\n');
    // A full disk must not prevent locking.
    let signed = file
        .set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| file.write_all(&name));
    drop(signed);
    Ok(file)
}
