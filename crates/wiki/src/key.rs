//! Page keys as users and models type them.

use ktx_diagnostics::{Hint, Hints};
use ktx_vocabulary::WikiKey;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unsafe wiki key `{text}`: keys are flat, of letters, digits, `_` and `-`")]
pub struct KeyError {
    pub text: String,
    pub proposal: Option<WikiKey>,
}

impl Hints for KeyError {
    fn hints(&self) -> Vec<Hint> {
        let proposal = self.proposal.iter();
        proposal
            .map(|key| Hint::new(format!("use `{key}`")))
            .collect()
    }
}

/// The error for a text with folders proposes the dashed form.
pub fn parse_key(text: &str) -> Result<WikiKey, KeyError> {
    WikiKey::parse(text).map_err(|_| KeyError {
        text: text.to_owned(),
        proposal: flattened(text),
    })
}

fn flattened(text: &str) -> Option<WikiKey> {
    let text = text.trim();
    let text = text.strip_suffix(".md").unwrap_or(text);
    let text = ["wiki/global/", "wiki/", "global/"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    let mut flat = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            flat.push(letter);
        } else if !flat.is_empty() && !flat.ends_with('-') {
            flat.push('-');
        }
    }
    let flat = flat.trim_matches(|letter| letter == '-' || letter == '_');
    WikiKey::parse(flat).ok()
}

#[cfg(test)]
mod tests;
