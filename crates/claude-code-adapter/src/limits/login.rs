//! Identifies the login of limits without a secret.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::settings::ClaudeCodeSettings;

/// The user can change accounts while a run waits.
#[derive(Debug, Default)]
pub(super) struct SessionLogin {
    seen: Mutex<Option<CachedAccount>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    modified: SystemTime,
    bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct CachedAccount {
    state: FileState,
    account: Option<String>,
}

impl SessionLogin {
    pub(super) fn name(&self, settings: &ClaudeCodeSettings) -> String {
        let variable = |name: &str| settings.environment.get(name).cloned();
        if let Some(token) = variable("CLAUDE_CODE_OAUTH_TOKEN") {
            return format!("token {}", fingerprint(&token));
        }
        let folder = variable("CLAUDE_CONFIG_DIR")
            .or_else(|| variable("HOME"))
            .unwrap_or_default();
        match self.account(&PathBuf::from(&folder).join(".claude.json")) {
            Some(account) => format!("{folder} account {account}"),
            None => folder,
        }
    }

    /// ktx does not read the file with the tokens.
    fn account(&self, file: &Path) -> Option<String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let found = file.metadata().ok()?;
        let state = FileState {
            modified: found.modified().ok()?,
            bytes: found.len(),
        };
        if let Some(seen) = seen.as_ref().filter(|seen| seen.state == state) {
            return seen.account.clone();
        }
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let Ok(settings) = serde_json::from_str::<Value>(&text) else {
            // The program is rewriting the file.
            return seen.as_ref().and_then(|seen| seen.account.clone());
        };
        let account = account_of(&settings);
        *seen = Some(CachedAccount {
            state,
            account: account.clone(),
        });
        account
    }
}

fn account_of(settings: &Value) -> Option<String> {
    let account = settings.get("oauthAccount")?;
    let part = |key: &str| account.get(key).and_then(Value::as_str);
    let person = part("accountUuid")?;
    let organization = part("organizationUuid").unwrap_or_default();
    Some(fingerprint(&format!("{person} {organization}")))
}

fn fingerprint(text: &str) -> String {
    let digest = Sha256::new()
        .chain_update("ktx usage limits\0")
        .chain_update(text)
        .finalize();
    digest
        .iter()
        .take(8)
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
