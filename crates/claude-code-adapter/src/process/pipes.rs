//! The input and the stderr of a child.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};

/// Bytes.
const TAIL: usize = 8 * 1024;

/// Only this writes lines, whole and in order, while output is read.
#[derive(Debug)]
pub(crate) struct ChildInput {
    lines: mpsc::UnboundedSender<String>,
    writer: PipeWriter,
}

/// Drop ends it, even if nothing reads the pipe.
#[derive(Debug)]
pub(super) struct PipeWriter(AbortHandle);

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ChildInput {
    pub(super) fn new(mut stdin: ChildStdin) -> Self {
        let (lines, mut queue) = mpsc::unbounded_channel::<String>();
        let writer = tokio::spawn(async move {
            while let Some(line) = queue.recv().await {
                if let Err(error) = write(&mut stdin, &line).await {
                    tracing::debug!(%error, "Claude Code does not read its input any more");
                    break;
                }
            }
        });
        Self {
            lines,
            writer: PipeWriter(writer.abort_handle()),
        }
    }

    pub(crate) fn send(&self, line: &Value) {
        let mut text = escape_non_ascii(line.to_string());
        text.push('\n');
        if self.lines.send(text).is_err() {
            tracing::debug!("a line for Claude Code came after the end of its input");
        }
    }

    /// After the last line, while the writer is held.
    pub(super) fn close(self) -> PipeWriter {
        self.writer
    }
}

/// Older versions (2.1.76) decode chunks of 64 KiB and lose a character at a boundary.
fn escape_non_ascii(json: String) -> String {
    if json.is_ascii() {
        return json;
    }
    let mut text = String::with_capacity(json.len() * 2);
    for letter in json.chars() {
        if letter.is_ascii() {
            text.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            text.push_str("\\u");
            for shift in [12, 8, 4, 0] {
                let digit = u32::from((*unit >> shift) & 0xf);
                text.extend(char::from_digit(digit, 16));
            }
        }
    }
    text
}

async fn write(stdin: &mut ChildStdin, line: &str) -> std::io::Result<()> {
    stdin.write_all(line.as_bytes()).await?;
    stdin.flush().await
}

/// Reads everything, keeps the end.
#[derive(Debug)]
pub(crate) struct StderrTail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinHandle<()>,
}

impl StderrTail {
    pub(super) fn new(mut stderr: ChildStderr) -> Self {
        let kept = Arc::new(Mutex::new(VecDeque::with_capacity(TAIL)));
        let shared = Arc::clone(&kept);
        let reader = tokio::spawn(async move {
            let mut buffer = vec![0; TAIL];
            while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(buffer.iter().take(count));
                let surplus = kept.len().saturating_sub(TAIL);
                kept.drain(..surplus);
            }
        });
        Self { kept, reader }
    }

    pub(super) async fn finish(mut self, limit: Duration) -> String {
        if tokio::time::timeout(limit, &mut self.reader).await.is_err() {
            tracing::debug!("another process holds the stderr of Claude Code open");
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.make_contiguous())
            .trim()
            .to_owned()
    }
}

impl Drop for StderrTail {
    fn drop(&mut self) {
        self.reader.abort();
    }
}
