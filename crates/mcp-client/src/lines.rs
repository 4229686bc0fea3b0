//! JSON lines of a child process, within bounds.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use crate::settings::MOST_MESSAGE_BYTES;

/// Programs print a banner, servers do not.
const MOST_FOREIGN_LINES: usize = 100;

/// Bytes of the first line that is not JSON.
const SHOWN: usize = 160;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) is_too_long: bool,
    pub(crate) foreign: usize,
    pub(crate) first_foreign: Vec<u8>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Watched(Arc<Mutex<Output>>);

impl Watched {
    pub(crate) fn seen(&self) -> Output {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn too_long(&self) {
        self.note(|output| output.is_too_long = true);
    }

    pub(crate) fn foreign(&self, message: &[u8]) {
        self.note(|output| {
            output.foreign += 1;
            if output.foreign == 1 {
                output.first_foreign = message.iter().take(SHOWN).copied().collect();
            }
        });
    }

    fn note(&self, change: impl FnOnce(&mut Output)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Ends the stream at a line that is too long, or after too many that are not JSON.
pub(crate) struct BoundedLines<R> {
    inner: R,
    watched: Watched,
    length: usize,
    line: Line,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Blank,
    Json,
    FirstForeign,
    Foreign,
}

impl<R> BoundedLines<R> {
    pub(crate) fn new(inner: R, watched: Watched) -> Self {
        Self {
            inner,
            watched,
            length: 0,
            line: Line::Blank,
        }
    }

    fn check(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            if *byte == b'\n' {
                self.length = 0;
                self.line = Line::Blank;
                continue;
            }
            self.length += 1;
            if self.length > MOST_MESSAGE_BYTES {
                self.watched.too_long();
                return Err(io::Error::other("a message is too long"));
            }
            match self.line {
                Line::Blank if byte.is_ascii_whitespace() => {}
                Line::Blank if matches!(byte, b'{' | b'[') => self.line = Line::Json,
                Line::Blank => self.begin_foreign(*byte)?,
                Line::FirstForeign => self.watched.note(|output| {
                    if output.first_foreign.len() < SHOWN {
                        output.first_foreign.push(*byte);
                    }
                }),
                Line::Json | Line::Foreign => {}
            }
        }
        Ok(())
    }

    fn begin_foreign(&mut self, byte: u8) -> io::Result<()> {
        let mut count = 0;
        self.watched.note(|output| {
            output.foreign += 1;
            count = output.foreign;
            if count == 1 {
                output.first_foreign.push(byte);
            }
        });
        self.line = if count == 1 {
            Line::FirstForeign
        } else {
            Line::Foreign
        };
        if count > MOST_FOREIGN_LINES {
            return Err(io::Error::other("too many lines are not JSON"));
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        let new = buffer.filled().get(before..).unwrap_or_default();
        Poll::Ready(this.check(new))
    }
}
