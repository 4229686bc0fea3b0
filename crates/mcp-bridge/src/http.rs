//! The same tools over Streamable HTTP: sessions, messages and their answers. Access is checked
//! before a request arrives here.

use std::convert::Infallible;
use std::sync::Arc;

use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use crate::bridge::Bridge;
use crate::heard::until_heard;
use crate::lazy::LazyTools;
use crate::serve::ServerIdentity;
use crate::sessions::{Doing, IDLE, Sessions};

/// The longest message in bytes, as on standard input.
const LONGEST: usize = 16 * 1024 * 1024;

/// An answer to a request.
pub type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

/// The tools as one HTTP resource.
#[derive(Clone)]
pub struct HttpTools {
    service: StreamableHttpService<Bridge, LocalSessionManager>,
    sessions: Sessions,
}

impl HttpTools {
    /// Serves these tools. `shutdown` ends all sessions and cancels running calls.
    pub fn new(tools: LazyTools, identity: ServerIdentity, shutdown: CancellationToken) -> Self {
        let bridge = Bridge::new(tools, identity, CancellationToken::new());
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(IDLE);
        let manager = Arc::new(manager);
        let sessions = Sessions::new(Arc::clone(&manager));
        let config = StreamableHttpServerConfig::default()
            .with_cancellation_token(shutdown)
            .with_max_request_body_bytes(LONGEST)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let service = StreamableHttpService::new(move || Ok(bridge.clone()), manager, config);
        Self { service, sessions }
    }

    /// Answers one request: a message, a stream to listen on, the end of a session. A client that
    /// leaves before it has its answer cancels the call.
    pub async fn answer<B>(&self, mut request: Request<B>) -> HttpAnswer
    where
        B: Body + Send + 'static,
        B::Error: std::fmt::Display,
    {
        let id = session_of(request.headers());
        let doing = if request.method() == Method::GET {
            Doing::Listens
        } else {
            Doing::Asks
        };
        match &id {
            Some(id) if request.method() == Method::DELETE => self.sessions.end(id),
            None if request.method() == Method::POST && !self.sessions.make_room().await => {
                let text = "there are too many sessions; end one, or restart the server\n";
                return plain(StatusCode::SERVICE_UNAVAILABLE, text);
            }
            _ => {}
        }
        let visit = self.sessions.visit(id.as_deref(), doing);
        request.extensions_mut().insert(visit.caller());
        let answer = self.service.handle(request).await;
        if id.is_none()
            && let Some(begun) = session_of(answer.headers())
        {
            self.sessions.began(&begun);
        }
        until_heard(answer, visit)
    }
}

impl std::fmt::Debug for HttpTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpTools").finish_non_exhaustive()
    }
}

fn session_of(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("mcp-session-id")?;
    Some(id.to_str().ok()?.to_owned())
}

/// An answer in plain text.
pub fn plain(status: StatusCode, text: &str) -> HttpAnswer {
    let mut response = Response::new(Full::new(Bytes::from(text.to_owned())).boxed());
    *response.status_mut() = status;
    let kind = http::HeaderValue::from_static("text/plain; charset=utf-8");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, kind);
    response
}
