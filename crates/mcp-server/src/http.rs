//! The server for many agents over HTTP: `/mcp` has the tools, `/health` reports that it runs.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

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
use ktx_mcp_bridge::{HttpAnswer, HttpTools, plain, until_heard};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, Refused};
use crate::connections::{Bounds, ConnectionSlot, Connections};
use crate::serve::ServedTools;

/// The longest message in bytes, as on standard input.
const LONGEST: usize = 16 * 1024 * 1024;

/// How long unfinished answers may take when the server ends.
const LAST: Duration = Duration::from_secs(2);

/// The delay before the next attempt when no connection could be accepted, because the machine
/// lacks resources.
const NO_ROOM: Duration = Duration::from_millis(100);

/// An event for the log.
#[derive(Debug)]
pub enum HttpEvent {
    /// A request was refused.
    Refused {
        /// The response status.
        status: u16,
        reason: &'static str,
        /// The number of refused requests so far.
        count: u64,
    },
    /// A connection could not be accepted.
    NotAccepted {
        /// The cause.
        error: std::io::Error,
        /// The number of failures so far.
        count: u64,
    },
    /// A connection was refused because all others are busy.
    TurnedAway {
        /// The number of refused connections so far.
        count: u64,
    },
}

/// A server for one project.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    handler: Arc<Handler>,
    connections: Arc<Connections>,
}

/// Answers requests.
struct Handler {
    tools: HttpTools,
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
    /// Creates a server of these tools for the clients that `access` admits. `health` is the JSON
    /// response of `/health`; `report` receives events for the log; `shutdown` ends sessions and
    /// calls. Needs a running runtime.
    pub fn new(
        listener: TcpListener,
        access: Access,
        health: String,
        served: ServedTools<'_>,
        report: impl Fn(&HttpEvent) + Send + Sync + 'static,
        shutdown: &CancellationToken,
    ) -> Self {
        let identity = served.identity();
        let tools = HttpTools::new(served.tools(), identity, shutdown.child_token());
        let handler = Handler {
            tools,
            access,
            health,
            refused: std::sync::atomic::AtomicU64::new(0),
            report: Box::new(report),
        };
        Self {
            listener,
            handler: Arc::new(handler),
            connections: Connections::new(Bounds::default()),
        }
    }

    /// Replaces the default limits.
    #[must_use]
    pub fn within(mut self, bounds: Bounds) -> Self {
        self.connections = Connections::new(bounds);
        self
    }

    /// Returns the address that it listens on.
    ///
    /// # Errors
    /// If the system cannot report it.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` is canceled; then unfinished answers have two seconds.
    pub async fn serve(self, shutdown: CancellationToken) {
        let mut connections = JoinSet::new();
        let (mut not_accepted, mut turned_away) = (0, 0);
        loop {
            while connections.try_join_next().is_some() {}
            let accepted = self.listener.accept();
            let Some(accepted) = accepted.with_cancellation_token(&shutdown).await else {
                break;
            };
            match accepted {
                Ok((stream, peer)) => {
                    let Some(slot) = self.connections.admit(peer.ip().to_canonical()) else {
                        turned_away += 1;
                        let count = turned_away;
                        (self.handler.report)(&HttpEvent::TurnedAway { count });
                        continue;
                    };
                    let (handler, shutdown) = (Arc::clone(&self.handler), shutdown.clone());
                    let bounds = self.connections.bounds();
                    connections.spawn(async move {
                        converse(without_delay(stream), handler, slot, bounds, shutdown).await;
                    });
                }
                Err(error) => {
                    not_accepted += 1;
                    let count = not_accepted;
                    (self.handler.report)(&HttpEvent::NotAccepted { error, count });
                    tokio::time::sleep(NO_ROOM).await;
                }
            }
        }
        drop(self.listener);
        let all = async { while connections.join_next().await.is_some() {} };
        // Unfinished answers are aborted with the set.
        drop(tokio::time::timeout(LAST, all).await);
    }
}

/// Lets a browser show an answer to a page of an allowed origin.
fn shown_to(origin: HeaderValue, headers: &mut HeaderMap) {
    let methods = HeaderValue::from_static("GET, POST, DELETE");
    let asked = HeaderValue::from_static(
        "authorization, content-type, last-event-id, mcp-protocol-version, mcp-session-id",
    );
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked);
    let session = HeaderValue::from_static("mcp-session-id");
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, session);
    headers.insert(VARY, HeaderValue::from_static("Origin"));
}

/// Disables Nagle's algorithm: a part held back until the client acknowledges the previous one
/// makes an answer forty milliseconds late.
fn without_delay(stream: TcpStream) -> TcpStream {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the answers of a connection may be held back");
    }
    stream
}

/// Serves one connection to its end, or until another one needs its place.
async fn converse(
    stream: TcpStream,
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
    // The head timeout also covers the wait for a next request.
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
            // The preflight request of a browser, which carries no token.
            "/mcp" if request.method() == Method::OPTIONS => plain(StatusCode::NO_CONTENT, ""),
            "/mcp" => match self.access.admit(request.headers()) {
                Ok(()) => match whole(request, limit).await {
                    Ok(request) => {
                        let answering = slot.answering();
                        until_heard(self.tools.answer(request).await, answering)
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
            _ => plain(StatusCode::NOT_FOUND, "there is only /mcp and /health\n"),
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
        plain(refused.status, &format!("{}\n", refused.reason))
    }
}

#[cfg(test)]
mod tests;
