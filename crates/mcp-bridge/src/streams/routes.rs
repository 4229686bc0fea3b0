//! Which stream of a session carries a message.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, GetExtensions as _, ProgressToken, RequestId, ServerJsonRpcMessage,
    ServerNotification,
};
use rmcp::service::{OriginatingRequestId, RoleServer};
use rmcp::transport::Transport;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::log::{EventLog, EventPlace, Patience, Reader, StreamKind};

/// The stream of a client that listens.
pub(super) const LISTENING: u64 = 0;

/// Messages from a client that wait for the session.
const WAITING: usize = 64;

/// Whole answers that a client can read again.
const ANSWERS: usize = 8;

/// For how long it can.
const AGAIN: Duration = Duration::from_secs(10);

/// One session.
#[derive(Debug)]
pub(super) struct StreamRoutes {
    table: Mutex<RouteTable>,
    listening: Arc<EventLog>,
}

#[derive(Debug)]
struct RouteTable {
    /// `None` after the end of the session.
    incoming: Option<mpsc::Sender<ClientJsonRpcMessage>>,
    patience: Patience,
    first: Option<FirstAnswer>,
    last_stream: u64,
    logs: BTreeMap<u64, Arc<EventLog>>,
    requests: HashMap<RequestId, u64>,
    tokens: HashMap<ProgressToken, u64>,
    /// The streams of whole answers, the oldest first.
    whole: VecDeque<(Instant, u64)>,
    is_swept: bool,
}

#[derive(Debug)]
struct FirstAnswer {
    request: RequestId,
    to: oneshot::Sender<ServerJsonRpcMessage>,
}

/// A request and what it is known by.
#[derive(Debug)]
pub(super) struct StreamRequest {
    pub(super) request: RequestId,
    pub(super) token: Option<ProgressToken>,
    pub(super) gone: CancellationToken,
}

impl StreamRoutes {
    pub(super) fn new(patience: Patience) -> (Arc<Self>, mpsc::Receiver<ClientJsonRpcMessage>) {
        let (incoming, receiver) = mpsc::channel(WAITING);
        let table = RouteTable {
            incoming: Some(incoming),
            patience,
            first: None,
            last_stream: LISTENING,
            logs: BTreeMap::new(),
            requests: HashMap::new(),
            tokens: HashMap::new(),
            whole: VecDeque::new(),
            is_swept: false,
        };
        let routes = Self {
            table: Mutex::new(table),
            listening: EventLog::new(LISTENING, StreamKind::Listening, CancellationToken::new()),
        };
        (Arc::new(routes), receiver)
    }

    fn table(&self) -> MutexGuard<'_, RouteTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False after the end of the session.
    pub(super) async fn pass(&self, message: ClientJsonRpcMessage) -> bool {
        let incoming = self.table().incoming.clone();
        match incoming {
            Some(incoming) => incoming.send(message).await.is_ok(),
            None => false,
        }
    }

    pub(super) fn set_patience(&self, patience: Patience) {
        self.table().patience = patience;
    }

    /// The answer to the request that begins the session.
    pub(super) fn first(&self, request: RequestId) -> oneshot::Receiver<ServerJsonRpcMessage> {
        let (to, answer) = oneshot::channel();
        self.table().first = Some(FirstAnswer { request, to });
        answer
    }

    pub(super) fn ask(&self, asked: StreamRequest) -> Reader {
        let mut table = self.table();
        table.last_stream += 1;
        let stream = table.last_stream;
        let log = EventLog::new(stream, StreamKind::Answer, asked.gone);
        if table.incoming.is_none() {
            log.finish();
        }
        table.logs.insert(stream, Arc::clone(&log));
        table.requests.insert(asked.request, stream);
        if let Some(token) = asked.token {
            table.tokens.insert(token, stream);
        }
        log.read(table.patience)
    }

    pub(super) fn listen(&self) -> Reader {
        self.listening.read(self.table().patience)
    }

