//! Bytes to lines.

use serde_json::Value;

/// The longest line that is read: well above the largest seen, well below any memory.
pub(crate) const MAX_LINE: usize = 100 * 1024 * 1024;

/// One line of output.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Line {
    /// A JSON object.
    Json(Value),
    /// Anything else that is not empty: kept for the log, cut.
    Stray(String),
}

/// A line exceeded [`MAX_LINE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line of output is longer than {limit} bytes")]
pub(crate) struct LineTooLong {
    limit: usize,
}

/// Collects bytes until a line is whole. Splits at line ends only, so a character that arrives in
/// two pieces is never broken.
#[derive(Debug)]
pub(crate) struct LineDecoder {
    buffer: Vec<u8>,
    limit: usize,
}

impl LineDecoder {
    /// A decoder with this bound.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            limit,
        }
    }

    /// Takes bytes and gives the lines that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Line>, LineTooLong> {
        let mut lines = Vec::new();
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            if self.buffer.len() + piece.len() > self.limit {
                return Err(LineTooLong { limit: self.limit });
            }
            self.buffer.extend_from_slice(piece);
            if pieces.peek().is_some() {
                lines.extend(read_line(&std::mem::take(&mut self.buffer)));
            }
        }
        Ok(lines)
    }

    /// The last line, when the output ended without a line end.
    pub(crate) fn finish(&mut self) -> Option<Line> {
        read_line(&std::mem::take(&mut self.buffer))
    }
}

fn read_line(bytes: &[u8]) -> Option<Line> {
    let bytes = bytes.trim_ascii();
    if bytes.is_empty() {
        return None;
    }
    if let Ok(value @ Value::Object(_)) = serde_json::from_slice(bytes) {
        return Some(Line::Json(value));
    }
    let text = String::from_utf8_lossy(bytes);
    Some(Line::Stray(text.chars().take(200).collect()))
}
