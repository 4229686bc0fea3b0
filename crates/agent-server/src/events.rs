//! A session's event stream. Each event's id is its record, so that clients reconnect without a gap
//! (KODE-44).

use std::convert::Infallible;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame};
use ktx_agent_session::{Channels, PoolError, SessionError, Sessions, envelope};
use ktx_diagnostics::{Code, Failure};
use ktx_mcp_server::HttpAnswer;
use ktx_session_log::{Channel, LogReader, Record, SessionId};
use percent_encoding::percent_decode_str;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Time between two looks at the log.
const LOOKS: Duration = Duration::from_millis(50);

/// Proxies close silent connections.
const SILENCE: Duration = Duration::from_secs(15);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wish {
    channels: Channels,
    /// After this record.
    since: u64,
}

impl Wish {
    /// A reconnecting browser sends `Last-Event-ID`, which is later than `since`.
    pub(crate) fn read(query: &str, headers: &HeaderMap) -> Result<Self, Failure> {
        let mut wish = Self {
            channels: Channels::default(),
            since: 0,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy();
            match name {
                "channels" => wish.channels = channels(&value)?,
                "since" => wish.since = cursor("since", &value)?,
                _ => {
                    return Err(
                        Failure::new(Code::Usage, format!("`{name}` is not a parameter"))
                            .hint("use `channels` and `since`"),
                    );
                }
            }
        }
        if let Some(last) = headers.get("last-event-id") {
            let text = last.to_str().unwrap_or_default();
            wish.since = cursor("Last-Event-ID", text)?;
        }
        Ok(wish)
    }
}

fn channels(text: &str) -> Result<Channels, Failure> {
    let named = text.split(',').map(|name| match name.trim() {
        "progress" => Ok(Channel::Progress),
        "control" => Ok(Channel::Control),
        "monitor" => Ok(Channel::Monitor),
        other => Err(
            Failure::new(Code::Usage, format!("`{other}` is not a channel"))
                .hint("use `progress`, `control` and `monitor`, separated by commas"),
        ),
    });
    Ok(Channels::new(named.collect::<Result<Vec<Channel>, _>>()?))
}

fn cursor(name: &str, text: &str) -> Result<u64, Failure> {
    text.parse().map_err(|_| {
        Failure::new(
            Code::InvalidCursor,
            format!("`{name}` is `{text}`, which is not the cursor of an event"),
        )
    })
}

pub(crate) fn stream_of(
    sessions: &Sessions,
    id: &SessionId,
    wish: Wish,
    ending: CancellationToken,
) -> Result<HttpAnswer, PoolError> {
    let mut whole = sessions.store().read(id)?;
    while whole.next_record()?.is_some() {}
    let last = whole.seq();
    if wish.since > last {
        let since = wish.since;
        return Err(SessionError::Bookmark { since, last }.into());
    }
    let (told, pieces) = mpsc::channel(1);
    let tail = Tail {
        reader: sessions.store().read(id)?,
        log: sessions.store().path(id),
        id: id.clone(),
        wish,
        told,
        ending,
    };
    tokio::spawn(tail.follow());
    let mut answer = Response::new(Pieces(pieces).boxed());
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

struct Pieces(mpsc::Receiver<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.poll_recv(context);
        piece.map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

struct Tail {
    reader: LogReader,
    log: PathBuf,
    id: SessionId,
    wish: Wish,
    told: mpsc::Sender<Bytes>,
    ending: CancellationToken,
}

impl Tail {
    async fn follow(mut self) {
        let mut silent_until = Instant::now() + SILENCE;
        loop {
            match self.reader.next_record() {
                Ok(Some(record)) if self.is_wanted(&record) => {
                    if !self.tell(self.event(&record)).await {
                        return;
                    }
                    silent_until = Instant::now() + SILENCE;
                    continue;
                }
                Ok(Some(_)) => continue,
                Ok(None) => {}
                Err(error) => {
                    // The client reconnects and gets the failure as an answer.
                    return tracing::warn!(%error, "the events of a session cannot be read any more");
                }
            }
            if Instant::now() >= silent_until {
                // A removed session has no more events.
                if !self.log.exists() {
                    return;
                }
                if !self.tell(": nothing new\n\n".to_owned()).await {
                    return;
                }
                silent_until = Instant::now() + SILENCE;
            }
            tokio::select! {
                () = tokio::time::sleep(LOOKS) => {}
                () = self.told.closed() => return,
                () = self.ending.cancelled() => {
                    self.tell(": the server ends\n\n".to_owned()).await;
                    return;
                }
            }
        }
    }

    async fn tell(&self, text: String) -> bool {
        self.told.send(Bytes::from(text)).await.is_ok()
    }

    fn is_wanted(&self, record: &Record) -> bool {
        record.seq > self.wish.since && self.wish.channels.has(record)
    }

    fn event(&self, record: &Record) -> String {
        let data = envelope(&self.id, record);
        format!("id: {}\ndata: {data}\n\n", record.seq)
    }
}
