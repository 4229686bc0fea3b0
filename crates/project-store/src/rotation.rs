//! Rotation of long logs.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::files::FileError;

/// In bytes.
const LONG: u64 = 4 << 20;

const KEPT: u32 = 3;

/// `calls.jsonl` becomes `calls.jsonl.1`, and so on. One process at a time.
pub(crate) fn rotate(path: &Path) -> Result<(), FileError> {
    if !exceeds_rotation_size(path) {
        return Ok(());
    }
    let failed = |source| FileError::Write {
        path: path.to_owned(),
        source,
    };
    let mut options = File::options();
    options.create(true).truncate(false).write(true).mode(0o600);
    let lock = options.open(with(path, "lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    if !exceeds_rotation_size(path) {
        return Ok(());
    }
    for number in (1..KEPT).rev() {
        let from = with(path, &number.to_string());
        if from.exists() {
            moved(&from, &with(path, &(number + 1).to_string())).map_err(failed)?;
        }
    }
    moved(path, &with(path, "1")).map_err(failed)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a log that is moved aside is whole at any moment"
)]
fn moved(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::rename(from, to)
}

fn exceeds_rotation_size(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.len() > LONG)
}

fn with(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests;
