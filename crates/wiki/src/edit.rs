//! Edits of a page that preserve every other byte.

mod scalar;

use std::ops::Range;

use serde_json::Value;

use crate::front_matter::entries::{FieldEntry, entries};
use crate::front_matter::{FrontMatterLayout, layout, values};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue {
    Text(String),
    Integer(i64),
    List(Vec<String>),
}

impl FieldValue {
    fn as_json(&self) -> Value {
        match self {
            Self::Text(text) => Value::from(text.as_str()),
            Self::Integer(number) => Value::from(*number),
            Self::List(items) => Value::from(items.clone()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("the front matter has no end")]
    Unterminated,
    #[error("the front matter cannot be read as YAML: {reason}")]
    Unreadable { reason: String },
    #[error("`{field}` cannot be edited in place: it is written in an unusual way")]
    NotInPlace { field: String },
}

/// Sets one field of the front matter. An existing field keeps its position and style; a new one is
/// appended. A page without front matter gets one.
pub fn set_field(text: &str, name: &str, value: &FieldValue) -> Result<String, EditError> {
    let newline = newline_of(text);
    let (yaml, fenced) = match layout(text) {
        FrontMatterLayout::With { yaml, .. } => (yaml, true),
        FrontMatterLayout::Without { body } => (body..body, false),
        FrontMatterLayout::Unterminated => return Err(EditError::Unterminated),
    };
    let block = text.get(yaml.clone()).unwrap_or_default();
    let entry = entry(block, name)?;
    let old = entry
        .as_ref()
        .map(|entry| block.get(entry.value..entry.range.end).unwrap_or_default());
    let key = entry.as_ref().map_or(name, |entry| {
        block
            .get(entry.range.start..entry.value)
            .unwrap_or(name)
            .trim_end_matches(':')
    });
    let mut lines = scalar::entry_text(key, value, old, newline);
    if !fenced {
        lines = format!("---{newline}{lines}---{newline}{newline}");
    }
    let place = entry.map_or(yaml.end..yaml.end, |entry| {
        shifted(&entry.range, yaml.start)
    });
    let edited = spliced(text, place, &lines);
    verify(text, &edited, name, Some(value.as_json()))?;
    Ok(edited)
}

pub fn remove_field(text: &str, name: &str) -> Result<String, EditError> {
    let FrontMatterLayout::With { yaml, .. } = layout(text) else {
        return Ok(text.to_owned());
    };
    let block = text.get(yaml.clone()).unwrap_or_default();
    let Some(entry) = entry(block, name)? else {
        return Ok(text.to_owned());
    };
    let edited = spliced(text, shifted(&entry.range, yaml.start), "");
    verify(text, &edited, name, None)?;
    Ok(edited)
}

pub fn replace_body(text: &str, body: &str) -> Result<String, EditError> {
    let newline = newline_of(text);
    match layout(text) {
        FrontMatterLayout::Unterminated => Err(EditError::Unterminated),
        FrontMatterLayout::Without { body: start } => Ok(spliced(text, start..text.len(), body)),
        FrontMatterLayout::With { body: start, .. } => {
            let head = text.get(..start).unwrap_or_default();
            let gap = if head.ends_with('\n') { "" } else { newline };
            Ok(format!("{head}{gap}{newline}{body}"))
        }
    }
}

pub fn render_page(fields: &[(&str, FieldValue)], body: &str) -> String {
    let lines: String = fields
        .iter()
        .map(|(name, value)| scalar::entry_text(name, value, None, "\n"))
        .collect();
    let end = if body.is_empty() || body.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("---\n{lines}---\n\n{body}{end}")
}

fn entry(block: &str, name: &str) -> Result<Option<FieldEntry>, EditError> {
    let mut found: Vec<FieldEntry> = entries(block)
        .into_iter()
        .filter(|entry| entry.name == name)
        .collect();
    if found.len() > 1 {
        return Err(EditError::NotInPlace {
            field: name.to_owned(),
        });
    }
    Ok(found.pop())
}

fn shifted(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

fn spliced(text: &str, place: Range<usize>, with: &str) -> String {
    let before = text.get(..place.start).unwrap_or_default();
    let after = text.get(place.end..).unwrap_or_default();
    format!("{before}{with}{after}")
}

fn newline_of(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).is_some_and(|line| line.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

fn verify(before: &str, after: &str, name: &str, value: Option<Value>) -> Result<(), EditError> {
    let read = |text: &str| {
        let block = match layout(text) {
            FrontMatterLayout::With { yaml, .. } => text.get(yaml).unwrap_or_default(),
            FrontMatterLayout::Without { .. } => "",
            FrontMatterLayout::Unterminated => return Err(EditError::Unterminated),
        };
        values(block).map_err(|reason| EditError::Unreadable { reason })
    };
    let mut intended = read(before)?;
    match value {
        Some(value) => {
            intended.insert(name.to_owned(), value);
        }
        None => {
            intended.shift_remove(name);
        }
    }
    let not_in_place = || EditError::NotInPlace {
        field: name.to_owned(),
    };
    let found = read(after).map_err(|_| not_in_place())?;
    if found == intended {
        Ok(())
    } else {
        Err(not_in_place())
    }
}

#[cfg(test)]
mod tests;
