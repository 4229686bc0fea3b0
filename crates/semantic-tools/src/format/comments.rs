//! Carries the comments of a file over to its replacement.

use super::tree::{Document, Entry, Item, Node};
use super::{print, record_of, tree};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) text: String,
    pub(crate) lost: Vec<String>,
}

/// Puts each comment before its subject. `None` if a comment has an unreadable layout, or if the
/// result would have another value.
pub(crate) fn carry(old: &str, new: &str) -> Option<Carried> {
    let value: serde_yaml::Value = serde_yaml::from_str(new).ok()?;
    let old = tree::read(old.trim_start_matches('\u{feff}')).ok()?;
    let mut document = tree::read(new).ok()?;
    let mut lost = Vec::new();
    let Document {
        header,
        entries,
        tail,
    } = old;
    let header = header.into_iter().filter(|line| line != "---");
    document.header.extend(header);
    while document.header.last().is_some_and(String::is_empty) {
        document.header.pop();
    }
    map(entries, &mut document.entries, &mut lost);
    document.tail.extend(tail);
    let text = print::document(document, record_of(&value));
    let after: serde_yaml::Value = serde_yaml::from_str(&text).ok()?;
    (after == value).then_some(Carried { text, lost })
}

fn map(old: Vec<Entry>, new: &mut [Entry], lost: &mut Vec<String>) {
    for entry in old {
        let mut found = new.iter_mut();
        match found.find(|other| print::bare(&other.key) == print::bare(&entry.key)) {
            Some(other) => self::entry(entry, other, lost),
            None => all_of_entry(entry, lost),
        }
    }
}

fn entry(old: Entry, new: &mut Entry, lost: &mut Vec<String>) {
    let (value, comment) = split(&old.header);
    new.before.comments.extend(old.before.comments);
    if let Some(comment) = comment {
        let has_same = value == new.header && is_line(&new.node) == is_line(&old.node);
        if has_same && !value.starts_with(['|', '>']) {
            new.header.clone_from(&old.header);
        } else {
            new.before.comments.push(comment.to_owned());
        }
    }
    node((&old.header, old.node), &mut new.node, lost);
}

fn is_line(node: &Node) -> bool {
    matches!(node, Node::Text(lines) if lines.is_empty())
}

fn node((header, old): (&str, Node), new: &mut Node, lost: &mut Vec<String>) {
    match (old, new) {
        (
            Node::Map { entries, tail },
            Node::Map {
                entries: others,
                tail: end,
            },
        ) => {
            map(entries, others, lost);
            end.extend(tail);
        }
        (
            Node::List { items, tail },
            Node::List {
                items: others,
                tail: end,
            },
        ) => {
            list(items, others, lost);
            end.extend(tail);
        }
        (old, _) => all_of_node(header, old, lost),
    }
}

fn list(old: Vec<Item>, new: &mut [Item], lost: &mut Vec<String>) {
    for item in old {
        let wanted = identity(&item);
        let found = wanted.and_then(|wanted| {
            let mut others = new.iter_mut();
            others.find(|other| identity(other).as_ref() == Some(&wanted))
        });
        let Some(other) = found else {
            all_of_item(item, lost);
            continue;
        };
        other.before.comments.extend(item.before.comments);
        if let (_, Some(comment)) = split(&item.header) {
            other.before.comments.push(comment.to_owned());
        }
        node((&item.header, item.node), &mut other.node, lost);
    }
}

fn identity(item: &Item) -> Option<String> {
    let keys = ["name", "alias", "to"];
    match &item.node {
        Node::Map { entries, .. } => keys.iter().find_map(|key| {
            let mut entries = entries.iter();
            let entry = entries.find(|entry| print::bare(&entry.key) == *key)?;
            scalar(split(&entry.header).0)
        }),
        Node::Text(lines) => {
            let text = format!("{}\n{}", item.header, lines.join("\n"));
            let value: serde_yaml::Value = serde_yaml::from_str(&text).ok()?;
            let named = keys.iter().find_map(|key| value.get(*key)?.as_str());
            named
                .map(str::to_owned)
                .or_else(|| scalar(split(&item.header).0))
        }
        Node::List { .. } => None,
    }
}

fn scalar(text: &str) -> Option<String> {
    let value: serde_yaml::Value = serde_yaml::from_str(text).ok()?;
    match value {
        serde_yaml::Value::String(text) => Some(text),
        _ => Some(text.to_owned()),
    }
}

fn split(header: &str) -> (&str, Option<&str>) {
    let mut quote: Option<char> = None;
    let mut last = ' ';
    for (at, letter) in header.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if !last.is_alphanumeric() => quote = Some(letter),
            (None, '#') if last.is_whitespace() => {
                let (value, comment) = header.split_at(at);
                return (value.trim_end(), Some(comment));
            }
            _ => {}
        }
        last = letter;
    }
    (header, None)
}

fn all_of_entry(entry: Entry, lost: &mut Vec<String>) {
    lost.extend(filled(entry.before.comments));
    lost.extend(split(&entry.header).1.map(str::to_owned));
    all_of_node(&entry.header, entry.node, lost);
}

fn all_of_item(item: Item, lost: &mut Vec<String>) {
    lost.extend(filled(item.before.comments));
    lost.extend(split(&item.header).1.map(str::to_owned));
    all_of_node(&item.header, item.node, lost);
}

fn all_of_node(header: &str, node: Node, lost: &mut Vec<String>) {
    match node {
        Node::Map { entries, tail } => {
            for entry in entries {
                all_of_entry(entry, lost);
            }
            lost.extend(filled(tail));
        }
        Node::List { items, tail } => {
            for item in items {
                all_of_item(item, lost);
            }
            lost.extend(filled(tail));
        }
        Node::Text(lines) if header.starts_with(['[', '{']) => {
            let comments = lines.iter().filter_map(|line| split(line).1);
            lost.extend(comments.map(str::to_owned));
        }
        Node::Text(_) => {}
    }
}

fn filled(comments: Vec<String>) -> impl Iterator<Item = String> {
    comments.into_iter().filter(|comment| !comment.is_empty())
}
