//! Stores the announcements in a file of the state folder, for other runs with the same login. Runs
//! change it one at a time, and each keeps the entries of the others.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Announced, Noted};
use crate::settings::KnownLimits;

pub(super) fn file(state_dir: &Path) -> PathBuf {
    state_dir.join("limits.json")
}

/// Seconds after which an expired limit is deleted.
const OLD: i64 = 24 * 60 * 60;

/// A limit with the login it belongs to.
struct Kept {
    login: String,
    limit: Announced,
}

/// Loads the limits of this login; empty if the file is missing or malformed.
pub(super) fn load(file: Option<&Path>, login: &str) -> Vec<Announced> {
    let kept = file.map(read).unwrap_or_default().into_iter();
    let own = kept.filter(|kept| kept.login == login);
    own.map(|kept| kept.limit).collect()
}

/// Adds a limit of this login. Of two ends of the same window the later one stays, unless the
/// stored one is doubted: it is implausible, or the run only tries known limits.
pub(super) fn announce(
    file: Option<&Path>,
    login: &str,
    limit: &Announced,
    (known, now): (KnownLimits, i64),
) -> Noted {
    change(file, |kept| {
        let is_same = |kept: &Kept| kept.login == login && kept.limit.is_like(limit);
        let is_later = |kept: &Kept| {
            is_same(kept) && kept.limit.is_sound(now) && kept.limit.resets_at > limit.resets_at
        };
        let knows_better = known == KnownLimits::Believed && kept.iter().any(is_later);
        // Runs that waited for a limit that has just reset must still find it and try it.
        let is_old = |kept: &Kept| kept.limit.resets_at.saturating_add(OLD) < now;
        kept.retain(|kept| !is_old(kept) && (knows_better || !is_same(kept)));
        if !knows_better {
            kept.push(Kept {
                login: login.to_owned(),
                limit: limit.clone(),
            });
        }
    })
}

pub(super) fn forget(file: Option<&Path>, login: &str, is_over: impl Fn(&Announced) -> bool) {
    change(file, |kept| {
        kept.retain(|kept| kept.login != login || !is_over(&kept.limit));
    });
}

/// An unreadable file counts as empty: the next refusal is stored again.
fn read(file: &Path) -> Vec<Kept> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let stored = serde_json::from_str::<Value>(&text).unwrap_or_default();
    let limits = stored.get("limits").and_then(Value::as_array);
    limits.into_iter().flatten().filter_map(kept).collect()
}

fn kept(stored: &Value) -> Option<Kept> {
    let text = |key: &str| stored.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| stored.get(key).and_then(Value::as_i64);
    Some(Kept {
        login: text("login")?,
        limit: Announced {
            window: text("window")?,
            model: text("model"),
            resets_at: number("resetsAt")?,
            heard_at: number("heardAt")?,
        },
    })
}

/// Changes the file under a lock. ktx works without the file if the state folder is not writable.
fn change(file: Option<&Path>, change: impl FnOnce(&mut Vec<Kept>)) -> Noted {
    let Some(file) = file else { return Noted::No };
    match changed(file, change) {
        Ok(()) => Noted::Yes,
        Err(error) => {
            tracing::warn!(%error, "the end of a usage limit could not be written down");
            Noted::No
        }
    }
}

fn changed(file: &Path, change: impl FnOnce(&mut Vec<Kept>)) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Released on drop, or when the process ends.
    let _lock = lock(&file.with_extension("lock"))?;
    let mut kept = read(file);
    change(&mut kept);
    kept.sort_by(|left, right| key(left).cmp(&key(right)));
    write(file, &kept)
}

fn key(kept: &Kept) -> (&str, &str, Option<&str>) {
    let Announced { window, model, .. } = &kept.limit;
    (&kept.login, window, model.as_deref())
}

/// Takes the lock with a bounded wait: others hold it only for a moment, and one that was suspended
/// meanwhile must not block us.
#[expect(
    clippy::disallowed_methods,
    reason = "the system's lock has no limit of time, and the wait is one of milliseconds"
)]
fn lock(path: &Path) -> io::Result<File> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    for _ in 0..100 {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::TimedOut))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the file is local state about an account, not project state"
)]
fn write(file: &Path, kept: &[Kept]) -> io::Result<()> {
    let limits = kept.iter().map(|Kept { login, limit }| {
        json!({
            "login": login, "window": limit.window, "model": limit.model,
            "resetsAt": limit.resets_at, "heardAt": limit.heard_at,
        })
    });
    let text = json!({ "limits": limits.collect::<Vec<_>>() });
    let beside = file.with_extension(format!("{}.new", std::process::id()));
    let written =
        std::fs::write(&beside, format!("{text}\n")).and_then(|()| std::fs::rename(&beside, file));
    if written.is_err() {
        // Remove the partial file, if any.
        std::fs::remove_file(&beside).ok();
    }
    written
}
