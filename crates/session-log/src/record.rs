//! Records and their lines.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The format of logs that this version writes and reads.
pub const FORMAT: u64 = 1;

/// The type of the first event of every log; its `format` says how to read the rest.
pub const OPENED: &str = "session_opened";

/// What stands between a record and its checksum.
const BEFORE_CHECKSUM: &[u8] = b",\"crc\":\"";

/// Hexadecimal digits of a checksum.
const DIGITS: usize = 8;

/// For whom an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// What people see of a turn.
    Progress,
    /// What has to be decided, and what was.
    Control,
    /// What is governed: states, tokens, errors.
    Monitor,
    /// What a later process needs in order to go on.
    State,
}

/// An event that has no place in a log yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// When it happened; logs keep milliseconds.
    pub at: Timestamp,
    pub channel: Channel,
    /// The turn, from 1; none outside of turns.
    pub turn: Option<u32>,
    /// The step of the turn, from 1; none outside of steps.
    pub step: Option<u32>,
    /// The event; its `type` says which.
    pub event: Map<String, Value>,
}

/// One record of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its place, counted from 1 without a hole.
    pub seq: u64,
    /// When it was written.
    pub ts: Timestamp,
    pub channel: Channel,
    /// The turn, from 1; none outside of turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The step of the turn, from 1; none outside of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The event.
    pub event: Map<String, Value>,
}

impl Record {
    /// Gives an entry its place.
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

    /// Appends the record's line: its JSON with the checksum of that JSON as the last member.
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

    /// Reads a line without its newline. Errors say what is wrong with it.
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
        // The checksum is one member more, which the record does not know and passes over.
        serde_json::from_slice(line).map_err(|_| "it is not a record")
    }
}

/// A checksum in hexadecimal.
fn digits_of(checksum: u32) -> [u8; DIGITS] {
    const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
    let [a, b, c, d] = checksum.to_be_bytes();
    let digit = |half: u8| HEXADECIMAL[usize::from(half & 15)];
    let halves = [a >> 4, a, b >> 4, b, c >> 4, c, d >> 4, d];
    halves.map(digit)
}
