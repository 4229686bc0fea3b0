//! Records and their lines.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Version of the log format.
pub const FORMAT: u64 = 1;

/// The first event of each log; its `format` is the version of the rest.
pub const OPENED: &str = "session_opened";

/// Separates a record from its checksum.
const BEFORE_CHECKSUM: &[u8] = b",\"crc\":\"";

const DIGITS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// The visible part of a turn.
    Progress,
    /// Requests for decisions, and decisions.
    Control,
    /// States, tokens, errors.
    Monitor,
    /// What a later process needs to continue.
    State,
}

/// An event without a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Logs keep milliseconds.
    pub at: Timestamp,
    pub channel: Channel,
    /// From 1; `None` outside of turns.
    pub turn: Option<u32>,
    /// From 1; `None` outside of steps.
    pub step: Option<u32>,
    /// Its `type` is the kind.
    pub event: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// From 1, without gaps.
    pub seq: u64,
    pub ts: Timestamp,
    pub channel: Channel,
    /// As in [`Entry`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// As in [`Entry`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    pub event: Map<String, Value>,
}

impl Record {
    pub(crate) fn new(seq: u64, entry: Entry) -> Self {
        let milliseconds = Timestamp::from_millisecond(entry.at.as_millisecond());
        Self {
            seq,
            ts: milliseconds.unwrap_or(entry.at),
            channel: entry.channel,
            turn: entry.turn,
            step: entry.step,
            event: entry.event,
        }
    }

    /// Returns the `type` of the event; empty if it has none.
    pub fn kind(&self) -> &str {
        self.event.get("type").and_then(Value::as_str).unwrap_or("")
    }

    pub(crate) fn encode(&self, line: &mut Vec<u8>) -> serde_json::Result<()> {
        let start = line.len();
        serde_json::to_writer(&mut *line, self)?;
        let checksum = line.get(start..).map_or(0, crc32fast::hash);
        line.pop();
        line.extend_from_slice(BEFORE_CHECKSUM);
        line.extend_from_slice(&digits_of(checksum));
        line.extend_from_slice(b"\"}\n");
        Ok(())
    }

    pub(crate) fn decode(line: &[u8]) -> Result<Self, &'static str> {
        const UNCHECKED: &str = "it has no checksum";
        let rest = line.strip_suffix(b"\"}").ok_or(UNCHECKED)?;
        let split = rest.len().checked_sub(DIGITS).ok_or(UNCHECKED)?;
        let (rest, digits) = rest.split_at(split);
        let body = rest.strip_suffix(BEFORE_CHECKSUM).ok_or(UNCHECKED)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(body);
        hasher.update(b"}");
        if digits_of(hasher.finalize()) != digits {
            return Err("its checksum does not fit");
        }
        // Ignores the additional checksum member.
        serde_json::from_slice(line).map_err(|_| "it is not a record")
    }
}

fn digits_of(checksum: u32) -> [u8; DIGITS] {
    const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
    let [a, b, c, d] = checksum.to_be_bytes();
    let digit = |half: u8| HEXADECIMAL[usize::from(half & 15)];
    let halves = [a >> 4, a, b >> 4, b, c >> 4, c, d >> 4, d];
    halves.map(digit)
}