    /// `None` if the event is not known, or no longer.
    pub(super) fn read_after(&self, place: EventPlace) -> Option<Reader> {
        let table = self.table();
        let log = match place.stream {
            LISTENING => &self.listening,
            stream => table.logs.get(&stream)?,
        };
        log.read_after(place.number, table.patience)
    }

    /// The client no longer waits for the answer.
    pub(super) fn give_up(self: &Arc<Self>, request: &RequestId) {
        let stream = self.table().requests.get(request).copied();
        if let Some(stream) = stream {
            self.end_stream(stream);
        }
    }

    pub(super) fn close(&self) {
        let mut table = self.table();
        table.incoming = None;
        table.first = None;
        table.logs.values().for_each(|log| log.finish());
        self.listening.finish();
    }

    fn send(self: &Arc<Self>, message: ServerJsonRpcMessage) {
        let mut table = self.table();
        let answered = match &message {
            ServerJsonRpcMessage::Response(answer) => Some(&answer.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
        };
        if let Some(request) = answered {
            if let Some(first) = table.first.take_if(|first| first.request == *request) {
                drop(first.to.send(message));
                return;
            }
            // Drops an answer to an unknown request.
            if let Some(stream) = table.requests.get(request).copied() {
                if let Some(log) = table.logs.get(&stream) {
                    log.push(message);
                }
                drop(table);
                self.end_stream(stream);
            }
            return;
        }
        let stream = match &message {
            ServerJsonRpcMessage::Request(request) => {
                let origin = request.request.extensions().get::<OriginatingRequestId>();
                origin.and_then(|origin| table.requests.get(&origin.0).copied())
            }
            ServerJsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => {
                    match table.tokens.get(&progress.params.progress_token) {
                        Some(stream) => Some(*stream),
                        // Progress of what is done.
                        None => return,
                    }
                }
                _ => None,
            },
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_) => None,
        };
        let log = stream.and_then(|stream| table.logs.get(&stream));
        log.unwrap_or(&self.listening).push(message);
    }

    fn end_stream(self: &Arc<Self>, stream: u64) {
        let mut table = self.table();
        if let Some(log) = table.logs.get(&stream) {
            log.finish();
        }
        table.requests.retain(|_, of| *of != stream);
        table.tokens.retain(|_, of| *of != stream);
        table.whole.push_back((Instant::now(), stream));
        table.forget(|table, _| table.whole.len() > ANSWERS);
        if !std::mem::replace(&mut table.is_swept, true) {
            let routes = Arc::downgrade(self);
            drop(tokio::spawn(async move {
                loop {
                    tokio::time::sleep(AGAIN).await;
                    let Some(routes) = routes.upgrade() else {
                        return;
                    };
                    if !routes.sweep() {
                        return;
                    }
                }
            }));
        }
    }

    /// False if there is nothing more to forget.
    fn sweep(&self) -> bool {
        let mut table = self.table();
        table.forget(|_, since| since.elapsed() >= AGAIN);
        table.is_swept = !table.whole.is_empty();
        table.is_swept
    }
}

impl RouteTable {
    fn forget(&mut self, is_due: impl Fn(&Self, Instant) -> bool) {
        while let Some((since, stream)) = self.whole.front().copied() {
            if !is_due(self, since) {
                return;
            }
            self.whole.pop_front();
            self.logs.remove(&stream);
        }
    }
}

/// The session's end of its streams.
pub(crate) struct SessionTransport {
    pub(super) routes: Arc<StreamRoutes>,
    pub(super) incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    /// A session without messages for this long ends.
    pub(super) idle: Duration,
}

impl Transport<RoleServer> for SessionTransport {
    type Error = Infallible;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.routes.send(item);
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let received = tokio::time::timeout(self.idle, self.incoming.recv()).await;
        received.ok().flatten()
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.routes.close();
        Ok(())
    }
}

impl Drop for SessionTransport {
    fn drop(&mut self) {
        self.routes.close();
    }
}
