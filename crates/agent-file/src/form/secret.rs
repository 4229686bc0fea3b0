//! Which texts are secrets, and which ones only refer to them.

use ktx_diagnostics::Code;
use ktx_secrets::SecretRef;

use super::Fault;

/// How keys of well-known services begin.
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

/// Words in the names of variables and headers whose values are secrets.
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

/// What to say about a secret in the file.
pub(crate) fn written() -> Fault {
    Fault {
        code: Code::PlainSecret,
        message: "write `env:NAME`; a key in a committed file is public".to_owned(),
        hint: None,
    }
}

/// Whether a text refers to a secret instead of containing it.
pub(crate) fn is_reference(text: &str) -> bool {
    variable(text).is_some()
        || match SecretRef::parse(text) {
            SecretRef::Env(name) => !name.is_empty(),
            SecretRef::File(path) => !path.as_os_str().is_empty(),
            SecretRef::Literal(_) => false,
        }
}

/// Returns HoloDeck's `${NAME}` as `env:NAME`, and other texts as they are.
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

/// Whether values under this name are secrets.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name: String = name
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .collect();
    NAMES.iter().any(|word| name.contains(word)) || name == "key" || name == "auth"
}

/// Whether the text looks like a key of a well-known service.
pub(crate) fn looks_secret(text: &str) -> bool {
    let key = text.trim();
    let key = key.strip_prefix("Bearer ").unwrap_or(key);
    key.len() >= SHORTEST_KEY
        && !key.contains(char::is_whitespace)
        && !key.contains("${")
        && PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}
