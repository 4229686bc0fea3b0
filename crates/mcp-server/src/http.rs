//! The HTTP server: tools at `/mcp`, status at `/health`.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue, ORIGIN, VARY,
    WWW_AUTHENTICATE,
};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ktx_mcp_bridge::{HttpAnswer, HttpTools, plain, refusal, until_heard};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, Admitted, Refused};
use crate::connections::{Bounds, ConnectionSlot, Connections};
use crate::serve::ServedTools;
use crate::socket::LocalSocket;

/// Maximum length of a message in bytes, as on standard input.
const LONGEST: usize = 16 * 1024 * 1024;

/// The time for unfinished answers at the end.
const LAST: Duration = Duration::from_secs(2);

/// The delay after a failed accept: the machine lacks resources.
const NO_ROOM: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub enum HttpEvent {
    Refused {
        status: u16,
        reason: &'static str,
        count: u64,
    },
    NotAccepted {
        error: std::io::Error,
        count: u64,
    },
    TurnedAway {
        count: u64,
    },
}

#[async_trait]
pub trait Routes: Send + Sync {
    fn has(&self, path: &str) -> bool;

    fn absent(&self) -> &'static str;

    async fn answer(&self, request: Request<Full<Bytes>>) -> HttpAnswer;

    /// In the form that clients read.
    fn refusal(&self, status: StatusCode, reason: &str) -> HttpAnswer;
}

#[async_trait]
impl Routes for HttpTools {
    fn has(&self, path: &str) -> bool {
        path == "/mcp"
    }

    fn absent(&self) -> &'static str {
        "there is only /mcp and /health\n"
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> HttpAnswer {
        Self::answer(self, request).await
    }

    fn refusal(&self, status: StatusCode, reason: &str) -> HttpAnswer {
        refusal(status, reason)
    }
}

#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    socket: Option<LocalSocket>,
    handler: Arc<Handler>,
    connections: Arc<Connections>,
}

struct Handler {
    routes: Box<dyn Routes>,
    /// A session belongs to one client.
    named: Vec<HttpTools>,
    access: Access,
    health: String,
    refused: std::sync::atomic::AtomicU64,
    report: Box<dyn Fn(&HttpEvent) + Send + Sync>,
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handler")
            .field("access", &self.access)
            .field("health", &self.health)
            .finish_non_exhaustive()
    }
}

impl HttpServer {
    /// `health` is the JSON of `/health`; `shutdown` ends sessions and calls. Needs a running runtime.
    pub fn new(
        listener: TcpListener,
        access: Access,
        health: String,
        served: ServedTools<'_>,
        report: impl Fn(&HttpEvent) + Send + Sync + 'static,
        shutdown: &CancellationToken,
    ) -> Self {
        Self::for_clients(
            listener,
            access,
            health,
            (served, Vec::new()),
            report,
            shutdown,
        )
    }

