//! Stores finished work: a value and the hash of its inputs.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ktx_vocabulary::{ConnectionId, TableRef};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::ports::StageStore;
use crate::request::{Reuse, ScanError};

pub(crate) const DAMAGED: &str = "stored_results_damaged";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredRow<T> {
    input: String,
    value: T,
}

/// The part that shows whether a row counts.
#[derive(Deserialize)]
struct StoredInput<'a> {
    #[serde(borrow)]
    input: Cow<'a, str>,
}

#[derive(Clone)]
pub(crate) struct StageRows {
    store: Arc<dyn StageStore>,
    connection: ConnectionId,
    reuse: Reuse,
    damaged: Arc<AtomicUsize>,
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
            damaged: Arc::default(),
        }
    }

    /// Returns `None` if the input changed or the row is unreadable.
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
        // Parse the value only if the row counts.
        let Ok(stored) = serde_json::from_str::<StoredInput<'_>>(&text) else {
            self.note_damaged();
            return Ok(None);
        };
        if stored.input != input {
            return Ok(None);
        }
        let row: Option<StoredRow<T>> = serde_json::from_str(&text).ok();
        if row.is_none() {
            self.note_damaged();
        }
        Ok(row.map(|row| row.value))
    }

    /// Includes rows of other versions.
    fn note_damaged(&self) {
        self.damaged.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn damaged(&self) -> usize {
        self.damaged.load(Ordering::Relaxed)
    }

    pub(crate) fn put<T: Serialize>(
        &self,
        stage: &str,
        unit: &str,
        input: &str,
        value: &T,
    ) -> Result<(), ScanError> {
        let key = self.key(stage, unit);
        let text = Self::row_text(&key, input, value)?;
        Ok(self.store.put(&key, &text)?)
    }

    pub(crate) fn row_text<T: Serialize>(
        key: &str,
        input: &str,
        value: &T,
    ) -> Result<String, ScanError> {
        let row = StoredRow {
            input: input.to_owned(),
            value,
        };
        serde_json::to_string(&row).map_err(|error| ScanError::Internal {
            reason: format!("the row `{key}` is not JSON: {error}"),
        })
    }

    fn key(&self, stage: &str, unit: &str) -> String {
        Self::key_of(&self.connection, stage, unit)
    }

    pub(crate) fn key_of(connection: &ConnectionId, stage: &str, unit: &str) -> String {
        format!("scan/{connection}/{stage}/{unit}")
    }
}

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
