//! The tools over Streamable HTTP. Access is checked before a request arrives here.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Collected, Full};
use hyper::body::{Body, Bytes};
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::bridge::Bridge;
use crate::heard::until_heard;
use crate::serve::{Offer, ServerIdentity};
use crate::sessions::{Doing, Sessions};
use crate::streams::{SessionTable, reads_on};

/// Maximum length of a message in bytes, as on standard input.
const LONGEST: usize = 16 * 1024 * 1024;

/// A connection whose other end is gone without a word is held no longer.
const LONGEST_STREAM: Duration = Duration::from_mins(5);

/// For an unknown session, as in the official servers.
const NO_SESSION: i32 = -32001;

/// For errors that belong to no message.
const REFUSED: i32 = -32000;

pub type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

#[derive(Clone)]
pub struct HttpTools {
    service: StreamableHttpService<Bridge, SessionTable>,
    sessions: Sessions,
}

impl HttpTools {
    /// `shutdown` ends all sessions and cancels running calls.
    pub fn new(offer: Offer, identity: ServerIdentity, shutdown: CancellationToken) -> Self {
        Self::polled(offer, identity, LONGEST_STREAM, shutdown)
    }

    /// Ends a connection that has carried an unfinished answer for as long as `longest`; clients
    /// that read on by themselves then do so.
    pub fn polled(
        offer: Offer,
        identity: ServerIdentity,
        longest: Duration,
        shutdown: CancellationToken,
    ) -> Self {
        let bridge = Bridge::new(offer, identity, CancellationToken::new());
        let manager = Arc::new(SessionTable::new(longest));
        let sessions = Sessions::new(Arc::clone(&manager));
        // The streams say themselves where to read on.
        let config = StreamableHttpServerConfig::default()
            .with_sse_retry(None)
            .with_cancellation_token(shutdown)
            .with_max_request_body_bytes(LONGEST)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let service = StreamableHttpService::new(move || Ok(bridge.for_another()), manager, config);
        Self { service, sessions }
    }

    /// A client that leaves before it has its answer, and does not soon read on, cancels the call.
    pub async fn answer<B>(&self, mut request: Request<B>) -> HttpAnswer
    where
        B: Body + Send + 'static,
        B::Error: std::fmt::Display,
    {
        let id = session_of(request.headers());
        let doing = match *request.method() {
            Method::GET if !reads_on_answer(request.headers()) => Doing::Listens,
            _ => Doing::Asks,
        };
        match &id {
            Some(id) if request.method() == Method::DELETE => self.sessions.end(id),
            None if request.method() == Method::POST && !self.sessions.make_room() => {
                let text = "there are too many sessions; end one, or restart the server";
                return refusal(StatusCode::SERVICE_UNAVAILABLE, text);
            }
            _ => {}
        }
        let visit = self.sessions.visit(id.as_deref(), doing);
        request.extensions_mut().insert(visit.caller());
        let answer = in_protocol(self.service.handle(request).await).await;
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

fn reads_on_answer(headers: &HeaderMap) -> bool {
    let event = headers.get("last-event-id");
    let event = event.and_then(|event| event.to_str().ok());
    event.is_some_and(reads_on)
}

fn session_of(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("mcp-session-id")?;
    Some(id.to_str().ok()?.to_owned())
}

async fn in_protocol(answer: HttpAnswer) -> HttpAnswer {
    let is_json = |value: &HeaderValue| value.as_bytes().starts_with(b"application/json");
    let kind = answer.headers().get(CONTENT_TYPE);
    if !answer.status().is_client_error() || kind.is_some_and(is_json) {
        return answer;
    }
    let (mut head, body) = answer.into_parts();
    let text = body.collect().await.map(Collected::to_bytes);
    let text = text.unwrap_or_default();
    let refused = refusal(head.status, String::from_utf8_lossy(&text).trim());
    let (kind, body) = refused.into_parts();
    head.headers.extend(kind.headers);
    Response::from_parts(head, body)
}

/// Returns a JSON-RPC error, whose message clients show.
pub fn refusal(status: StatusCode, text: &str) -> HttpAnswer {
    let code = match status {
        StatusCode::BAD_REQUEST => ErrorCode::INVALID_REQUEST.0,
        StatusCode::NOT_FOUND => NO_SESSION,
        _ => REFUSED,
    };
    let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": text } });
    let mut response = plain(status, &error.to_string());
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

pub fn plain(status: StatusCode, text: &str) -> HttpAnswer {
    let mut response = Response::new(Full::new(Bytes::from(text.to_owned())).boxed());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
