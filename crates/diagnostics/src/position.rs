//! Positions in text files.

use serde::Serialize;

/// Counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Position {
    pub line: u32,
    /// In characters.
    pub column: u32,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Location {
    /// Relative to the project if inside.
    pub file: String,
    pub position: Option<Position>,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.position {
            Some(position) => write!(f, "{}:{position}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// Converts byte offsets to positions in logarithmic time.
#[derive(Debug, Clone)]
pub struct LineIndex<'a> {
    text: &'a str,
    starts: LineStarts,
}

impl<'a> LineIndex<'a> {
    pub fn new(text: &'a str) -> Self {
        let starts = LineStarts::of(text);
        Self { text, starts }
    }

    /// Clamps the offset to the end.
    pub fn position(&self, offset: usize) -> Position {
        self.starts.position(self.text, offset)
    }
}

#[derive(Debug, Clone)]
pub struct LineStarts(Vec<usize>);

impl LineStarts {
    pub fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1));
        Self(starts.collect())
    }

    /// Like [`LineIndex::position`]; `text` is the text of the lines.
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let offset = offset.min(text.len());
        let line = self
            .0
            .partition_point(|start| *start <= offset)
            .saturating_sub(1);
        let start = self.0.get(line).copied().unwrap_or_default();
        let column = text
            .get(start..offset)
            .map_or(0, |before| before.chars().count());
        Position {
            line: u32::try_from(line + 1).unwrap_or(u32::MAX),
            column: u32::try_from(column + 1).unwrap_or(u32::MAX),
        }
    }
}
