//! Splits bytes into lines.

use serde_json::Value;

/// In bytes.
pub(crate) const MAX_LINE: usize = 100 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DecodedLine {
    Json(Value),
    /// Awaited by the call.
    Broken(BrokenLine),
    /// Truncated for the log.
    Stray(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokenLine {
    pub(crate) kind: &'static str,
    pub(crate) reason: String,
    pub(crate) text: String,
}

/// No call ends without these.
const AWAITED: [&str; 3] = ["control_request", "control_response", "result"];

/// Added by some systems.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line of output is longer than {limit} bytes")]
pub(crate) struct LineTooLong {
    limit: usize,
}

/// Never splits characters.
#[derive(Debug)]
pub(crate) struct LineDecoder {
    buffer: Vec<u8>,
    limit: usize,
}

impl LineDecoder {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            limit,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<DecodedLine>, LineTooLong> {
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

    pub(crate) fn finish(&mut self) -> Option<DecodedLine> {
        read_line(&std::mem::take(&mut self.buffer))
    }
}

fn read_line(bytes: &[u8]) -> Option<DecodedLine> {
    let bytes = bytes.trim_ascii();
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    if bytes.is_empty() {
        return None;
    }
    let read = object(bytes).or_else(|_| object(&without_lone_surrogates(bytes)));
    let error = match read {
        Ok(value) if value.is_object() => return Some(DecodedLine::Json(value)),
        Ok(_) => None,
        Err(error) => Some(error),
    };
    let whole = String::from_utf8_lossy(bytes);
    let text = whole.chars().take(200).collect();
    let awaited = AWAITED.into_iter().find(|kind| names_type(&whole, kind));
    Some(match (error, awaited) {
        (Some(error), Some(kind)) => DecodedLine::Broken(BrokenLine {
            kind,
            reason: error.to_string(),
            text,
        }),
        _ => DecodedLine::Stray(text),
    })
}

fn object(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(bytes)
}

fn names_type(text: &str, kind: &str) -> bool {
    text.starts_with('{')
        && text.split(r#""type""#).skip(1).any(|rest| {
            let value = rest.trim_start().strip_prefix(':').map(str::trim_start);
            let named = value.and_then(|value| value.strip_prefix('"'));
            named.is_some_and(|named| {
                named
                    .strip_prefix(kind)
                    .is_some_and(|end| end.starts_with('"'))
            })
        })
}

/// JavaScript cuts texts inside surrogate pairs, which would lose a whole answer.
fn without_lone_surrogates(line: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (before, escape) = rest.split_at(at);
        clean.extend_from_slice(before);
        let pair = (surrogate(escape), escape.get(6..).and_then(surrogate));
        let (kept, length) = match pair {
            (Some(0xD800..0xDC00), Some(0xDC00..0xE000)) => (escape.get(..12), 12),
            (Some(_), _) => (Some(br"\ufffd".as_slice()), 6),
            (None, _) => (escape.get(..2), 2),
        };
        clean.extend_from_slice(kept.unwrap_or(escape));
        rest = escape.get(length..).unwrap_or_default();
    }
    clean.extend_from_slice(rest);
    clean
}

fn surrogate(escape: &[u8]) -> Option<u16> {
    let digits = escape.strip_prefix(br"\u")?.get(..4)?;
    let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}
