//! The same tools over Streamable HTTP: sessions, messages and their answers. Who may ask is decided
//! before a request comes here.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use crate::bridge::Bridge;
use crate::lazy::LazyTools;
use crate::serve::ServerIdentity;

/// The longest message in bytes, as on standard input.
const LONGEST: usize = 16 * 1024 * 1024;

/// Sessions at the same time. One that nobody uses ends after [`IDLE`].
const SESSIONS: usize = 256;

/// How long a session may be idle: an agent that is used again the next morning begins a new one.
const IDLE: Duration = Duration::from_hours(8);

/// An answer to a request.
pub type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

/// The tools as one HTTP resource.
#[derive(Clone)]
pub struct HttpTools {
    service: StreamableHttpService<Bridge, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
}

impl HttpTools {
    /// Serves these tools. `shutdown` ends all sessions and cancels the calls that run.
    pub fn new(tools: LazyTools, identity: ServerIdentity, shutdown: CancellationToken) -> Self {
        let bridge = Bridge::new(tools, identity);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(IDLE);
        let sessions = Arc::new(sessions);
        let config = StreamableHttpServerConfig::default()
            .with_cancellation_token(shutdown)
            .with_max_request_body_bytes(LONGEST)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let service =
            StreamableHttpService::new(move || Ok(bridge.clone()), Arc::clone(&sessions), config);
        Self { service, sessions }
    }

    /// Answers one request: a message, a stream to listen on, the end of a session.
    pub async fn answer(&self, request: Request<Incoming>) -> HttpAnswer {
        let begins = request.method() == Method::POST && session_of(request.headers()).is_none();
        if begins && self.sessions.sessions.read().await.len() >= SESSIONS {
            let text = "there are too many sessions; end one, or restart the server\n";
            return plain(StatusCode::SERVICE_UNAVAILABLE, text);
        }
        self.service.handle(request).await
    }
}

impl std::fmt::Debug for HttpTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpTools").finish_non_exhaustive()
    }
}

fn session_of(headers: &HeaderMap) -> Option<&http::HeaderValue> {
    headers.get("mcp-session-id")
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
