//! Prints a file in canonical order and layout.

use super::tree::{Before, Document, Entry, Item, Node};
use ktx_semantic_layer::shape::{Holds, Record, WRITERS};

#[derive(Clone, Copy)]
enum Order {
    Record(&'static Record),
    Writers,
    AsWritten,
}

impl Order {
    fn rank(self, key: &str) -> usize {
        let key = bare(key);
        match self {
            Self::Record(record) => record.rank(key),
            Self::Writers => {
                let place = WRITERS.iter().position(|writer| *writer == key);
                place.unwrap_or(WRITERS.len())
            }
            Self::AsWritten => 0,
        }
    }

    fn below(self, key: &str) -> Self {
        let Self::Record(record) = self else {
            return Self::AsWritten;
        };
        match record
            .key(key.trim_matches(['"', '\'']))
            .map(|key| key.holds)
        {
            Some(Holds::Records(inner) | Holds::Record(inner) | Holds::WordOr(_, inner)) => {
                Self::Record(inner)
            }
            Some(Holds::Descriptions) => Self::Writers,
            _ => Self::AsWritten,
        }
    }
}

pub(super) fn bare(key: &str) -> &str {
    key.trim().trim_matches(['"', '\''])
}

pub(super) fn document(document: Document, record: &'static Record) -> String {
    let order = Order::Record(record);
    let mut out = String::new();
    let has_marker = document.header.last().is_some_and(|line| line == "---");
    for text in &document.header {
        line(&mut out, 0, text);
    }
    let mut entries = document.entries;
    entries.sort_by_key(|entry| order.rank(&entry.key));
    let mut was_large = !document.header.is_empty() && !has_marker;
    for (at, entry) in entries.into_iter().enumerate() {
        let is_large = is_large(&entry) || !entry.before.comments.is_empty();
        if was_large || (at > 0 && is_large) {
            out.push('\n');
        }
        was_large = is_large;
        self::entry(&mut out, entry, 0, order);
    }
    if !document.tail.is_empty() {
        out.push('\n');
        comments(&mut out, 0, &document.tail);
    }
    out
}

fn is_large(entry: &Entry) -> bool {
    match &entry.node {
        Node::Text(lines) => !lines.is_empty(),
        Node::Map { entries, tail } => !entries.is_empty() || !tail.is_empty(),
        Node::List { .. } => true,
    }
}

fn line(out: &mut String, indent: usize, text: &str) {
    if !text.trim().is_empty() {
        out.push_str(&" ".repeat(indent));
        out.push_str(text);
    }
    out.push('\n');
}

fn comments(out: &mut String, indent: usize, comments: &[String]) {
    for comment in comments {
        line(out, indent, comment);
    }
}

fn entry(out: &mut String, entry: Entry, indent: usize, order: Order) {
    comments(out, indent, &entry.before.comments);
    let space = if entry.header.is_empty() { "" } else { " " };
    let text = format!("{}:{space}{}", entry.key, entry.header);
    line(out, indent, &text);
    node(out, entry.node, indent + 2, order.below(&entry.key));
}

/// `indent` is the element's own.
fn node(out: &mut String, node: Node, indent: usize, order: Order) {
    match node {
        Node::Text(lines) => {
            for text in &lines {
                line(out, indent, text);
            }
        }
        Node::Map { mut entries, tail } => {
            entries.sort_by_key(|entry| order.rank(&entry.key));
            for entry in entries {
                self::entry(out, entry, indent, order);
            }
            comments(out, indent, &tail);
        }
        Node::List { items, tail } => {
            for (at, item) in items.into_iter().enumerate() {
                if at > 0 && item.before.is_apart {
                    out.push('\n');
                }
                self::item(out, item, indent, order);
            }
            comments(out, indent, &tail);
        }
    }
}

fn item(out: &mut String, item: Item, indent: usize, order: Order) {
    comments(out, indent, &item.before.comments);
    let Node::Map { mut entries, tail } = item.node else {
        let space = if item.header.is_empty() { "" } else { " " };
        line(out, indent, &format!("-{space}{}", item.header));
        return node(out, item.node, indent + 2, order);
    };
    entries.sort_by_key(|entry| order.rank(&entry.key));
    if let Some(first) = entries.first_mut() {
        // Comments of the first key go before the dash.
        let Before { comments: own, .. } = std::mem::take(&mut first.before);
        comments(out, indent, &own);
    }
    let mut inner = String::new();
    let is_empty = entries.is_empty();
    for entry in entries {
        self::entry(&mut inner, entry, indent + 2, order);
    }
    if is_empty {
        line(out, indent, "-");
    } else {
        out.push_str(&" ".repeat(indent));
        out.push_str("- ");
        out.push_str(inner.trim_start());
    }
    comments(out, indent + 2, &tail);
}
