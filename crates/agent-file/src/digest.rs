//! The digest of what a session of an agent depends on.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Keys that do not change a session.
const APART: [&str; 8] = [
    "author",
    "cases",
    "description",
    "digest",
    "evaluations",
    "execution",
    "path",
    "schedule",
];

pub(crate) fn digest(agent: &Map<String, Value>) -> String {
    let kept = agent
        .iter()
        .filter(|(key, _)| !APART.contains(&key.as_str()));
    let kept: Map<String, Value> = kept
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    hexadecimal(&Sha256::digest(canonical(&Value::Object(kept)).to_string()))
}

/// Sorts all keys and drops nulls: an absent key equals one without a value.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<(&String, &Value)> = object
                .iter()
                .filter(|(_, value)| !value.is_null())
                .collect();
            entries.sort_by_key(|(key, _)| *key);
            entries
                .into_iter()
                .map(|(key, value)| (key.clone(), canonical(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        other => other.clone(),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a `String` cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}
