//! What the files of a project are at one moment, to find out what has changed since.

use std::collections::{BTreeMap, BTreeSet};

use ktx_vocabulary::ConnectionId;

/// One file that answers come from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProjectFile {
    /// `ktx.yaml`.
    Config,
    /// A file of `tools/`, by its name.
    Tool(String),
    /// The page of this key.
    Page(String),
    /// A file of a connection's sources, by its path below their folder.
    Sources(ConnectionId, String),
    /// A file of a connection's last scan, by its path below the folder of the scan.
    Scan(ConnectionId, String),
}

/// What the file system says of a file. For a file that has just changed, that is not enough: a digest of its content
/// goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp(String);

impl Stamp {
    /// Wraps what the file system says: `size:modified:changed:number`, with `:digest` for a young file.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether the file may have another content. A digest that is only on one side says nothing.
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

/// The files of a project at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectState {
    /// Each file with what the file system says of it.
    pub files: BTreeMap<ProjectFile, Stamp>,
}

impl ProjectState {
    /// Returns the files that are new, gone or different since `earlier`, in order.
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
