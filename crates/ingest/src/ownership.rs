//! Decides which files a context source may change: new files, and files that it wrote itself and
//! that no person has changed since. Other changes are withheld.

use std::collections::{BTreeMap, BTreeSet};

use ktx_memory::{Changeset, is_sound};
use ktx_project_store::{Change, Content, ProjectPath};
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;

use crate::fingerprint::digest;

const DIGITS: usize = 16;

const MARK: &str = "ktx-wrote: ";

/// Returns the commit message line that records who wrote these bytes.
pub(crate) fn mark(source: &ConnectionId, path: &ProjectPath, bytes: &[u8]) -> String {
    format!("{MARK}{source} {} {path}", short(bytes))
}

pub(crate) fn short(bytes: &[u8]) -> String {
    let mut digits = digest(bytes);
    digits.truncate(DIGITS);
    digits
}

pub(crate) fn marks(source: &ConnectionId, changes: &[Change]) -> Vec<String> {
    let written = changes.iter().filter_map(|change| match &change.content {
        Content::Write(bytes) => Some(mark(source, &change.path, bytes)),
        Content::Delete => None,
    });
    written.collect()
}

/// Returns whether a source wrote the current version of a file. `messages` are those of the
/// commits that changed the file, newest first. The newest commit must carry the mark. Older
/// versions of ktx wrote no marks; without one, every commit of the file must come from this
/// source.
pub(crate) fn is_own(
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

fn is_older(source: &ConnectionId, message: &str) -> bool {
    let title = message.lines().next().unwrap_or_default();
    let Some(what) = title.strip_prefix(&format!("ktx ingest: {source} ")) else {
        return false;
    };
    let has = |begin: &str| message.lines().any(|line| line.starts_with(begin));
    let is_whole = matches!(what, "reconciled" | "candidates of documents");
    !has(MARK) && (is_whole || has("ktx-unit: "))
}

#[derive(Debug, Default)]
pub(crate) struct ReviewSplit {
    pub(crate) landing: Changeset,
    pub(crate) kept_back: Vec<Change>,
}

/// Withholds all changes if the committable part alone would be invalid.
pub(crate) fn divide(
    made: &Changeset,
    foreign: &BTreeSet<ProjectPath>,
    files: &BTreeMap<ProjectPath, Vec<u8>>,
    warehouse: Option<&(ConnectionId, Dialect)>,
) -> ReviewSplit {
    let is_foreign = |change: &Change| foreign.contains(&change.path);
    if !made.changes.iter().any(is_foreign) {
        return ReviewSplit {
            landing: made.clone(),
            kept_back: Vec::new(),
        };
    }
    let landing = made.part(|path| !foreign.contains(path));
    if is_sound(files, &landing.changes, warehouse) {
        let kept_back = made.changes.iter().filter(|change| is_foreign(change));
        return ReviewSplit {
            landing,
            kept_back: kept_back.cloned().collect(),
        };
    }
    ReviewSplit {
        landing: made.part(|_| false),
        kept_back: made.changes.clone(),
    }
}

#[cfg(test)]
mod tests;
