//! One file of a connection's `semantic-layer` folder, in memory.

use sha2::Digest as _;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Relative to the connection's folder, separated by `/`. Manifest shards start with `_schema`,
    /// import files with `_imports`.
    pub path: String,
    /// May be invalid UTF-8.
    pub bytes: Vec<u8>,
}

impl SourceFile {
    pub fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            bytes: bytes.into(),
        }
    }

    /// True for a shard, written by a scan.
    pub fn is_manifest(&self) -> bool {
        self.path.trim_start_matches("./").starts_with("_schema/")
    }

    /// True for definitions that an ingest wrote over a scanned table.
    pub fn is_import(&self) -> bool {
        self.path.trim_start_matches("./").starts_with("_imports/")
    }

    /// True for `.yaml` and `.yml` in any case; other files are not sources.
    pub fn is_yaml(&self) -> bool {
        let extension = self.path.rsplit_once('.').map(|(_, extension)| extension);
        extension.is_some_and(|text| {
            text.eq_ignore_ascii_case("yaml") || text.eq_ignore_ascii_case("yml")
        })
    }

    /// True if a component starts with a dot, like editors' copies.
    pub fn is_hidden(&self) -> bool {
        let is_hidden = |part: &str| part.starts_with('.') && part != "." && part != "..";
        self.path.split('/').any(is_hidden)
    }

    /// Returns the name if safe, else a readable form with a hash: two names never share a file.
    pub fn name_for(source: &str) -> String {
        if is_safe(source) {
            return format!("{source}.yaml");
        }
        let mut slug = String::new();
        for letter in source.to_lowercase().chars() {
            if letter.is_ascii_alphanumeric() {
                slug.push(letter);
            } else if !slug.ends_with('_') {
                slug.push('_');
            }
        }
        let slug: String = slug.trim_matches('_').chars().take(64).collect();
        let slug = if slug.is_empty() {
            "src".to_owned()
        } else {
            slug
        };
        let hash = sha2::Sha256::digest(source.as_bytes());
        let beginning = hash
            .as_slice()
            .first_chunk::<4>()
            .map_or(0, |bytes| u32::from_be_bytes(*bytes));
        format!("{slug}-{beginning:08x}.yaml")
    }
}

/// Safe: `^[a-z0-9][a-z0-9_]{0,63}$` and not a Windows device name.
fn is_safe(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_device = matches!(name, "con" | "prn" | "aux" | "nul")
        || name
            .strip_prefix("com")
            .or_else(|| name.strip_prefix("lpt"))
            .is_some_and(|rest| matches!(rest.as_bytes(), [b'0'..=b'9']));
    (1..=64).contains(&name.len())
        && name.bytes().all(is_word)
        && !name.starts_with('_')
        && !is_device
}

#[cfg(test)]
mod tests;
