//! The SSE transport around an `rmcp` session.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use rmcp::ServiceExt as _;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, WriteHalf};

use super::tools::Tools;

#[derive(Debug, Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<BTreeMap<String, Writer>>>);

type Writer = Arc<tokio::sync::Mutex<WriteHalf<DuplexStream>>>;

type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

pub(super) async fn answer(request: Request<Incoming>, sessions: &Sessions) -> HttpResponse {
    let path = request.uri().path().to_owned();
    match (request.method(), path.as_str()) {
        (&Method::GET, "/sse") => opened(sessions),
        (&Method::POST, path) => {
            let known = {
                let sessions = sessions.0.lock().unwrap_or_else(PoisonError::into_inner);
                sessions.get(path).cloned()
            };
            let Some(writer) = known else {
                return plain(StatusCode::NOT_FOUND);
            };
            let Ok(body) = request.into_body().collect().await else {
                return plain(StatusCode::BAD_REQUEST);
            };
            let mut line = body.to_bytes().to_vec();
            line.push(b'\n');
            match writer.lock().await.write_all(&line).await {
                Ok(()) => plain(StatusCode::ACCEPTED),
                Err(_) => plain(StatusCode::GONE),
            }
        }
        _ => plain(StatusCode::NOT_FOUND),
    }
}

fn opened(sessions: &Sessions) -> HttpResponse {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(ours);
    let path = {
        let mut sessions = sessions.0.lock().unwrap_or_else(PoisonError::into_inner);
        let path = format!("/messages/{}", sessions.len());
        sessions.insert(path.clone(), Arc::new(tokio::sync::Mutex::new(writer)));
        path
    };
    tokio::spawn(async move {
        if let Ok(session) = Tools::default().serve(tokio::io::split(theirs)).await {
            drop(session.waiting().await);
        }
    });
    let first = format!("event: endpoint\ndata: {path}\n\n");
    let lines = BufReader::new(reader).lines();
    let events = futures_util::stream::unfold((Some(first), lines), |(first, mut lines)| async {
        let event = match first {
            Some(first) => first,
            None => format!(
                "event: message\ndata: {}\n\n",
                lines.next_line().await.ok()??
            ),
        };
        let frame = Ok::<_, Infallible>(Frame::data(Bytes::from(event)));
        Some((frame, (None, lines)))
    });
    let mut response = Response::new(StreamBody::new(events).boxed());
    let kind = hyper::header::HeaderValue::from_static("text/event-stream");
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, kind);
    response
}

fn plain(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(Full::new(Bytes::new()).boxed());
    *response.status_mut() = status;
    response
}
