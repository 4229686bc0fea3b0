//! Parses server-sent events split anywhere.

use std::borrow::Cow;

use ktx_llm_runtime::{LlmError, LlmErrorKind};
use serde::Deserialize;

use super::failure::NO_PROTOCOL;

/// Bytes per event.
const LONGEST_EVENT: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Empty if absent.
    pub(crate) name: String,
    pub(crate) data: String,
}

const KEEP_ALIVES: [&str; 2] = ["ping", "keepalive"];

/// Some streams have it only in the data.
#[derive(Deserialize)]
struct EventType<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

impl SseEvent {
    pub(crate) fn is_keep_alive(&self) -> bool {
        let data = self.data.trim();
        if !self.name.is_empty() {
            return KEEP_ALIVES.contains(&self.name.as_str());
        }
        data.is_empty()
            // An event without a type belongs to a protocol without pings.
            || serde_json::from_str::<EventType<'_>>(data)
                .is_ok_and(|kind| KEEP_ALIVES.contains(&kind.kind.as_ref()))
    }
}

/// Reads every byte once.
#[derive(Debug)]
pub(crate) struct SseParser {
    longest: usize,
    line: Vec<u8>,
    after_return: bool,
    started: bool,
    event: SseEvent,
    has_data: bool,
}

impl Default for SseParser {
    fn default() -> Self {
        Self {
            longest: LONGEST_EVENT,
            line: Vec::new(),
            after_return: false,
            started: false,
            event: SseEvent::default(),
            has_data: false,
        }
    }
}

impl SseParser {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, LlmError> {
        let mut out = Vec::new();
        for byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    self.end_line(&mut out);
                }
                _ => {
                    self.after_return = false;
                    self.line.push(*byte);
                }
            }
        }
        if self.line.len().saturating_add(self.event.data.len()) > self.longest {
            return Err(LlmError::new(
                LlmErrorKind::Protocol,
                "the provider sent an event of more than 64 MiB",
            )
            .hint(NO_PROTOCOL));
        }
        Ok(out)
    }

    pub(super) fn pending(&self) -> usize {
        self.line.len().saturating_add(self.event.data.len())
    }

    pub(crate) fn finish(&mut self) -> Vec<SseEvent> {
        let mut out = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut out);
        }
        self.dispatch(&mut out);
        out
    }

    fn end_line(&mut self, out: &mut Vec<SseEvent>) {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let line = if self.started {
            &*text
        } else {
            self.started = true;
            text.strip_prefix('\u{feff}').unwrap_or(&text)
        };
        if line.is_empty() {
            self.dispatch(out);
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            // Comments, ids and retry times matter only to resumed requests.
            _ => {}
        }
    }

    fn dispatch(&mut self, out: &mut Vec<SseEvent>) {
        let event = std::mem::take(&mut self.event);
        if std::mem::take(&mut self.has_data) {
            out.push(event);
        }
    }
}

#[cfg(test)]
mod tests;
