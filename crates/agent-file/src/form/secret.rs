//! Tells secrets from references to secrets.

use ktx_diagnostics::Code;
use ktx_secrets::SecretRef;

use super::FormFault;

const PREFIXES: [&str; 12] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "ya29.",
    "lin_api_",
];

const SHORTEST_KEY: usize = 16;

/// Words that mark a variable or header as secret.
const NAMES: [&str; 9] = [
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "authorization",
    "credential",
    "privatekey",
    "accesskey",
];

pub(crate) fn plain_secret_fault() -> FormFault {
    FormFault {
        code: Code::PlainSecret,
        message: "write `env:NAME`; a key in a committed file is public".to_owned(),
        hint: None,
    }
}

pub(crate) fn is_reference(text: &str) -> bool {
    variable(text).is_some()
        || match SecretRef::parse(text) {
            SecretRef::Env(name) => !name.is_empty(),
            SecretRef::File(path) => !path.as_os_str().is_empty(),
            SecretRef::Literal(_) => false,
        }
}

/// Returns HoloDeck's `${NAME}` as `env:NAME`, and other texts unchanged.
pub(crate) fn reference(text: &str) -> String {
    match variable(text) {
        Some(name) => format!("env:{name}"),
        None => text.to_owned(),
    }
}

fn variable(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("${")?.strip_suffix('}')?;
    let begins = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    let continues = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    (name.starts_with(begins) && name.chars().all(continues)).then_some(name)
}

pub(crate) fn is_secret_name(name: &str) -> bool {
    let name: String = name
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .collect();
    NAMES.iter().any(|word| name.contains(word)) || name == "key" || name == "auth"
}

pub(crate) fn looks_like_secret(text: &str) -> bool {
    let key = text.trim();
    let key = key.strip_prefix("Bearer ").unwrap_or(key);
    key.len() >= SHORTEST_KEY
        && !key.contains(char::is_whitespace)
        && !key.contains("${")
        && PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}
