//! Clients that owe the rest of a request.

use std::sync::Arc;
use std::time::Duration;

use ktx_mcp_server::{Access, Bounds, HttpServer, ServedTools};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::context::Watched;

/// Returns the first line of the response.
#[expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
async fn heard(bounds: Bounds, sent: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let tools = ServedTools {
        context: Arc::new(Watched::default()),
        profile: ktx_context_tools::ToolProfile::Full,
        more: Vec::new(),
        only: None,
        renewal: None,
        observer: None,
        wrap: |tools| tools,
        version: "9.9.9",
    };
    let access = Access::new(&[], &[], None);
    let server = HttpServer::new(listener, access, "{}".to_owned(), tools, |_| {}, &shutdown);
    let served = tokio::spawn(server.within(bounds).serve(shutdown.clone()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap_or_default();
    shutdown.cancel();
    served.await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn half_a_head_is_not_waited_for() {
    let bounds = Bounds {
        head: SHORT,
        ..Bounds::default()
    };
    let half = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n";
    assert_eq!(heard(bounds, half).await, "");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let bounds = Bounds {
        head: SHORT,
        ..Bounds::default()
    };
    let whole = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(heard(bounds, whole).await, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn half_a_body_is_not_waited_for() {
    let bounds = Bounds {
        body: SHORT,
        ..Bounds::default()
    };
    let half = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{";
    assert_eq!(heard(bounds, half).await, "HTTP/1.1 408 Request Timeout");
}
