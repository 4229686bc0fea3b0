//! Parses server-sent events within bounds.

use crate::settings::MOST_MESSAGE_BYTES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerEvent {
    /// `message` if the event has no name.
    pub(crate) name: String,
    pub(crate) data: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

#[derive(Debug, Default)]
pub(crate) struct EventReader {
    unread: Vec<u8>,
    name: Option<String>,
    data: Option<String>,
}

impl EventReader {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    pub(crate) fn next_event(&mut self) -> Result<Option<ServerEvent>, TooLong> {
        while let Some(at) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=at).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            if line.is_empty() {
                let name = self.name.take().unwrap_or_else(|| "message".to_owned());
                if let Some(data) = self.data.take() {
                    return Ok(Some(ServerEvent { name, data }));
                }
                continue;
            }
            self.take(line);
            self.check()?;
        }
        self.check()?;
        Ok(None)
    }

    fn take(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
    }

    fn check(&self) -> Result<(), TooLong> {
        let length = self.unread.len() + self.data.as_ref().map_or(0, String::len);
        if length > MOST_MESSAGE_BYTES {
            Err(TooLong)
        } else {
            Ok(())
        }
    }
}
