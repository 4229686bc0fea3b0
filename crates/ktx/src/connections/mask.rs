//! Masks secrets in connections.

use ktx_config::{Connection, Driver, FieldKind, field_kind};
use ktx_secrets::{SecretRef, redact_url};
use serde_json::{Map, Value};

const MASK: &str = "***";

/// Marks secrets in unknown fields.
const TELLING: [&str; 7] = [
    "password",
    "passphrase",
    "passwd",
    "secret",
    "token",
    "credential",
    "key",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenReference {
    pub field: String,
    pub written: String,
}

pub(crate) fn masked(connection: &Connection) -> Map<String, Value> {
    connection
        .fields
        .iter()
        .map(|(key, value)| {
            let value = mask_value(connection.driver, &[key.as_str()], value);
            (key.clone(), value)
        })
        .collect()
}

pub(crate) fn references(connection: &Connection) -> Vec<WrittenReference> {
    let mut found = Vec::new();
    for (key, value) in &connection.fields {
        collect(connection.driver, key, value, &mut found);
    }
    found
}

fn collect(driver: Driver, field: &str, value: &Value, found: &mut Vec<WrittenReference>) {
    match value {
        Value::String(text) if is_reference(driver, field, text) => found.push(WrittenReference {
            field: field.to_owned(),
            written: text.clone(),
        }),
        Value::Object(entries) => {
            for (key, value) in entries {
                collect(driver, &format!("{field}.{key}"), value, found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(driver, &format!("{field}.{index}"), value, found);
            }
        }
        _ => {}
    }
}

/// For database paths, `file:…` is not a reference.
pub(crate) fn is_reference(driver: Driver, field: &str, text: &str) -> bool {
    match SecretRef::parse(text) {
        SecretRef::Env(_) => true,
        SecretRef::File(_) => {
            !(matches!(driver, Driver::Sqlite | Driver::DuckDb) && matches!(field, "path" | "url"))
        }
        SecretRef::Literal(_) => false,
    }
}

fn mask_value(driver: Driver, path: &[&str], value: &Value) -> Value {
    match value {
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| {
                let mut path = path.to_vec();
                path.push(key);
                (key.clone(), mask_value(driver, &path, value))
            })
            .collect(),
        Value::Array(items) => items
            .iter()
            .map(|item| mask_value(driver, path, item))
            .collect(),
        Value::String(text) => {
            let (first, last) = (path.first(), path.last());
            if is_reference(driver, first.copied().unwrap_or_default(), text) {
                return value.clone();
            }
            let key = last.copied().unwrap_or_default();
            Value::from(mask_text(key, text, kind_of(driver, path)))
        }
        // A password can be numeric.
        Value::Number(_) if kind_of(driver, path) == FieldKind::Secret => Value::from(MASK),
        other => other.clone(),
    }
}

/// The name decides for unknown fields.
pub(crate) fn kind_of(driver: Driver, path: &[&str]) -> FieldKind {
    let by_name = || match path.last() {
        Some(key) if is_sensitive_name(key) => FieldKind::Secret,
        _ => FieldKind::Other,
    };
    field_kind(driver, path).unwrap_or_else(by_name)
}

pub(crate) fn mask_text(key: &str, text: &str, kind: FieldKind) -> String {
    if text.contains("://") {
        return mask_url(text);
    }
    // Strings without a scheme can contain a password anywhere.
    let plain_address = key == "url" && !text.contains(['@', '=', ';']);
    if kind == FieldKind::Secret && !plain_address && !text.is_empty() {
        return MASK.to_owned();
    }
    text.to_owned()
}

pub(crate) fn holds_secret(url: &str) -> bool {
    mask_text("url", url, FieldKind::Secret) != url
}

fn mask_url(text: &str) -> String {
    let masked = redact_url(text);
    if masked == text && ends_inside_password(text) {
        let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
        return format!("{scheme}://{MASK}");
    }
    let Some((address, parameters)) = masked.split_once('?') else {
        return masked;
    };
    let parameters: Vec<String> = parameters
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, _)) if is_sensitive_name(name) => format!("{name}={MASK}"),
            _ => parameter.to_owned(),
        })
        .collect();
    format!("{address}?{}", parameters.join("&"))
}

/// True if a character that is invalid in URLs ends the search for the password too early.
fn ends_inside_password(text: &str) -> bool {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    let end = rest
        .find(|letter: char| letter.is_whitespace() || "/?#\"'`<>".contains(letter))
        .unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    if authority.contains('@') {
        return false;
    }
    let host = authority.rsplit(']').next().unwrap_or_default();
    let Some((_, port)) = host.split_once(':') else {
        return false;
    };
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    let before_parameters = tail.split('?').next().unwrap_or_default();
    !is_port || before_parameters.contains('@')
}

fn is_sensitive_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // A key's path is not secret.
    !name.ends_with("path") && TELLING.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests;
