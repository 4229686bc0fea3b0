//! The YAML block at the head of a page: a typed view plus all unknown keys.

pub(crate) mod entries;
mod yaml;

use std::ops::Range;

use ktx_diagnostics::{Code, Diagnostic, LineIndex, Location};
use serde_json::{Map, Value};

use self::entries::entries;
pub(crate) use self::entries::item_offset;

const MAX_BYTES: usize = 256 * 1024;

/// When an agent gets a page without requesting it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageMode {
    Always,
    Auto,
    Never,
}

/// Values of the wrong type are reported and skipped.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontMatter {
    /// One line for lists.
    pub summary: Option<String>,
    pub tags: Vec<String>,
    pub refs: Vec<String>,
    /// Semantic sources, measures, columns and segments.
    pub sl_refs: Vec<String>,
    pub usage_mode: Option<UsageMode>,
    pub sort_order: Option<i64>,
    /// The origin of the knowledge, such as `historic-sql`.
    pub source: Option<String>,
    pub intent: Option<String>,
    pub tables: Vec<String>,
    pub representative_sql: Option<String>,
    /// Ids of its query templates.
    pub fingerprints: Vec<String>,
    /// The time at which the evidence for the page disappeared.
    pub stale_since: Option<String>,
    pub archived_since: Option<String>,
    /// In file order, such as `usage`.
    pub other: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FrontMatterLayout {
    Without {
        body: usize,
    },
    Unterminated,
    With {
        yaml: Range<usize>,
        /// The first byte after the line of the closing fence.
        body: usize,
    },
}

/// Accepts `\r\n` and a byte order mark.
pub(crate) fn layout(text: &str) -> FrontMatterLayout {
    let start = if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    };
    let mut lines = text.get(start..).unwrap_or_default().split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return FrontMatterLayout::Without { body: start };
    };
    let yaml = start + first.len();
    let mut at = yaml;
    for line in lines {
        let end = at + line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return FrontMatterLayout::With {
                yaml: yaml..at,
                body: end,
            };
        }
        at = end;
    }
    FrontMatterLayout::Unterminated
}

pub(crate) fn read(text: &str, file: &str) -> (FrontMatter, Vec<Diagnostic>) {
    let at = |offset: usize| Location {
        file: file.to_owned(),
        position: Some(LineIndex::new(text).position(offset)),
    };
    let range = match layout(text) {
        FrontMatterLayout::With { yaml, .. } => yaml,
        FrontMatterLayout::Without { body } => {
            let found =
                Diagnostic::warning(Code::FrontMatterMissing, "the page has no front matter")
                    .at(at(body))
                    .hint("begin the page with `---`, `summary: …`, `---`");
            return (FrontMatter::default(), vec![found]);
        }
        FrontMatterLayout::Unterminated => {
            let found = Diagnostic::error(Code::FrontMatterOpen, "the front matter has no end")
                .at(at(0))
                .hint("close the front matter with a line `---`");
            return (FrontMatter::default(), vec![found]);
        }
    };
    let yaml = text.get(range.clone()).unwrap_or_default();
    if yaml.len() > MAX_BYTES {
        let message = format!(
            "the front matter is too large: {} bytes, at most {MAX_BYTES}",
            yaml.len()
        );
        let found = Diagnostic::error(Code::FrontMatterTooLarge, message).at(at(range.start));
        return (FrontMatter::default(), vec![found]);
    }
    let mut reader = FieldReader {
        yaml,
        offset: range.start,
        at: &at,
        found: Vec::new(),
    };
    if reader.has_duplicates() {
        return (FrontMatter::default(), reader.found);
    }
    match yaml::read(yaml) {
        Ok(map) => {
            let front = reader.typed(map);
            (front, reader.found)
        }
        Err(error) => {
            let place = error
                .offset
                .map_or(range.start, |offset| range.start + offset);
            let message = format!("the front matter cannot be read as YAML: {}", error.message);
            let found = Diagnostic::error(Code::FrontMatterSyntax, message).at(at(place));
            (FrontMatter::default(), vec![found])
        }
    }
}

