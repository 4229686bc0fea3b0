//! Links between pages and references to semantic sources and tables.

use std::ops::Range;

use crate::markdown::{MarkdownSegment, segments};

/// A `[[key]]` or `[[key|label]]` in the body of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub target: String,
    pub label: Option<String>,
    /// The byte range in the searched text.
    pub span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceTarget {
    Source(String),
    Table(String),
    /// `name.entity`: probably a measure, column or segment. Only a caller that knows the sources can
    /// tell it from other dotted words.
    Dotted {
        source: String,
        entity: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeReference {
    pub connection: Option<String>,
    pub target: ReferenceTarget,
    pub span: Range<usize>,
}

/// One entry of `sl_refs`: `source`, `source.entity`, `connection/source` or
/// `connection/source.entity`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlReference {
    pub connection: Option<String>,
    /// In the older spelling `connection.source`, the connection.
    pub source: String,
    pub entity: Option<String>,
}

impl SlReference {
    /// Never fails: the caller checks whether the parts exist.
    pub fn parse(text: &str) -> Self {
        let (connection, rest) = match text.split_once('/') {
            Some((connection, rest)) => (Some(connection.to_owned()), rest),
            None => (None, text),
        };
        let (source, entity) = match rest.split_once('.') {
            Some((source, entity)) => (source.to_owned(), Some(entity.to_owned())),
            None => (rest.to_owned(), None),
        };
        Self {
            connection,
            source,
            entity,
        }
    }

    /// Reads `connection.source` or `connection.source.entity`; `None` if that is impossible.
    #[must_use]
    pub fn older(&self) -> Option<Self> {
        let rest = self.entity.as_deref()?;
        if self.connection.is_some() {
            return None;
        }
        let mut older = Self::parse(rest);
        older.connection = Some(self.source.clone());
        Some(older)
    }
}

/// Returns the links in order, except those in code.
pub fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for segment in segments(text) {
        let MarkdownSegment::Prose(range) = segment else {
            continue;
        };
        let part = text.get(range.clone()).unwrap_or_default();
        let mut at = 0;
        while let Some(open) = part.get(at..).and_then(|rest| rest.find("[[")) {
            let open = at + open;
            let inside = part.get(open + 2..).unwrap_or_default();
            let Some(length) = inside.find("]]") else {
                break;
            };
            let content = inside.get(..length).unwrap_or_default();
            at = open + 2 + length + 2;
            if content.contains('\n') || content.contains("[[") {
                at = open + 2;
                continue;
            }
            let (target, label) = match content.split_once('|') {
                Some((target, label)) => (target.trim(), Some(label.trim().to_owned())),
                None => (content.trim(), None),
            };
            if !target.is_empty() {
                found.push(Link {
                    target: target.to_owned(),
                    label,
                    span: range.start + open..range.start + at,
                });
            }
        }
    }
    found
}

pub fn code_references(text: &str) -> Vec<CodeReference> {
    let mut found = Vec::new();
    for segment in segments(text) {
        let MarkdownSegment::Code(span) = segment else {
            continue;
        };
        let code = text.get(span.clone()).unwrap_or_default().trim();
        let (connection, rest) = match code.split_once('/') {
            Some((connection, rest)) if is_plain(connection) => (Some(connection.to_owned()), rest),
            Some(_) => continue,
            None => (None, code),
        };
        if let Some(target) = target(rest) {
            found.push(CodeReference {
                connection,
                target,
                span,
            });
        }
    }
    found
}

fn target(text: &str) -> Option<ReferenceTarget> {
    if let Some(name) = text.strip_prefix("source:") {
        return is_name(name).then(|| ReferenceTarget::Source(name.to_owned()));
    }
    if let Some(name) = text.strip_prefix("table:") {
        return is_name(name).then(|| ReferenceTarget::Table(name.to_owned()));
    }
    let (source, entity) = text.split_once('.')?;
    (is_plain(source) && is_plain(entity)).then(|| ReferenceTarget::Dotted {
        source: source.to_owned(),
        entity: entity.to_owned(),
    })
}

fn is_plain(text: &str) -> bool {
    let letter = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    text.chars()
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_')
        && text.chars().all(letter)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_whitespace)
}

#[cfg(test)]
mod tests;
