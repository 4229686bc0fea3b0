//! Joins the pieces of an answer into chunks, before the calls that follow.
//!
//! Pieces come as events, whole messages earlier through the run's hook. A whole message therefore
//! ends its chunks at once, and its late pieces are dropped.

use std::time::Duration;

use tokio::time::Instant;

use crate::event::Event;

/// Minimum time between two chunks of one stream.
const PACE: Duration = Duration::from_millis(33);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Thought,
    Text,
}

#[derive(Debug, Default)]
pub(super) struct Chunks {
    open: Option<OpenStream>,
    /// Pending bytes of an already published message.
    late_thought: usize,
    late_text: usize,
}

#[derive(Debug)]
struct OpenStream {
    stream: Stream,
    whole: String,
    /// Bytes already published.
    told: usize,
    last: Instant,
}

impl Chunks {
    pub(super) fn due(&self) -> Option<Instant> {
        let open = self.open.as_ref()?;
        (open.told < open.whole.len()).then(|| open.last + PACE)
    }

    /// Adds a piece; returns the events to publish.
    pub(super) fn piece(&mut self, stream: Stream, piece: &str, now: Instant) -> Vec<Event> {
        let late = self.late(stream);
        let skipped = piece.len().min(*late);
        *late -= skipped;
        let piece = piece.get(skipped..).unwrap_or_default();
        if piece.is_empty() {
            return Vec::new();
        }
        let mut events = Vec::new();
        if self.open.as_ref().is_none_or(|open| open.stream != stream) {
            events.extend(self.end());
            events.push(start(stream));
            self.open = Some(OpenStream {
                stream,
                whole: String::new(),
                told: 0,
                last: now,
            });
        }
        if let Some(open) = &mut self.open {
            open.whole.push_str(piece);
            if open.told == 0 || now.duration_since(open.last) >= PACE {
                events.extend(open.tell(now));
            }
        }
        events
    }

    pub(super) fn flush(&mut self, now: Instant) -> Option<Event> {
        self.open.as_mut().and_then(|open| open.tell(now))
    }

    pub(super) fn end(&mut self) -> Vec<Event> {
        let Some(mut open) = self.open.take() else {
            return Vec::new();
        };
        let mut events: Vec<Event> = open.tell(open.last).into_iter().collect();
        events.push(match open.stream {
            Stream::Thought => Event::ThinkChunkEnd,
            Stream::Text => Event::TextChunkEnd { text: open.whole },
        });
        events
    }

    /// Adds a stream's whole part of a message.
    pub(super) fn whole(&mut self, stream: Stream, whole: &str, now: Instant) -> Vec<Event> {
        let heard = match &self.open {
            Some(open) if open.stream == stream => open.whole.len(),
            _ => 0,
        };
        let rest = match &self.open {
            Some(open) if open.stream == stream => whole.strip_prefix(open.whole.as_str()),
            _ => Some(whole),
        };
        let mut events = Vec::new();
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            events.extend(self.piece_now(stream, rest, now));
            *self.late(stream) += whole.len() - heard;
        }
        events.extend(self.end());
        events
    }

    fn piece_now(&mut self, stream: Stream, piece: &str, now: Instant) -> Vec<Event> {
        let late = std::mem::take(self.late(stream));
        let mut events = self.piece(stream, piece, now);
        events.extend(self.flush(now));
        *self.late(stream) = late;
        events
    }

    pub(super) fn unfinished_text(&self) -> Option<&str> {
        let open = self.open.as_ref()?;
        (open.stream == Stream::Text).then_some(open.whole.as_str())
    }

    const fn late(&mut self, stream: Stream) -> &mut usize {
        match stream {
            Stream::Thought => &mut self.late_thought,
            Stream::Text => &mut self.late_text,
        }
    }
}

impl OpenStream {
    fn tell(&mut self, now: Instant) -> Option<Event> {
        let delta = self.whole.get(self.told..)?.to_owned();
        if delta.is_empty() {
            return None;
        }
        self.told = self.whole.len();
        self.last = now;
        Some(match self.stream {
            Stream::Thought => Event::ThinkChunk { delta },
            Stream::Text => Event::TextChunk { delta },
        })
    }
}

const fn start(stream: Stream) -> Event {
    match stream {
        Stream::Thought => Event::ThinkChunkStart,
        Stream::Text => Event::TextChunkStart,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(events: impl IntoIterator<Item = Event>) -> String {
        let lines = events.into_iter().map(|event| match event {
            Event::ThinkChunkStart => "think(".to_owned(),
            Event::ThinkChunk { delta } | Event::TextChunk { delta } => format!("[{delta}]"),
            Event::ThinkChunkEnd => ")".to_owned(),
            Event::TextChunkStart => "text(".to_owned(),
            Event::TextChunkEnd { text } => format!("){text}"),
            other => format!("{other:?}"),
        });
        lines.collect()
    }

    /// KODE-40.
    #[test]
    fn pieces_are_joined_and_streams_are_closed() {
        let mut chunks = Chunks::default();
        let now = Instant::now();
        let later = now + PACE;
        assert_eq!(told(chunks.piece(Stream::Thought, "hm", now)), "think([hm]");
        assert_eq!(told(chunks.piece(Stream::Text, "a", now)), ")text([a]");
        assert_eq!(told(chunks.piece(Stream::Text, "b", now)), "");
        assert_eq!(chunks.due(), Some(later));
        assert_eq!(told(chunks.piece(Stream::Text, "c", later)), "[bc]");
        assert_eq!(chunks.due(), None);
        assert_eq!(told(chunks.end()), ")abc");
    }

    /// No piece is published twice.
    #[test]
    fn a_whole_message_overtakes_its_pieces() {
        let mut chunks = Chunks::default();
        let now = Instant::now();
        assert_eq!(told(chunks.piece(Stream::Text, "Look", now)), "text([Look]");
        assert_eq!(
            told(chunks.whole(Stream::Text, "Looking.", now)),
            "[ing.])Looking."
        );
        assert_eq!(told(chunks.piece(Stream::Text, "ing", now)), "");
        assert_eq!(told(chunks.piece(Stream::Text, ".New", now)), "text([New]");
        assert_eq!(told(chunks.whole(Stream::Text, "New", now)), ")New");
        assert_eq!(told(chunks.whole(Stream::Text, "ü", now)), "text([ü])ü");
        assert_eq!(told(chunks.piece(Stream::Text, "ü", now)), "");
    }
}