    /// The tools are in the order of the tokens in `access`.
    pub fn for_clients(
        listener: TcpListener,
        access: Access,
        health: String,
        (served, named): (ServedTools<'_>, Vec<ServedTools<'_>>),
        report: impl Fn(&HttpEvent) + Send + Sync + 'static,
        shutdown: &CancellationToken,
    ) -> Self {
        let tools = |served: ServedTools<'_>| {
            let identity = served.identity();
            HttpTools::new(served.offer(), identity, shutdown.child_token())
        };
        let named = named.into_iter().map(tools).collect();
        Self::handled(listener, access, health, (tools(served), named), report)
    }

    pub fn serving(
        listener: TcpListener,
        access: Access,
        health: String,
        routes: impl Routes + 'static,
        report: impl Fn(&HttpEvent) + Send + Sync + 'static,
    ) -> Self {
        Self::handled(listener, access, health, (routes, Vec::new()), report)
    }

    fn handled(
        listener: TcpListener,
        access: Access,
        health: String,
        (routes, named): (impl Routes + 'static, Vec<HttpTools>),
        report: impl Fn(&HttpEvent) + Send + Sync + 'static,
    ) -> Self {
        let handler = Handler {
            routes: Box::new(routes),
            named,
            access,
            health,
            refused: std::sync::atomic::AtomicU64::new(0),
            report: Box::new(report),
        };
        Self {
            listener,
            socket: None,
            handler: Arc::new(handler),
            connections: Connections::new(Bounds::default()),
        }
    }

    #[must_use]
    pub fn within(mut self, bounds: Bounds) -> Self {
        self.connections = Connections::new(bounds);
        self
    }

    #[must_use]
    pub fn also_on(self, socket: Option<LocalSocket>) -> Self {
        Self { socket, ..self }
    }

    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` is canceled; then unfinished answers have two seconds.
    pub async fn serve(self, shutdown: CancellationToken) {
        let mut connections = JoinSet::new();
        let (mut not_accepted, mut turned_away) = (0, 0);
        loop {
            while connections.try_join_next().is_some() {}
            let accepted = self.accept().with_cancellation_token(&shutdown).await;
            let Some(accepted) = accepted else {
                break;
            };
            match accepted {
                Ok((stream, peer)) => {
                    let Some(slot) = self.connections.admit(peer) else {
                        turned_away += 1;
                        let count = turned_away;
                        (self.handler.report)(&HttpEvent::TurnedAway { count });
                        continue;
                    };
                    let (handler, shutdown) = (Arc::clone(&self.handler), shutdown.clone());
                    let bounds = self.connections.bounds();
                    connections.spawn(converse(stream, handler, slot, bounds, shutdown));
                }
                Err(error) => {
                    not_accepted += 1;
                    let count = not_accepted;
                    (self.handler.report)(&HttpEvent::NotAccepted { error, count });
                    tokio::time::sleep(NO_ROOM).await;
                }
            }
        }
        drop((self.listener, self.socket));
        let all = async { while connections.join_next().await.is_some() {} };
        drop(tokio::time::timeout(LAST, all).await);
    }

    async fn accept(&self) -> std::io::Result<(Box<dyn Stream>, IpAddr)> {
        let local = async {
            match &self.socket {
                Some(socket) => socket.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            accepted = self.listener.accept() => {
                let (stream, peer) = accepted?;
                Ok((Box::new(without_delay(stream)), peer.ip().to_canonical()))
            }
            accepted = local => {
                Ok((Box::new(accepted?), IpAddr::V4(Ipv4Addr::UNSPECIFIED)))
            }
        }
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Lets a browser show the answer to a page of an allowed origin.
fn shown_to(origin: HeaderValue, headers: &mut HeaderMap) {
    let methods = HeaderValue::from_static("GET, POST, DELETE");
    let asked = HeaderValue::from_static(
        "authorization, content-type, idempotency-key, last-event-id, mcp-protocol-version, mcp-session-id",
    );
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked);
    let session = HeaderValue::from_static("mcp-session-id");
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, session);
    headers.insert(VARY, HeaderValue::from_static("Origin"));
}

/// Nagle's algorithm would delay the last part of an answer by forty milliseconds.
fn without_delay(stream: TcpStream) -> TcpStream {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the answers of a connection may be held back");
    }
    stream
}

/// Ends early if another connection needs the place.
async fn converse(
    stream: Box<dyn Stream>,
    handler: Arc<Handler>,
    slot: Arc<ConnectionSlot>,
    bounds: Bounds,
    shutdown: CancellationToken,
) {
    let shared = Arc::clone(&slot);
    let service = service_fn(move |request| {
        let (handler, slot) = (Arc::clone(&handler), Arc::clone(&shared));
        async move { Ok::<_, Infallible>(handler.answer(request, &slot, bounds.body).await) }
    });
    let mut builder = http1::Builder::new();
    // Also covers the wait for a next request.
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = slot.lost() => return,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection of an MCP client broke");
    }
}

async fn whole(
    request: Request<Incoming>,
    limit: Duration,
) -> Result<Request<Full<Bytes>>, Refused> {
    let refused = |status, reason| Refused { status, reason };
    let (head, body) = request.into_parts();
    let body = tokio::time::timeout(limit, Limited::new(body, LONGEST).collect()).await;
    match body {
        Ok(Ok(body)) => Ok(Request::from_parts(head, Full::new(body.to_bytes()))),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(refused(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the body of the request is too long",
        )),
        Ok(Err(_)) => Err(refused(
            StatusCode::BAD_REQUEST,
            "the body of the request broke off",
        )),
        Err(_) => Err(refused(
            StatusCode::REQUEST_TIMEOUT,
            "the body of the request did not come in time",
        )),
    }
}

impl Handler {
    async fn answer(
        &self,
        request: Request<Incoming>,
        slot: &Arc<ConnectionSlot>,
        limit: Duration,
    ) -> HttpAnswer {
        if let Err(refused) = self.access.look(request.uri(), request.headers()) {
            return self.refused(refused);
        }
        let page = request.headers().get(ORIGIN).cloned();
        let mut answer = self.answer_admitted(request, slot, limit).await;
        if let Some(page) = page {
            shown_to(page, answer.headers_mut());
        }
        answer
    }

    async fn answer_admitted(
        &self,
        request: Request<Incoming>,
        slot: &Arc<ConnectionSlot>,
        limit: Duration,
    ) -> HttpAnswer {
        match request.uri().path() {
            // A browser's preflight request carries no token.
            path if self.routes.has(path) && request.method() == Method::OPTIONS => {
                plain(StatusCode::NO_CONTENT, "")
            }
            path if self.routes.has(path) => match self.access.admit(request.headers()) {
                Ok(client) => match whole(request, limit).await {
                    Ok(request) => {
                        let answering = slot.answering();
                        let named = match client {
                            Admitted::Named(place) => self.named.get(place),
                            Admitted::Other => None,
                        };
                        let answer = match named {
                            Some(tools) => tools.answer(request).await,
                            None => self.routes.answer(request).await,
                        };
                        until_heard(answer, answering)
                    }
                    Err(refused) => {
                        let mut answer = self.refused(refused);
                        let close = HeaderValue::from_static("close");
                        answer.headers_mut().insert(CONNECTION, close);
                        answer
                    }
                },
                Err(refused) => {
                    let mut answer = self.refused(refused);
                    let scheme = HeaderValue::from_static("Bearer");
                    answer.headers_mut().insert(WWW_AUTHENTICATE, scheme);
                    answer
                }
            },
            "/health" if request.method() == Method::GET => {
                let mut answer = plain(StatusCode::OK, &self.health);
                let kind = HeaderValue::from_static("application/json");
                answer.headers_mut().insert(CONTENT_TYPE, kind);
                answer
            }
            _ => plain(StatusCode::NOT_FOUND, self.routes.absent()),
        }
    }

    fn refused(&self, refused: Refused) -> HttpAnswer {
        let counter = &self.refused;
        let count = counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        (self.report)(&HttpEvent::Refused {
            status: refused.status.as_u16(),
            reason: refused.reason,
            count,
        });
        self.routes.refusal(refused.status, refused.reason)
    }
}

#[cfg(test)]
mod tests;
