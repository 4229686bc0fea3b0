//! A Rust file as the rules see it: its place in the workspace, its masked views, its test parts.

use std::ops::Range;

use super::mask::{MaskedText, mask};

/// What a file is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Ships to users.
    Product,
    /// Test builds only: `tests/`, `tests.rs`, `examples/`, `test-support`.
    Test,
    /// Repository chores.
    Chore,
}

/// A Rust file, parsed as far as the rules need.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    masked: MaskedText,
    /// Byte ranges of items under `#[cfg(test)]`.
    test_parts: Vec<Range<usize>>,
}

/// A line of one view, outside of tests, numbered from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'text> {
    pub(crate) number: usize,
    pub(crate) text: &'text str,
}

/// A function with a body; lines are numbered from 1.
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

    /// Returns the folder below `crates/`, or `xtask`; empty for a file outside of packages.
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

    /// Returns whether the file belongs to one of `places`: a package, a path, or a folder.
    pub(crate) fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|place| {
            self.package() == *place
                || self.path == *place
                || (place.ends_with('/') && self.path.starts_with(place))
        })
    }

    /// The code outside of tests, with comments and literals blank. Empty for a test file.
    pub(crate) fn product_code(&self) -> impl Iterator<Item = Line<'_>> {
        self.product(&self.masked.code)
    }

    /// The code and literals outside of tests, with comments blank. Empty for a test file.
    pub(crate) fn product_literals(&self) -> impl Iterator<Item = Line<'_>> {
        self.product(&self.masked.with_literals)
    }

    /// All code including tests, with comments and literals blank.
    pub(crate) fn all_code(&self) -> impl Iterator<Item = Line<'_>> {
        lines(&self.masked.code).map(|(_, line)| line)
    }

    /// Returns whether a test part of the text contains `word`.
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

    /// The number of lines outside of `#[cfg(test)]`.
    pub(crate) fn shipped_lines(&self) -> usize {
        lines(&self.text)
            .filter(|(at, _)| !self.in_test_part(*at))
            .count()
    }

    /// Returns every function with a body, including tests, in order.
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

/// Returns the lines with their offsets.
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

/// Returns the end of the item that begins after `from`: its closing brace or its semicolon.
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

/// Returns the offset after the brace that closes the one at `open`.
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
