//! Subscriptions to a session's events (KODE-43, KODE-44).

use std::sync::{Arc, PoisonError};

use ktx_session_log::{Channel, LogReader, Record, SessionId};
use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::TryRecvError};
use tokio::sync::watch;

use super::{Session, SessionError};

/// Returns a record in the subscribers' format (KODE-44).
pub fn envelope(session: &SessionId, record: &Record) -> Value {
    json!({
        "cursor": record.seq,
        "bookmark": { "seq": record.seq, "timestamp": record.ts.as_millisecond() },
        "session": session,
        "turn": record.turn,
        "channel": record.channel,
        "event": record.event,
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channels(Vec<Channel>);

impl Default for Channels {
    fn default() -> Self {
        Self(vec![Channel::Progress])
    }
}

impl Channels {
    pub fn new(channels: impl IntoIterator<Item = Channel>) -> Self {
        Self(channels.into_iter().collect())
    }

    pub fn has(&self, record: &Record) -> bool {
        self.0.contains(&record.channel)
    }
}

/// Maximum lag before a subscriber reads the log again.
const MOST_UNHEARD: usize = 1_024;

/// Receives new records, and reads missed ones from the log. A slow subscriber delays no one and
/// loses no record.
#[derive(Debug)]
pub struct Subscription {
    heard: broadcast::Receiver<Arc<Record>>,
    written: watch::Receiver<u64>,
    reader: LogReader,
    channels: Channels,
    since: u64,
}

impl Subscription {
    pub(super) fn open(
        session: &Session,
        channels: Channels,
        since: u64,
    ) -> Result<Self, SessionError> {
        let heard = session.hear();
        let reader = session.log().tail()?;
        let last = session.last();
        if since > last {
            return Err(SessionError::Bookmark { since, last });
        }
        Ok(Self {
            heard,
            written: session.watch(),
            reader: if reader.seq() <= since {
                reader
            } else {
                session.log().reader()?
            },
            channels,
            since,
        })
    }

    /// Returns the next written record without waiting.
    pub fn next_written(&mut self) -> Result<Option<Record>, SessionError> {
        while let Some(record) = self.next_of_all()? {
            self.since = record.seq;
            if self.channels.has(&record) {
                return Ok(Some(Arc::unwrap_or_clone(record)));
            }
        }
        Ok(None)
    }

    fn next_of_all(&mut self) -> Result<Option<Arc<Record>>, SessionError> {
        loop {
            match self.heard.try_recv() {
                Ok(record) if record.seq <= self.since => {}
                Ok(record) if record.seq == self.since + 1 => return Ok(Some(record)),
                // It did not arrive in order.
                Ok(_) => return self.read(),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => {
                    let is_behind = *self.written.borrow() > self.since;
                    return if is_behind { self.read() } else { Ok(None) };
                }
            }
        }
    }

    fn read(&mut self) -> Result<Option<Arc<Record>>, SessionError> {
        while let Some(record) = self.reader.next_record()? {
            if record.seq > self.since {
                return Ok(Some(Arc::new(record)));
            }
        }
        Ok(None)
    }

    /// Returns the next record; `None` after the session's last one.
    pub async fn next_record(&mut self) -> Result<Option<Record>, SessionError> {
        loop {
            if let Some(record) = self.next_written()? {
                return Ok(Some(record));
            }
            if self.written.changed().await.is_err() {
                return self.next_written();
            }
        }
    }
}

impl Session {
    fn hear(&self) -> broadcast::Receiver<Arc<Record>> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = heard.get_or_insert_with(|| broadcast::Sender::new(MOST_UNHEARD));
        sender.subscribe()
    }

    pub(super) fn tell_subscribers(&self, records: Vec<Record>) {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = heard.as_ref().filter(|it| it.receiver_count() > 0) {
            for record in records {
                // The last subscriber may have left.
                drop(sender.send(Arc::new(record)));
            }
        }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }
}
