//! One file of a connection's `semantic-layer` folder, as text in memory.

use sha2::Digest as _;

/// A named text. The caller reads it from disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The path relative to the connection's folder, with `/` as separator; used in diagnostics. A
    /// first component `_schema` makes the file a manifest shard, `_imports` an import file.
    pub path: String,
    /// The raw content; need not be valid UTF-8.
    pub bytes: Vec<u8>,
}

impl SourceFile {
    /// Creates a file from its path and content.
    pub fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            bytes: bytes.into(),
        }
    }

    /// Returns true if the file is a manifest shard, written by a scan.
    pub fn is_manifest(&self) -> bool {
        self.path.trim_start_matches("./").starts_with("_schema/")
    }

    /// Returns true if the file has what a context source defines over a scanned table, written by
    /// an ingest.
    pub fn is_import(&self) -> bool {
        self.path.trim_start_matches("./").starts_with("_imports/")
    }

    /// Returns true if the path ends in `.yaml` or `.yml`, in any case; other files are not
    /// sources.
    pub fn is_yaml(&self) -> bool {
        let extension = self.path.rsplit_once('.').map(|(_, extension)| extension);
        extension.is_some_and(|text| {
            text.eq_ignore_ascii_case("yaml") || text.eq_ignore_ascii_case("yml")
        })
    }

    /// Returns true if the file or one of its folders starts with a dot, like the copies that
    /// editors make; such files are not sources.
    pub fn is_hidden(&self) -> bool {
        let is_hidden = |part: &str| part.starts_with('.') && part != "." && part != "..";
        self.path.split('/').any(is_hidden)
    }

    /// Returns the file name for a source: its own name if that is safe, otherwise a readable form
    /// with the start of a hash, so that two names never share a file.
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

/// Returns true if a name matches `^[a-z0-9][a-z0-9_]{0,63}$` and is not a Windows device name.
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
