//! Stores finished work: a value and the hash of its inputs.

use std::sync::Arc;

use ktx_vocabulary::{ConnectionId, TableRef};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::ports::StageStore;
use crate::request::{Reuse, ScanError};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredRow<T> {
    input: String,
    value: T,
}

#[derive(Clone)]
pub(crate) struct StageRows {
    store: Arc<dyn StageStore>,
    connection: ConnectionId,
    reuse: Reuse,
}

impl std::fmt::Debug for StageRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StageRows")
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}

impl StageRows {
    pub(crate) fn new(store: Arc<dyn StageStore>, connection: ConnectionId, reuse: Reuse) -> Self {
        Self {
            store,
            connection,
            reuse,
        }
    }

    /// Returns the value of a row whose input is unchanged. Ignores a row that cannot be parsed.
    pub(crate) fn get<T: DeserializeOwned>(
        &self,
        stage: &str,
        unit: &str,
        input: &str,
    ) -> Result<Option<T>, ScanError> {
        if self.reuse == Reuse::Nothing {
            return Ok(None);
        }
        let key = self.key(stage, unit);
        let Some(text) = self.store.get(&key)? else {
            return Ok(None);
        };
        // Another version wrote a row of a different shape, so the work is redone.
        let row: Option<StoredRow<T>> = serde_json::from_str(&text).ok();
        Ok(row.filter(|row| row.input == input).map(|row| row.value))
    }

    pub(crate) fn put<T: Serialize>(
        &self,
        stage: &str,
        unit: &str,
        input: &str,
        value: &T,
    ) -> Result<(), ScanError> {
        let key = self.key(stage, unit);
        let row = StoredRow {
            input: input.to_owned(),
            value,
        };
        let text = serde_json::to_string(&row).map_err(|error| ScanError::Internal {
            reason: format!("the row `{key}` is not JSON: {error}"),
        })?;
        Ok(self.store.put(&key, &text)?)
    }

    fn key(&self, stage: &str, unit: &str) -> String {
        format!("scan/{}/{stage}/{unit}", self.connection)
    }
}

/// Returns the key of a table in stage rows: its qualified name.
pub(crate) fn table_unit(table: &TableRef) -> String {
    table.key().replace('\u{1f}', "/")
}

/// Returns the first 32 hexadecimal digits of the SHA-256 of the parts, each terminated by a zero
/// byte.
pub(crate) fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    let mut text = String::with_capacity(32);
    for byte in hasher.finalize().iter().take(16) {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
    }
    text
}
