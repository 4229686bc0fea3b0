//! What a context source may change: files that are new, and those that it wrote itself and that no person has
//! changed since. Everything else is kept back.

use std::collections::{BTreeMap, BTreeSet};

use ktx_memory::{Made, is_sound};
use ktx_project_store::{Change, Content, ProjectPath};
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::Dialect;

use crate::fingerprint::digest;

/// Digits of a hash that tell two texts of one file apart.
const DIGITS: usize = 16;

/// The begin of a mark.
const MARK: &str = "ktx-wrote: ";

/// The line of a commit message by which a later run knows that a source wrote these bytes.
pub(crate) fn mark(source: &ConnectionId, path: &ProjectPath, bytes: &[u8]) -> String {
    format!("{MARK}{source} {} {path}", short(bytes))
}

/// The first digits of the hash of these bytes.
pub(crate) fn short(bytes: &[u8]) -> String {
    let mut digits = digest(bytes);
    digits.truncate(DIGITS);
    digits
}

/// The marks of everything that is written.
pub fn marks(source: &ConnectionId, changes: &[Change]) -> Vec<String> {
    let written = changes.iter().filter_map(|change| match &change.content {
        Content::Write(bytes) => Some(mark(source, &change.path, bytes)),
        Content::Delete => None,
    });
    written.collect()
}

/// Whether a source wrote a file as it is. `messages` are those of the commits that changed it, the newest first.
///
/// The newest one must bear the mark. Before there were marks, a file counts when units of the source alone
/// have ever changed it.
pub fn is_own(
    source: &ConnectionId,
    path: &ProjectPath,
    bytes: &[u8],
    messages: &[String],
) -> bool {
    let Some(newest) = messages.first() else {
        return false;
    };
    let mark = mark(source, path, bytes);
    let is_marked = newest.lines().any(|line| line == mark);
    is_marked || messages.iter().all(|message| is_older(source, message))
}

/// Whether a commit without marks is one of a unit, a reconciliation or a curation of the source.
fn is_older(source: &ConnectionId, message: &str) -> bool {
    let title = message.lines().next().unwrap_or_default();
    let Some(what) = title.strip_prefix(&format!("ktx ingest: {source} ")) else {
        return false;
    };
    let has = |begin: &str| message.lines().any(|line| line.starts_with(begin));
    let is_whole = matches!(what, "reconciled" | "candidates of documents");
    !has(MARK) && (is_whole || has("ktx-unit: "))
}

/// What was made, in two parts.
#[derive(Debug, Default)]
pub struct Divided {
    /// What can be committed.
    pub landing: Made,
    /// What a person has to decide about.
    pub kept_back: Vec<Change>,
}

/// Divides what was made. When the part that may be committed would not be right without the other one, all of it
/// is kept back.
pub fn divide(
    made: &Made,
    foreign: &BTreeSet<ProjectPath>,
    files: &BTreeMap<ProjectPath, Vec<u8>>,
    warehouse: Option<&(ConnectionId, Dialect)>,
) -> Divided {
    let is_foreign = |change: &Change| foreign.contains(&change.path);
    if !made.changes.iter().any(is_foreign) {
        return Divided {
            landing: made.clone(),
            kept_back: Vec::new(),
        };
    }
    let landing = made.part(|path| !foreign.contains(path));
    if is_sound(files, &landing.changes, warehouse) {
        let kept_back = made.changes.iter().filter(|change| is_foreign(change));
        return Divided {
            landing,
            kept_back: kept_back.cloned().collect(),
        };
    }
    Divided {
        landing: made.part(|_| false),
        kept_back: made.changes.clone(),
    }
}

#[cfg(test)]
mod tests;
