//! The server that many agents reach over HTTP: `/mcp` is the tools, `/health` says that it lives.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, CONTENT_TYPE, HeaderMap, HeaderValue, ORIGIN, VARY,
    WWW_AUTHENTICATE,
};
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ktx_context_tools::ProjectContext;
use ktx_mcp_bridge::{HttpAnswer, HttpTools, plain};
use ktx_tool_descriptors::ToolDescriptor;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, Refused};
use crate::serve::{identity, tools};

/// Connections at the same time; further ones wait to be accepted.
const CONNECTIONS: usize = 512;

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(30);

/// How long answers have that are on their way when the server ends.
const LAST: Duration = Duration::from_secs(2);

/// Before the next try when no connection could be accepted: the machine has no room.
const NO_ROOM: Duration = Duration::from_millis(100);

/// What happened that a log may tell.
#[derive(Debug)]
pub enum HttpEvent {
    /// A request was refused, so many so far.
    Refused {
        /// The status that it got.
        status: u16,
        /// Why.
        reason: &'static str,
        /// How many requests were refused so far.
        count: u64,
    },
    /// A connection could not be accepted, so many so far.
    NotAccepted {
        /// Why.
        error: std::io::Error,
        /// How many could not be accepted so far.
        count: u64,
    },
}

/// A server for one project.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    face: Arc<Face>,
}

/// What answers requests.
struct Face {
    tools: HttpTools,
    access: Access,
    /// What `/health` says.
    health: String,
    refused: std::sync::atomic::AtomicU64,
    tell: Box<dyn Fn(&HttpEvent) + Send + Sync>,
}

impl std::fmt::Debug for Face {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Face")
            .field("access", &self.access)
            .field("health", &self.health)
            .finish_non_exhaustive()
    }
}

impl HttpServer {
    /// A server of the project's tools, and of `more` that take something in, for those whom `access` lets in.
    /// `health` is the JSON that `/health` gives to everybody who is let in at all. `shutdown` ends sessions
    /// and calls. Needs a running runtime.
    pub fn new(
        listener: TcpListener,
        access: Access,
        health: String,
        (context, more, version): (Arc<dyn ProjectContext>, Vec<ToolDescriptor>, &str),
        tell: impl Fn(&HttpEvent) + Send + Sync + 'static,
        shutdown: &CancellationToken,
    ) -> Self {
        let identity = identity(version, &more);
        let tools = HttpTools::new(tools(context, more), identity, shutdown.child_token());
        let face = Face {
            tools,
            access,
            health,
            refused: std::sync::atomic::AtomicU64::new(0),
            tell: Box::new(tell),
        };
        Self {
            listener,
            face: Arc::new(face),
        }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `shutdown` fires; then answers that are on their way have two seconds.
    pub async fn serve(self, shutdown: CancellationToken) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let mut connections = JoinSet::new();
        let mut not_accepted = 0;
        loop {
            while connections.try_join_next().is_some() {}
            // The semaphore is never closed; without a permit the connection would be served all the same.
            let accepted = async {
                let permit = Arc::clone(&room).acquire_owned().await.ok();
                (self.listener.accept().await, permit)
            };
            let accepted = accepted.with_cancellation_token(&shutdown).await;
            let Some((accepted, permit)) = accepted else {
                break;
            };
            match accepted {
                Ok((stream, _)) => {
                    let (face, shutdown) = (Arc::clone(&self.face), shutdown.clone());
                    connections.spawn(async move {
                        converse(stream, face, shutdown).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    not_accepted += 1;
                    let count = not_accepted;
                    (self.face.tell)(&HttpEvent::NotAccepted { error, count });
                    tokio::time::sleep(NO_ROOM).await;
                }
            }
        }
        drop(self.listener);
        let all = async { while connections.join_next().await.is_some() {} };
        // What is not through by then is cut off with the set.
        drop(tokio::time::timeout(LAST, all).await);
    }
}

/// Lets a browser show an answer to the page of an origin that is allowed.
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

/// One connection, to its end.
async fn converse(stream: TcpStream, face: Arc<Face>, shutdown: CancellationToken) {
    let service = service_fn(move |request| {
        let face = Arc::clone(&face);
        async move { Ok::<_, Infallible>(face.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection of an MCP client broke");
    }
}

impl Face {
    async fn answer(&self, request: Request<Incoming>) -> HttpAnswer {
        if let Err(refused) = self.access.look(request.uri(), request.headers()) {
            return self.refused(refused);
        }
        let page = request.headers().get(ORIGIN).cloned();
        let mut answer = self.answer_admitted(request).await;
        if let Some(page) = page {
            shown_to(page, answer.headers_mut());
        }
        answer
    }

    async fn answer_admitted(&self, request: Request<Incoming>) -> HttpAnswer {
        match request.uri().path() {
            // A browser asks so before it lets a page ask, without a token.
            "/mcp" if request.method() == Method::OPTIONS => plain(StatusCode::NO_CONTENT, ""),
            "/mcp" => match self.access.admit(request.headers()) {
                Ok(()) => self.tools.answer(request).await,
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
        (self.tell)(&HttpEvent::Refused {
            status: refused.status.as_u16(),
            reason: refused.reason,
            count,
        });
        plain(refused.status, &format!("{}\n", refused.reason))
    }
}
