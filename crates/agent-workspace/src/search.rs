//! Text search in workspace files.

use crate::fault::WorkspaceFault;
use crate::folder::{EntryKind, LocalFolder};

pub const MOST_HITS: usize = 200;

const MOST_FILES: usize = 2_000;

const DEPTH: usize = 16;

/// Maximum characters shown of a line.
const LONGEST_LINE: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    pub path: String,
    /// From 1.
    pub line: usize,
    pub text: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matches {
    pub found: Vec<Match>,
    pub files: usize,
    /// Files that are not text, or too long.
    pub unread: usize,
    /// True if a limit was reached.
    pub is_cut: bool,
}

/// Searches all files below a folder, ignoring case. `is_left_out` excludes paths.
pub(crate) fn search(
    folder: &LocalFolder,
    path: &str,
    text: &str,
    is_left_out: &dyn Fn(&str) -> bool,
) -> Result<Matches, WorkspaceFault> {
    let wanted = text.to_lowercase();
    let mut matches = Matches::default();
    let mut waiting = vec![(path.trim_matches('/').to_owned(), 0)];
    while let Some((place, depth)) = waiting.pop() {
        let listing = folder.list(&place)?;
        matches.is_cut |= listing.is_cut;
        let entries = listing.entries;
        // In reverse, because the stack is popped from the end.
        for entry in entries.iter().rev() {
            let path = joined(&place, &entry.name);
            if entry.kind == EntryKind::Folder && !is_left_out(&path) {
                if depth < DEPTH {
                    waiting.push((path, depth + 1));
                } else {
                    matches.is_cut = true;
                }
            }
        }
        for entry in entries.iter().filter(|entry| entry.kind == EntryKind::File) {
            let path = joined(&place, &entry.name);
            if is_left_out(&path) {
                continue;
            }
            if matches.files == MOST_FILES || matches.found.len() >= MOST_HITS {
                matches.is_cut = true;
                return Ok(matches);
            }
            matches.files += 1;
            match folder
                .read(&path)
                .ok()
                .and_then(|it| String::from_utf8(it).ok())
            {
                Some(content) => collect(&content, &path, &wanted, &mut matches),
                None => matches.unread += 1,
            }
        }
    }
    Ok(matches)
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() || folder == "." {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

fn collect(content: &str, path: &str, wanted: &str, matches: &mut Matches) {
    for (index, line) in content.lines().enumerate() {
        if !line.to_lowercase().contains(wanted) {
            continue;
        }
        if matches.found.len() == MOST_HITS {
            matches.is_cut = true;
            return;
        }
        matches.found.push(Match {
            path: path.to_owned(),
            line: index + 1,
            text: line.chars().take(LONGEST_LINE).collect(),
        });
    }
}
