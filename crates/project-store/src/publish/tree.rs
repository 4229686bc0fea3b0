//! Parses git's output about files.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ProjectPath;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TreeEntry {
    /// `100644`, `100755`, `120000` (link) or `160000` (submodule).
    pub(super) mode: String,
    pub(super) id: String,
}

impl TreeEntry {
    pub(super) fn is_file(&self) -> bool {
        self.mode.starts_with("100")
    }
}

/// Has only valid project paths.
pub(super) type Tree = BTreeMap<ProjectPath, TreeEntry>;

/// Parses `ls-tree -r -z`: `mode type id TAB path`.
pub(super) fn parse_tree(output: &[u8], prefix: &str) -> Tree {
    lines(output, prefix)
        .filter_map(|(head, path)| {
            let mut words = head.split(' ');
            let (mode, _, id) = (words.next()?, words.next()?, words.next()?);
            Some((
                path,
                TreeEntry {
                    mode: mode.to_owned(),
                    id: id.to_owned(),
                },
            ))
        })
        .collect()
}

/// Parses `diff-tree -r -z`: `:mode mode id id status NUL path NUL`.
pub(super) fn parse_diff(output: &[u8], prefix: &str) -> BTreeMap<ProjectPath, Option<TreeEntry>> {
    let text = String::from_utf8_lossy(output);
    let mut fields = text.split('\0');
    let mut changed = BTreeMap::new();
    while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
        let words: Vec<&str> = head.split(' ').collect();
        let [_, mode, _, id, _] = words.as_slice() else {
            continue;
        };
        let path = path.strip_prefix(prefix).map(ProjectPath::parse);
        let Some(Ok(path)) = path else {
            continue;
        };
        let entry = TreeEntry {
            mode: (*mode).to_owned(),
            id: (*id).to_owned(),
        };
        changed.insert(path, Some(entry).filter(TreeEntry::is_file));
    }
    changed
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GitIndex {
    pub(super) entries: Tree,
    /// Marked skip-worktree, as by a sparse checkout.
    pub(super) unseen: BTreeSet<ProjectPath>,
}

/// Parses `ls-files -t --stage -z`: `tag mode id stage TAB path`. Entries in conflict get an
/// impossible id.
pub(super) fn parse_index(output: &[u8], prefix: &str) -> GitIndex {
    let mut index = GitIndex::default();
    for (head, path) in lines(output, prefix) {
        let words: Vec<&str> = head.split(' ').collect();
        let [tag, mode, id, stage] = words.as_slice() else {
            continue;
        };
        if *tag == "S" {
            index.unseen.insert(path.clone());
        }
        let entry = TreeEntry {
            mode: (*mode).to_owned(),
            id: if *stage == "0" { *id } else { "in conflict" }.to_owned(),
        };
        index.entries.insert(path, entry);
    }
    index
}

fn lines<'o>(output: &'o [u8], prefix: &str) -> impl Iterator<Item = (&'o str, ProjectPath)> {
    output.split(|byte| *byte == 0).filter_map(move |line| {
        let (head, path) = std::str::from_utf8(line).ok()?.split_once('\t')?;
        Some((head, ProjectPath::parse(path.strip_prefix(prefix)?).ok()?))
    })
}

/// Parses `cat-file --batch`: `id type size LF content LF`.
pub(super) fn parse_blobs(output: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut blobs = BTreeMap::new();
    let mut rest = output;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (head, tail) = rest.split_at(end);
        let tail = tail.get(1..).unwrap_or_default();
        let head = String::from_utf8_lossy(head);
        let mut words = head.split(' ');
        let (id, _, size) = (words.next(), words.next(), words.next());
        let size = size.and_then(|size| size.parse::<usize>().ok());
        rest = match (id, size.and_then(|size| tail.split_at_checked(size))) {
            (Some(id), Some((content, after))) => {
                blobs.insert(id.to_owned(), content.to_vec());
                after.get(1..).unwrap_or_default()
            }
            // `<id> missing` has no content.
            _ => tail,
        };
    }
    blobs
}
