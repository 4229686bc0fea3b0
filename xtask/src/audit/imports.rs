//! Reads the `use` paths of a file with their local names.

use super::source::Source;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// `std::fs::write`, or `std::fs::*`.
    pub(crate) path: String,
    /// Set if it differs from the last part.
    pub(crate) alias: Option<String>,
    pub(crate) line: usize,
}

pub(crate) fn of(source: &Source) -> Vec<Import> {
    let mut imports = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for line in source.product_code() {
        let text = line.text.trim();
        let (begun, tree) = match open.take() {
            Some((begun, tree)) => (begun, tree + " " + text),
            None => match tree_of(text) {
                Some(tree) => (line.number, tree.to_owned()),
                None => continue,
            },
        };
        match tree.split_once(';') {
            Some((whole, _)) => flatten("", whole, begun, &mut imports),
            None => open = Some((begun, tree)),
        }
    }
    imports
}

fn tree_of(line: &str) -> Option<&str> {
    let at = line.find("use ")?;
    let before = line.get(..at)?.trim_end();
    let opens = before.is_empty()
        || before.ends_with([';', '{', '}', ']'])
        || before.ends_with("pub")
        || (before.ends_with(')') && before.contains("pub"));
    opens.then(|| line.get(at + 4..)).flatten()
}

fn flatten(prefix: &str, tree: &str, line: usize, into: &mut Vec<Import>) {
    let tree = tree.trim();
    if let Some((head, rest)) = tree.split_once('{') {
        let prefix = joined(prefix, head.trim().trim_end_matches("::"));
        let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
        for part in parts(inside) {
            flatten(&prefix, part, line, into);
        }
        return;
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path.trim(), Some(alias.trim().to_owned())),
        None => (tree, None),
    };
    if path.is_empty() {
        return;
    }
    let path = if path == "self" {
        prefix.to_owned()
    } else {
        joined(prefix, path)
    };
    into.push(Import { path, alias, line });
}

/// Splits a group at its own commas.
fn parts(inside: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut from = 0;
    let mut found = Vec::new();
    for (at, character) in inside.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.extend(inside.get(from..at));
                from = at + 1;
            }
            _ => {}
        }
    }
    found.extend(inside.get(from..));
    found
}

fn joined(prefix: &str, path: &str) -> String {
    let path = path.trim_start_matches("::");
    if prefix.is_empty() {
        path.to_owned()
    } else {
        format!("{prefix}::{path}")
    }
}
