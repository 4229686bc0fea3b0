//! Stores limits for other runs with the same login.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::{AnnouncedLimit, StoreStatus};
use crate::settings::KnownLimits;

pub(super) fn file(state_dir: &Path) -> PathBuf {
    state_dir.join("limits.json")
}

/// Seconds after the end.
const OLD: i64 = 24 * 60 * 60;

struct StoredLimit {
    login: String,
    limit: AnnouncedLimit,
}

/// Empty without a readable file.
pub(super) fn load(file: Option<&Path>, login: &str) -> Vec<AnnouncedLimit> {
    let kept = file.map(read).unwrap_or_default().into_iter();
    let own = kept.filter(|kept| kept.login == login);
    own.map(|kept| kept.limit).collect()
}

/// Keeps the later of two ends; replaces a stored end that is implausible or only tried.
pub(super) fn announce(
    file: Option<&Path>,
    login: &str,
    limit: &AnnouncedLimit,
    known: KnownLimits,
    now: i64,
) -> StoreStatus {
    change(file, |kept| {
        let is_same = |kept: &StoredLimit| kept.login == login && kept.limit.is_like(limit);
        let is_later = |kept: &StoredLimit| {
            is_same(kept) && kept.limit.is_sound(now) && kept.limit.resets_at > limit.resets_at
        };
        let knows_better = known == KnownLimits::Believed && kept.iter().any(is_later);
        // Runs that waited for a limit must still find it after its reset.
        let is_old = |kept: &StoredLimit| kept.limit.resets_at.saturating_add(OLD) < now;
        kept.retain(|kept| !is_old(kept) && (knows_better || !is_same(kept)));
        if !knows_better {
            kept.push(StoredLimit {
                login: login.to_owned(),
                limit: limit.clone(),
            });
        }
    })
}

pub(super) fn forget(file: Option<&Path>, login: &str, is_over: impl Fn(&AnnouncedLimit) -> bool) {
    change(file, |kept| {
        kept.retain(|kept| kept.login != login || !is_over(&kept.limit));
    });
}

/// Empty if unreadable; the next refusal is stored again.
fn read(file: &Path) -> Vec<StoredLimit> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let stored = serde_json::from_str::<Value>(&text).unwrap_or_default();
    let limits = stored.get("limits").and_then(Value::as_array);
    limits
        .into_iter()
        .flatten()
        .filter_map(parse_entry)
        .collect()
}

fn parse_entry(stored: &Value) -> Option<StoredLimit> {
    let text = |key: &str| stored.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| stored.get(key).and_then(Value::as_i64);
    Some(StoredLimit {
        login: text("login")?,
        limit: AnnouncedLimit {
            window: text("window")?,
            model: text("model"),
            resets_at: number("resetsAt")?,
            heard_at: number("heardAt")?,
        },
    })
}

/// ktx works without a writable state folder.
fn change(file: Option<&Path>, change: impl FnOnce(&mut Vec<StoredLimit>)) -> StoreStatus {
    let Some(file) = file else {
        return StoreStatus::NotStored;
    };
    match changed(file, change) {
        Ok(()) => StoreStatus::Stored,
        Err(error) => {
            tracing::warn!(%error, "the end of a usage limit could not be stored");
            StoreStatus::NotStored
        }
    }
}

fn changed(file: &Path, change: impl FnOnce(&mut Vec<StoredLimit>)) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Released on drop or at the end of the process.
    let _lock = lock(&file.with_extension("lock"))?;
    let mut kept = read(file);
    change(&mut kept);
    kept.sort_by(|left, right| key(left).cmp(&key(right)));
    write(file, &kept)
}

fn key(kept: &StoredLimit) -> (&str, &str, Option<&str>) {
    let AnnouncedLimit { window, model, .. } = &kept.limit;
    (&kept.login, window, model.as_deref())
}

/// Bounded, because a suspended process must not block this one.
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
fn write(file: &Path, kept: &[StoredLimit]) -> io::Result<()> {
    let limits = kept.iter().map(|StoredLimit { login, limit }| {
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
        // Removes a partial file.
        std::fs::remove_file(&beside).ok();
    }
    written
}
