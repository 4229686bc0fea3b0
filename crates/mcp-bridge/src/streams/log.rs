//! The events of one stream, and the connections that read them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::Stream;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::common::server_side_http::ServerSseMessage;
use tokio::runtime::Handle;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;

/// Maximum number of events of a stream; the oldest go first. An answer is the last event.
const KEPT: usize = 256;

/// When a client reconnects, and how long its call waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    /// The delay before a client connects again; `None` for a client that does not read on by
    /// itself.
    pub(super) retry: Option<Duration>,
    /// The server then ends the connection, and the client reads on with another one.
    pub(super) longest: Option<Duration>,
    /// The server cancels a call without a reader after this time.
    pub(super) absence: Duration,
}

/// The place of an event: its stream and its number in it, from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventPlace {
    pub(super) stream: u64,
    pub(super) number: u64,
}

impl std::fmt::Display for EventPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

impl EventPlace {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (stream, number) = text.split_once('-')?;
        Some(Self {
            stream: stream.parse().ok()?,
            number: number.parse().ok()?,
        })
    }
}

/// What happens to a connection when a newer one reads the same stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamKind {
    /// It ends.
    Answer,
    /// It waits until the newer one is gone.
    Listening,
}

#[derive(Debug)]
pub(super) struct EventLog {
    stream: u64,
    kind: StreamKind,
    /// Canceled when the client has left.
    gone: CancellationToken,
    state: Mutex<LogState>,
}

#[derive(Debug, Default)]
struct LogState {
    events: VecDeque<Arc<ServerJsonRpcMessage>>,
    /// The number of the last event that the log has dropped.
    dropped: u64,
    /// The number of the last event that went to a connection.
    sent: u64,
    is_whole: bool,
    /// The last one gets the events.
    readers: Vec<WaitingReader>,
    last_reader: u64,
}

#[derive(Debug)]
struct WaitingReader {
    id: u64,
    waker: Option<Waker>,
}

impl LogState {
    fn wake(&mut self) {
        for reader in &mut self.readers {
            if let Some(waker) = reader.waker.take() {
                waker.wake();
            }
        }
    }

    fn event(&self, number: u64) -> Option<Arc<ServerJsonRpcMessage>> {
        let place = usize::try_from(number.checked_sub(self.dropped + 1)?).ok()?;
        self.events.get(place).cloned()
    }
}

impl EventLog {
    pub(super) fn new(stream: u64, kind: StreamKind, gone: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            stream,
            kind,
            gone,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, message: ServerJsonRpcMessage) {
        let mut state = self.state();
        if state.is_whole {
            return;
        }
        state.events.push_back(Arc::new(message));
        if state.events.len() > KEPT {
            state.events.pop_front();
            state.dropped += 1;
        }
        state.wake();
    }

    pub(super) fn finish(&self) {
        let mut state = self.state();
        state.is_whole = true;
        state.wake();
    }

    /// Reads what no connection has had.
    pub(super) fn read(self: &Arc<Self>, patience: Patience) -> Reader {
        let next = self.state().sent + 1;
        Reader::new(self, next, patience)
    }

    /// `None` if there never was such an event.
    pub(super) fn read_after(self: &Arc<Self>, number: u64, patience: Patience) -> Option<Reader> {
        let known = {
            let state = self.state();
            state.dropped + state.events.len() as u64
        };
        (number <= known).then(|| Reader::new(self, number + 1, patience))
    }

    /// True if `last` was the last reader and has left.
    fn is_left(&self, last: u64) -> bool {
        let state = self.state();
        state.readers.is_empty() && state.last_reader == last && !state.is_whole
    }
}

/// One connection.
pub(super) struct Reader {
    log: Arc<EventLog>,
    id: u64,
    next: u64,
    patience: Patience,
    /// The event that says where to read on is still to be sent.
    is_announced: bool,
    /// Another connection has had events meanwhile.
    is_behind: bool,
    limit: Option<Pin<Box<Sleep>>>,
    is_closing: bool,
}

impl Reader {
    fn new(log: &Arc<EventLog>, next: u64, patience: Patience) -> Self {
        let id = {
            let mut state = log.state();
            state.last_reader += 1;
            let id = state.last_reader;
            state.wake();
            state.readers.push(WaitingReader { id, waker: None });
            id
        };
        let limit = patience.longest.filter(|_| log.kind == StreamKind::Answer);
        Self {
            log: Arc::clone(log),
            id,
            next,
            patience,
            is_announced: patience.retry.is_none(),
            is_behind: false,
            limit: limit.map(|limit| Box::pin(sleep(limit))),
            is_closing: false,
        }
    }

    fn place(&self, number: u64) -> String {
        let stream = self.log.stream;
        EventPlace { stream, number }.to_string()
    }

    /// An event without a message: where to read on, and after which delay.
    fn announcement(&self, retry: Duration) -> ServerSseMessage {
        ServerSseMessage::priming(self.place(self.next - 1), retry)
    }

    fn must_close(&mut self, context: &mut Context<'_>) -> bool {
        let limit = self.limit.as_mut();
        limit.is_some_and(|limit| limit.as_mut().poll(context).is_ready())
    }
}

impl Stream for Reader {
    type Item = ServerSseMessage;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<ServerSseMessage>> {
        if self.is_closing {
            return Poll::Ready(None);
        }
        if let (false, Some(retry)) = (self.is_announced, self.patience.retry) {
            self.is_announced = true;
            return Poll::Ready(Some(self.announcement(retry)));
        }
        let log = Arc::clone(&self.log);
        let mut state = log.state();
        let is_newest = state.readers.last().is_some_and(|last| last.id == self.id);
        if is_newest {
            if std::mem::take(&mut self.is_behind) {
                self.next = self.next.max(state.sent + 1);
            }
            self.next = self.next.max(state.dropped + 1);
            if let Some(message) = state.event(self.next) {
                let mut event = ServerSseMessage::from_message((*message).clone());
                event.event_id = Some(self.place(self.next));
                state.sent = state.sent.max(self.next);
                self.next += 1;
                return Poll::Ready(Some(event));
            }
        } else if log.kind == StreamKind::Answer {
            return Poll::Ready(None);
        } else {
            self.is_behind = true;
        }
        if state.is_whole {
            return Poll::Ready(None);
        }
        if let Some(own) = state.readers.iter_mut().find(|own| own.id == self.id) {
            own.waker = Some(context.waker().clone());
        }
        drop(state);
        if let (Some(retry), true) = (self.patience.retry, self.must_close(context)) {
            self.is_closing = true;
            return Poll::Ready(Some(self.announcement(retry)));
        }
        Poll::Pending
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let last = {
            let mut state = self.log.state();
            state.readers.retain(|own| own.id != self.id);
            state.wake();
            state.last_reader
        };
        if self.log.kind == StreamKind::Listening || !self.log.is_left(last) {
            return;
        }
        let log = Arc::clone(&self.log);
        let Ok(runtime) = Handle::try_current() else {
            log.gone.cancel();
            return;
        };
        let absence = self.patience.absence;
        drop(runtime.spawn(async move {
            sleep(absence).await;
            if log.is_left(last) {
                log.gone.cancel();
            }
        }));
    }
}

#[cfg(test)]
mod tests;
