//! Records children in files, so that the next start can end orphans.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::descendants::Descendants;
use super::tree::{kill_by_token, kill_child};

const FOLDER: &str = "claude-children";

const BELOW: &str = "below";

/// In case guard and owner are both killed.
#[expect(
    clippy::disallowed_methods,
    reason = "the file is a note about live processes, not project state"
)]
pub(crate) fn note_below(file: &Path, below: &Descendants) {
    let beside = file.with_extension("new-below");
    let written =
        std::fs::write(&beside, below.to_text()).and_then(|()| std::fs::rename(&beside, file));
    if let Err(error) = written {
        tracing::debug!(%error, "the descendants of a Claude Code process could not be recorded");
    }
}

pub(crate) fn forget_descendants(file: &Path) {
    remove(file);
}

fn recorded_descendants(note: &Path) -> Descendants {
    let text = std::fs::read_to_string(note.with_extension(BELOW)).unwrap_or_default();
    Descendants::parse(&text)
}

#[derive(Debug)]
pub(super) struct ChildRecord {
    file: PathBuf,
}

impl ChildRecord {
    /// ktx works without a writable state folder.
    #[expect(
        clippy::disallowed_methods,
        reason = "the file is a note about a live process, not project state"
    )]
    pub(super) fn write(state_dir: &Path, process: u32, token: &str) -> Option<Self> {
        let folder = state_dir.join(FOLDER);
        let owner = std::process::id();
        let note = json!({
            "process": process,
            "started": start_of(process),
            "token": token,
            "owner": owner,
            "owner_started": start_of(owner),
            "boot": boot(),
            "namespace": namespace(),
        });
        let file = folder.join(format!("{process}-{token}.json"));
        // No sweep must find an empty record.
        let beside = file.with_extension("new");
        let written = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&beside, note.to_string()))
            .and_then(|()| std::fs::rename(&beside, &file));
        match written {
            Ok(()) => Some(Self { file }),
            Err(error) => {
                remove(&beside);
                tracing::warn!(%error, "a Claude Code process could not be recorded");
                None
            }
        }
    }

    /// The guard stores the descendants here.
    pub(super) fn below(&self) -> PathBuf {
        self.file.with_extension(BELOW)
    }

    pub(super) fn remove(self) {
        remove(&self.file);
        remove(&self.below());
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the file is a note about a live process, not project state"
)]
fn remove(file: &Path) {
    if let Err(error) = std::fs::remove_file(file)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the record of a Claude Code process could not be removed");
    }
}

/// Ends orphans; returns the number of deleted records.
pub fn sweep(state_dir: &Path) -> u32 {
    let Ok(entries) = std::fs::read_dir(state_dir.join(FOLDER)) else {
        return 0;
    };
    let mut cleared = 0;
    for entry in entries.flatten() {
        let file = entry.path();
        if file.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let note = std::fs::read_to_string(&file)
            .ok()
            .and_then(|text| serde_json::from_str::<Value>(&text).ok())
            .unwrap_or_default();
        if is_foreign(&note) || is_running(&note, "owner", "owner_started") {
            continue;
        }
        let token = note
            .get("token")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if is_running(&note, "process", "started") {
            let process = number(&note, "process");
            tracing::warn!(
                process,
                "a Claude Code process outlived its owner and is ended"
            );
            kill_child(process, token);
        } else if !token.is_empty() {
            kill_by_token(token);
        }
        // Descendants that left both their parent and their environment.
        recorded_descendants(&file).kill();
        remove(&file.with_extension(BELOW));
        remove(&file);
        cleared += 1;
    }
    cleared
}

/// Processes in and around containers look ended. Records of an earlier boot do not count.
fn is_foreign(note: &Value) -> bool {
    let text = |key: &str| note.get(key).and_then(Value::as_str).map(str::to_owned);
    let (here, there) = (namespace(), text("namespace"));
    there.is_some() && there != here && text("boot") == boot()
}

fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

fn namespace() -> Option<String> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_string_lossy().into_owned())
}

fn is_running(note: &Value, process: &str, started: &str) -> bool {
    let start = note.get(started).and_then(Value::as_u64);
    number(note, process).is_some_and(|process| start.is_some() && start_of(process) == start)
}

fn number(note: &Value, key: &str) -> Option<u32> {
    note.get(key)
        .and_then(Value::as_u64)
        .and_then(|number| u32::try_from(number).ok())
}

/// Clock ticks since boot, unique with the id: field 22 of `/proc/<id>/stat`. `None` for zombies.
fn start_of(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X" | "x");
    let started = fields.nth(18)?.parse().ok()?;
    (!has_ended).then_some(started)
}

#[cfg(test)]
mod tests;
