//! The announcements in a file of the state folder, for the next run with the same login.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Announced, Book};
use crate::settings::ClaudeCodeSettings;

/// The file in a state folder.
pub(super) fn file(state_dir: &Path) -> PathBuf {
    state_dir.join("limits.json")
}

/// Which login the limits are those of, as far as the environment tells.
fn login(settings: &ClaudeCodeSettings) -> String {
    let variable = |name: &str| settings.environment.get(name).cloned();
    if let Some(token) = variable("CLAUDE_CODE_OAUTH_TOKEN") {
        return format!("token {}", fingerprint(&token));
    }
    variable("CLAUDE_CONFIG_DIR")
        .or_else(|| variable("HOME"))
        .unwrap_or_default()
}

/// Tells tokens apart without showing anything of one.
fn fingerprint(token: &str) -> String {
    let digest = Sha256::new()
        .chain_update("ktx usage limits\0")
        .chain_update(token)
        .finalize();
    digest
        .iter()
        .take(8)
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// What the file says about this login; nothing when there is no file or it says something else.
pub(super) fn load(file: Option<&Path>, settings: &ClaudeCodeSettings) -> Vec<Announced> {
    let Some(text) = file.and_then(|file| std::fs::read_to_string(file).ok()) else {
        return Vec::new();
    };
    let Ok(stored) = serde_json::from_str::<Value>(&text) else {
        return Vec::new();
    };
    if stored.get("login").and_then(Value::as_str) != Some(&*login(settings)) {
        return Vec::new();
    }
    let limits = stored.get("limits").and_then(Value::as_array);
    limits.into_iter().flatten().filter_map(announced).collect()
}

fn announced(stored: &Value) -> Option<Announced> {
    Some(Announced {
        window: stored.get("window")?.as_str()?.to_owned(),
        model: stored
            .get("model")
            .and_then(Value::as_str)
            .map(str::to_owned),
        resets_at: stored.get("resetsAt")?.as_i64()?,
    })
}

/// Writes the limits down. A state folder that cannot be written is no reason not to work.
#[expect(
    clippy::disallowed_methods,
    reason = "the file is local state about an account, not project state"
)]
pub(super) fn save(file: Option<&Path>, settings: &ClaudeCodeSettings, book: &Book) {
    let Some(file) = file else { return };
    let limits = book.all().iter().map(|limit| {
        json!({ "window": limit.window, "model": limit.model, "resetsAt": limit.resets_at })
    });
    let text = json!({ "login": login(settings), "limits": limits.collect::<Vec<_>>() });
    let beside = file.with_extension(format!("{}.new", std::process::id()));
    let written = file
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&beside, format!("{text}\n")))
        .and_then(|()| std::fs::rename(&beside, file));
    if let Err(error) = written {
        // Whatever is there of it.
        std::fs::remove_file(&beside).ok();
        tracing::warn!(%error, "the end of a usage limit could not be written down");
    }
}
