//! The state of a project's files, for detecting changes.

use std::collections::{BTreeMap, BTreeSet};

use ktx_vocabulary::ConnectionId;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProjectFile {
    Config,
    Tool(String),
    Page(String),
    Sources(ConnectionId, String),
    Scan(ConnectionId, String),
}

/// Metadata, and for a young file a digest of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp(String);

impl Stamp {
    /// `size:modified:changed:number`, with `:digest` for a young file.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A digest on only one side proves nothing.
    fn differs(&self, other: &Self) -> bool {
        let parts = |text: &str| {
            let mut parts = text.splitn(5, ':').map(str::to_owned);
            let told: Vec<String> = parts.by_ref().take(4).collect();
            (told, parts.next())
        };
        let ((told, digest), (other_told, other_digest)) = (parts(&self.0), parts(&other.0));
        told != other_told
            || matches!((digest, other_digest), (Some(one), Some(other)) if one != other)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectState {
    pub files: BTreeMap<ProjectFile, Stamp>,
}

impl ProjectState {
    pub fn changes_since(&self, earlier: &Self) -> Vec<ProjectFile> {
        let all: BTreeSet<&ProjectFile> = self.files.keys().chain(earlier.files.keys()).collect();
        let is_changed = |file: &&ProjectFile| match (self.files.get(file), earlier.files.get(file))
        {
            (Some(now), Some(before)) => now.differs(before),
            _ => true,
        };
        all.into_iter().filter(is_changed).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
