//! HTTP answers: JSON, and failures with their status.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use ktx_diagnostics::{Code, Failure};
use ktx_mcp_server::HttpAnswer;
use serde_json::{Value, json};

pub(crate) fn json_answer(status: StatusCode, value: &Value) -> HttpAnswer {
    let mut answer = Response::new(Full::new(Bytes::from(value.to_string())).boxed());
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

pub(crate) fn empty(status: StatusCode) -> HttpAnswer {
    let mut answer = Response::new(Full::new(Bytes::new()).boxed());
    *answer.status_mut() = status;
    answer
}

pub(crate) fn failed(failure: &Failure) -> HttpAnswer {
    refused(status_of(failure.code), failure)
}

pub(crate) fn refused(status: StatusCode, failure: &Failure) -> HttpAnswer {
    let mut error = json!({ "code": failure.code, "message": failure.message });
    if let Some(hint) = failure.hints.first() {
        error["hint"] = json!(hint.as_str());
    }
    json_answer(status, &json!({ "error": error }))
}

pub(crate) const fn status_of(code: Code) -> StatusCode {
    match code {
        Code::SessionNotFound | Code::AgentNotFound | Code::NoWaitingCall => StatusCode::NOT_FOUND,
        Code::InvalidSession
        | Code::AmbiguousSession
        | Code::Message
        | Code::Usage
        | Code::InvalidCursor
        | Code::NoForkPoint => StatusCode::BAD_REQUEST,
        Code::SessionExists
        | Code::SessionBusy
        | Code::SessionFull
        | Code::AlreadyDecided
        | Code::AgentChanged
        | Code::ApprovalPending
        | Code::KeyUsed => StatusCode::CONFLICT,
        Code::PoolFull | Code::ServerEnding => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
