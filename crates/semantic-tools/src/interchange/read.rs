//! Reads the format leniently; reports unknown keys and unexpected shapes.

use ktx_sql::Dialect;
use serde_yaml::{Mapping, Value};

use super::document::{ANSI, dialect_name};
use super::{Fate, Losses};

pub(super) struct Node<'a> {
    pub(super) path: String,
    map: &'a Mapping,
}

impl<'a> Node<'a> {
    /// Reports every key that is not in `known`.
    pub(super) fn new(
        path: String,
        value: &'a Value,
        known: &[&str],
        losses: &mut Losses,
    ) -> Option<Self> {
        let Value::Mapping(map) = value else {
            losses.add(path, "form", Fate::Dropped, "this is not a map");
            return None;
        };
        for key in map.keys() {
            let key = match key {
                Value::String(key) => key.clone(),
                other => format!("{other:?}"),
            };
            if !known.contains(&key.as_str()) {
                losses.add(
                    format!("{path}.{key}"),
                    "unknown_key",
                    Fate::Dropped,
                    format!("`{key}` is not known here"),
                );
            }
        }
        Some(Self { path, map })
    }

    /// Null counts as absent.
    pub(super) fn value(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn place(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    pub(super) fn text(&self, key: &str, losses: &mut Losses) -> Option<String> {
        match self.value(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(truth) => Some(truth.to_string()),
            _ => {
                losses.add(self.place(key), "form", Fate::Dropped, "this is not a text");
                None
            }
        }
    }

    pub(super) fn texts(&self, key: &str, losses: &mut Losses) -> Vec<String> {
        let mut found = Vec::new();
        for (at, value) in self.list(key, losses).iter().enumerate() {
            if let Value::String(text) = value {
                found.push(text.clone());
            } else {
                losses.add(
                    format!("{}[{at}]", self.place(key)),
                    "form",
                    Fate::Dropped,
                    "this is not a text",
                );
            }
        }
        found
    }

    pub(super) fn list(&self, key: &str, losses: &mut Losses) -> &'a [Value] {
        match self.value(key) {
            None => &[],
            Some(Value::Sequence(list)) => list,
            Some(_) => {
                losses.add(self.place(key), "form", Fate::Dropped, "this is not a list");
                &[]
            }
        }
    }

    pub(super) fn nodes(&self, key: &str, known: &[&str], losses: &mut Losses) -> Vec<Self> {
        let list = self.list(key, losses);
        list.iter()
            .enumerate()
            .filter_map(|(at, value)| {
                Self::new(format!("{}[{at}]", self.place(key)), value, known, losses)
            })
            .collect()
    }

    /// Texts for models can be objects, which become JSON.
    pub(super) fn text_or_object(&self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::String(text) => Some(text.clone()),
            // Fails only if a key is not a text.
            other => serde_json::to_string(other).ok(),
        }
    }

    pub(super) fn expression(&self, dialect: Dialect, losses: &mut Losses) -> Option<String> {
        let place = self.place("expression");
        let value = self.value("expression")?;
        if let Value::String(text) = value {
            losses.add(
                place,
                "form",
                Fate::Rewritten,
                "the expression has no list of dialects: it is taken as it is",
            );
            return Some(text.clone());
        }
        let node = Node::new(place, value, &["dialects"], losses)?;
        let mut spelled: Vec<(String, String)> = Vec::new();
        for entry in node.nodes("dialects", &["dialect", "expression"], losses) {
            let name = entry.text("dialect", losses);
            if let Some(expression) = entry.text("expression", losses) {
                spelled.push((name.unwrap_or_else(|| ANSI.to_owned()), expression));
            }
        }
        let wanted = [dialect_name(dialect), dialect.name(), ANSI];
        let chosen = wanted
            .iter()
            .find_map(|name| {
                spelled
                    .iter()
                    .position(|(known, _)| known.eq_ignore_ascii_case(name))
            })
            .unwrap_or(0);
        for (at, (name, _)) in spelled.iter().enumerate() {
            if at != chosen {
                losses.add(
                    node.place(name),
                    "dialect",
                    Fate::Dropped,
                    format!("the expression for {name} is not imported"),
                );
            }
        }
        let (name, expression) = spelled.into_iter().nth(chosen)?;
        if !wanted.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            losses.add(
                node.path,
                "dialect",
                Fate::Rewritten,
                format!(
                    "the expression is that of {name}, and is read as {}",
                    dialect.name()
                ),
            );
        }
        Some(expression)
    }
}
