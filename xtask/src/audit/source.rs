//! A Rust file for the rules: place, masked views, test parts.

use std::ops::Range;

use super::mask::{MaskedText, mask};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Product,
    /// Test builds: `tests/`, `tests.rs`, `examples/`, `test-support`.
    Test,
    Chore,
}

#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    masked: MaskedText,
    /// Byte ranges under `#[cfg(test)]`.
    test_parts: Vec<Range<usize>>,
}

/// Numbered from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'text> {
    pub(crate) number: usize,
    pub(crate) text: &'text str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) lines: usize,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let masked = mask(text);
        let test_parts = test_parts(&masked.code);
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            masked,
            test_parts,
        }
    }

    /// Folder below `crates/`, or `xtask`; empty outside packages.
    pub(crate) fn package(&self) -> &str {
        let mut parts = self.path.split('/');
        match parts.next() {
            Some("crates") => parts.next().unwrap_or_default(),
            Some("xtask") => "xtask",
            _ => "",
        }
    }

    pub(crate) fn purpose(&self) -> Purpose {
        let test_file = self.path.contains("/tests/")
            || self.path.contains("/examples/")
            || self.path.ends_with("/tests.rs")
            || self.path.starts_with("fixtures/");
        match self.package() {
            _ if test_file => Purpose::Test,
            "test-support" => Purpose::Test,
            "xtask" => Purpose::Chore,
            _ => Purpose::Product,
        }
    }

    /// `places` are packages, paths or folders.
    pub(crate) fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|place| {
            self.package() == *place
                || self.path == *place
                || (place.ends_with('/') && self.path.starts_with(place))
        })
    }

    /// Code outside tests, without comments and literals.
    pub(crate) fn product_code(&self) -> impl Iterator<Item = Line<'_>> {
        self.product(&self.masked.code)
    }

    /// Code and literals outside tests, without comments.
    pub(crate) fn product_literals(&self) -> impl Iterator<Item = Line<'_>> {
        self.product(&self.masked.with_literals)
    }

    /// All code, without comments and literals.
    pub(crate) fn all_code(&self) -> impl Iterator<Item = Line<'_>> {
        lines(&self.masked.code).map(|(_, line)| line)
    }

    pub(crate) fn tests_mention(&self, word: &str) -> bool {
        self.text.match_indices(word).any(|(at, _)| {
            let next = self
                .text
                .get(at + word.len()..)
                .and_then(|rest| rest.chars().next());
            let whole = !next.is_some_and(|next| next.is_ascii_alphanumeric());
            whole && (self.purpose() == Purpose::Test || self.in_test_part(at))
        })
    }

    /// Lines outside `#[cfg(test)]`.
    pub(crate) fn shipped_lines(&self) -> usize {
        lines(&self.text)
            .filter(|(at, _)| !self.in_test_part(*at))
            .count()
    }

    /// Includes tests, in order.
    pub(crate) fn functions(&self) -> Vec<Function> {
        functions(&self.masked.code)
    }

    fn product<'view>(&'view self, view: &'view str) -> impl Iterator<Item = Line<'view>> {
        let is_test = self.purpose() == Purpose::Test;
        lines(view)
            .filter(move |(at, _)| !is_test && !self.in_test_part(*at))
            .map(|(_, line)| line)
    }

    fn in_test_part(&self, at: usize) -> bool {
        self.test_parts.iter().any(|part| part.contains(&at))
    }
}

fn lines(text: &str) -> impl Iterator<Item = (usize, Line<'_>)> {
    let mut at = 0;
    text.split_inclusive('\n')
        .enumerate()
        .map(move |(index, line)| {
            let start = at;
            at += line.len();
            (
                start,
                Line {
                    number: index + 1,
                    text: line.trim_end_matches('\n'),
                },
            )
        })
}

fn test_parts(code: &str) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (start, marker) in code.match_indices("#[cfg(test)]") {
        let after = start + marker.len();
        let end = item_end(code, after);
        if parts.last().is_none_or(|last| last.end <= start) {
            parts.push(start..end);
        }
    }
    parts
}

/// Ends at the item's closing brace or semicolon.
fn item_end(code: &str, from: usize) -> usize {
    let rest = code.get(from..).unwrap_or_default();
    let mut round = 0_i32;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'(' | b'[' => round += 1,
            b')' | b']' => round -= 1,
            b';' if round == 0 => return from + at + 1,
            b'{' if round == 0 => return closing_brace(code, from + at),
            _ => {}
        }
    }
    code.len()
}

/// Offset after the matching brace.
fn closing_brace(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        if before.is_some_and(|character| character.is_alphanumeric() || character == '_') {
            continue;
        }
        let name: String = code
            .get(at + 3..)
            .unwrap_or_default()
            .chars()
            .take_while(|character| character.is_alphanumeric() || *character == '_')
            .collect();
        let end = item_end(code, at);
        let body = code.get(at..end).unwrap_or_default();
        if !name.is_empty() && body.ends_with('}') {
            let line = code.get(..at).unwrap_or_default().matches('\n').count() + 1;
            found.push(Function {
                name,
                line,
                lines: body.matches('\n').count() + 1,
            });
        }
    }
    found
}
