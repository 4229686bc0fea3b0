//! Dotted names in the texts of a query, found without parsing them as SQL.

use std::ops::Range;

/// Such as `orders.customer.name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Parts without quotes, and their positions.
    pub(crate) parts: Vec<(String, Range<usize>)>,
}

impl Reference {
    pub(crate) fn names(&self) -> Vec<&str> {
        self.parts.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub(crate) fn front(&self, count: usize) -> Option<Range<usize>> {
        let (first, last) = (self.parts.first()?, self.parts.get(count.checked_sub(1)?)?);
        Some(first.1.start..last.1.end)
    }
}

/// Except those in single quotes.
pub(crate) fn references(text: &str) -> Vec<Reference> {
    let mut found: Vec<Reference> = Vec::new();
    let mut parts: Vec<(String, Range<usize>)> = Vec::new();
    let mut after_dot = false;
    let mut at = 0;
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let part = match letter {
            '\'' => {
                at = quoted(text, at, '\'').map_or(text.len(), |(_, end)| end);
                after_dot = false;
                finish(&mut parts, &mut found);
                continue;
            }
            '"' | '`' => quoted(text, at, letter),
            '[' if parts.is_empty() || after_dot => quoted(text, at, ']'),
            _ if letter.is_alphanumeric() || letter == '_' => Some(word(text, at)),
            _ => None,
        };
        if let Some((name, end)) = part {
            if !after_dot {
                finish(&mut parts, &mut found);
            }
            parts.push((name, at..end));
            at = end;
            after_dot = false;
        } else {
            after_dot = letter == '.' && !parts.is_empty() && !after_dot;
            if !after_dot {
                finish(&mut parts, &mut found);
            }
            at += letter.len_utf8();
        }
    }
    finish(&mut parts, &mut found);
    found
}

pub(crate) fn renamed(text: &str, from: &str, to: &str) -> String {
    let wanted: Vec<&str> = from.split('.').collect();
    let mut result = String::new();
    let mut copied = 0;
    for reference in references(text) {
        let names = reference.names();
        let is_it = names.len() > wanted.len()
            && names
                .iter()
                .zip(&wanted)
                .all(|(one, other)| one.eq_ignore_ascii_case(other));
        let place = reference.front(wanted.len()).filter(|_| is_it);
        if let Some(place) = place
            && let Some(before) = text.get(copied..place.start)
        {
            result.push_str(before);
            result.push_str(to);
            copied = place.end;
        }
    }
    result.push_str(text.get(copied..).unwrap_or_default());
    result
}

fn finish(parts: &mut Vec<(String, Range<usize>)>, found: &mut Vec<Reference>) {
    let parts = std::mem::take(parts);
    let is_number = |name: &str| name.starts_with(|letter: char| letter.is_ascii_digit());
    if parts.first().is_some_and(|(name, _)| !is_number(name)) {
        found.push(Reference { parts });
    }
}

/// A doubled closing quote is an escape.
fn quoted(text: &str, from: usize, close: char) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut letters = text.get(from..)?.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != close {
            name.push(letter);
        } else if letters.next_if(|(_, next)| *next == close).is_some() {
            name.push(close);
        } else {
            return Some((name, from + at + close.len_utf8()));
        }
    }
    None
}

fn word(text: &str, from: usize) -> (String, usize) {
    let rest = text.get(from..).unwrap_or_default();
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    (rest.get(..end).unwrap_or_default().to_owned(), from + end)
}

#[cfg(test)]
mod tests;
