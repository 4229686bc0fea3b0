//! Edits of values in brackets, and of keys.

use std::ops::Range;

use ktx_yaml::{Content, Entry, Node, Style, text_scalar, tree};
use serde_json::{Map, Value};

struct KeyPosition<'n, 'p> {
    entries: &'n [Entry],
    mapping: &'n Node,
    style: Style,
    key: &'p str,
    below: &'p [&'p str],
}

impl KeyPosition<'_, '_> {
    fn position(&self) -> Option<usize> {
        let is_it = |entry: &Entry| entry.name.as_deref() == Some(self.key);
        self.entries.iter().position(is_it)
    }
}

fn find<'n, 'p>(root: &'n Node, path: &'p [&'p str]) -> Option<KeyPosition<'n, 'p>> {
    let mut mapping = root;
    let mut path = path;
    loop {
        let Content::Mapping { style, entries } = &mapping.content else {
            return None;
        };
        let (key, below) = path.split_first()?;
        let place = KeyPosition {
            entries,
            mapping,
            style: *style,
            key,
            below,
        };
        let next = place
            .position()
            .and_then(|at| entries.get(at)?.value.as_ref())
            .filter(|value| matches!(value.content, Content::Mapping { .. }));
        match next {
            Some(next) if !below.is_empty() => (mapping, path) = (next, below),
            _ => return Some(place),
        }
    }
}

/// Sets a value inside non-empty brackets; `None` if the key has no such place.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Option<String> {
    let root = tree(text)?;
    let place = find(&root, path)?;
    if place.style == Style::Block || place.entries.is_empty() {
        return None;
    }
    let nested = place.below.iter().rev().fold(value.clone(), |inner, key| {
        Value::Object(Map::from_iter([((*key).to_owned(), inner)]))
    });
    let written = in_brackets(&nested);
    if let Some(at) = place.position() {
        let value = place.entries.get(at)?.value.as_ref()?;
        return Some(splice(text, &value.range, &written));
    }
    let end = end_of(place.entries.last()?);
    let added = format!(", {}: {written}", key_in_brackets(place.key));
    Some(splice(text, &(end..end), &added))
}

pub(super) fn remove(text: &str, path: &[&str]) -> Option<String> {
    let root = tree(text)?;
    let place = find(&root, path)?;
    if place.style == Style::Block || !place.below.is_empty() {
        return None;
    }
    let at = place.position()?;
    let entry = place.entries.get(at)?;
    let next = place.entries.get(at + 1).map(|next| next.key.start);
    let range = match (next, at.checked_sub(1).and_then(|at| place.entries.get(at))) {
        (Some(next), _) => entry.key.start..next,
        (None, Some(before)) => end_of(before)..end_of(entry),
        (None, None) => return Some(splice(text, &place.mapping.range, "{}")),
    };
    Some(splice(text, &range, ""))
}

pub(super) fn rename(text: &str, path: &[&str], new: &str) -> Option<String> {
    let root = tree(text)?;
    let place = find(&root, path)?;
    let entry = place.entries.get(place.position()?)?;
    let key = match place.style {
        Style::Block => text_scalar(new),
        Style::Flow => key_in_brackets(new),
    };
    place
        .below
        .is_empty()
        .then(|| splice(text, &entry.key, &key))
}

fn end_of(entry: &Entry) -> usize {
    let value = entry.value.as_ref();
    value.map_or(entry.key.end, |value| value.range.end)
}

fn splice(text: &str, range: &Range<usize>, with: &str) -> String {
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    format!("{before}{with}{after}")
}

fn key_in_brackets(key: &str) -> String {
    in_brackets(&Value::from(key))
}

/// Writes a value on one line and quotes bracket separators.
fn in_brackets(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let written = text_scalar(text);
            let is_plain = written == *text;
            if is_plain && text.contains([',', '[', ']', '{', '}', ':', '"', '\'', '#', '?']) {
                ktx_yaml::double_quoted(text)
            } else {
                written
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(in_brackets).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{}: {}", key_in_brackets(key), in_brackets(value))
            };
            let entries: Vec<String> = entries.iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}