struct FieldReader<'a> {
    yaml: &'a str,
    offset: usize,
    at: &'a dyn Fn(usize) -> Location,
    found: Vec<Diagnostic>,
}

impl FieldReader<'_> {
    fn place(&self, name: &str) -> Location {
        let entry = entries(self.yaml)
            .into_iter()
            .find(|entry| entry.name == name);
        (self.at)(self.offset + entry.map_or(0, |entry| entry.range.start))
    }

    fn has_duplicates(&mut self) -> bool {
        let mut seen = std::collections::BTreeSet::new();
        for entry in entries(self.yaml) {
            if !seen.insert(entry.name.clone()) {
                let message = format!("`{}` is there twice", entry.name);
                let found = Diagnostic::error(Code::DuplicateKey, message)
                    .at((self.at)(self.offset + entry.range.start))
                    .hint("remove one of the two entries");
                self.found.push(found);
            }
        }
        !self.found.is_empty()
    }

    fn typed(&mut self, mut map: Map<String, Value>) -> FrontMatter {
        let front = FrontMatter {
            summary: self.text(&mut map, "summary"),
            tags: self.list(&mut map, "tags"),
            refs: self.list(&mut map, "refs"),
            sl_refs: self.list(&mut map, "sl_refs"),
            usage_mode: self.usage_mode(&mut map),
            sort_order: self.integer(&mut map, "sort_order"),
            source: self.text(&mut map, "source"),
            intent: self.text(&mut map, "intent"),
            tables: self.list(&mut map, "tables"),
            representative_sql: self.text(&mut map, "representative_sql"),
            fingerprints: self.list(&mut map, "fingerprints"),
            stale_since: self.text(&mut map, "stale_since"),
            archived_since: self.text(&mut map, "archived_since"),
            other: map,
        };
        if front
            .summary
            .as_deref()
            .is_none_or(|summary| summary.trim().is_empty())
        {
            let found = Diagnostic::warning(Code::SummaryMissing, "the page has no `summary`")
                .at(self.place("summary"))
                .hint("add `summary:` with one line for lists");
            self.found.push(found);
        }
        front
    }

    fn wrong(&mut self, name: &str, wanted: &str) {
        let found =
            Diagnostic::warning(Code::FrontMatterType, format!("`{name}` must be {wanted}"))
                .at(self.place(name));
        self.found.push(found);
    }

    fn text(&mut self, map: &mut Map<String, Value>, name: &str) -> Option<String> {
        match map.shift_remove(name)? {
            Value::Null => None,
            Value::String(text) => Some(text),
            value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
            Value::Array(_) | Value::Object(_) => {
                self.wrong(name, "text");
                None
            }
        }
    }

    fn list(&mut self, map: &mut Map<String, Value>, name: &str) -> Vec<String> {
        let items = match map.shift_remove(name) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(scalar @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => vec![scalar],
            Some(Value::Object(_)) => {
                self.wrong(name, "a list of texts");
                return Vec::new();
            }
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::String(text) => texts.push(text),
                Value::Number(_) | Value::Bool(_) => texts.push(item.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    self.wrong(name, "a list of texts");
                }
            }
        }
        texts
    }

    fn integer(&mut self, map: &mut Map<String, Value>, name: &str) -> Option<i64> {
        let value = map.shift_remove(name).filter(|value| !value.is_null())?;
        let integer = value.as_i64();
        if integer.is_none() {
            self.wrong(name, "a whole number");
        }
        integer
    }

    fn usage_mode(&mut self, map: &mut Map<String, Value>) -> Option<UsageMode> {
        let value = map
            .shift_remove("usage_mode")
            .filter(|value| !value.is_null())?;
        let mode = match value.as_str() {
            Some("always") => Some(UsageMode::Always),
            Some("auto") => Some(UsageMode::Auto),
            Some("never") => Some(UsageMode::Never),
            _ => None,
        };
        if mode.is_none() {
            self.wrong("usage_mode", "`always`, `auto` or `never`");
        }
        mode
    }
}

pub(crate) fn values(yaml: &str) -> Result<Map<String, Value>, String> {
    yaml::read(yaml).map_err(|error| error.message)
}

#[cfg(test)]
mod tests;
