//! Many clients, some hostile.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::json;

use super::served::{Server, initialize};
use crate::support::shop;

/// More half requests than the server accepts connections.
#[test]
fn half_requests_keep_nobody_out() {
    let sandbox = shop();
    let server = Server::start(&sandbox, "");
    let session = server.session();
    let halves = [
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{",
    ];
    let open: Vec<TcpStream> = (0..520)
        .zip(halves.iter().cycle())
        .map(|(_, half)| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
            stream.write_all(half.as_bytes()).unwrap_or_default();
            stream
        })
        .collect();
    assert_eq!(server.ask("GET /health", &[], "").0, 200);
    let list = session.ask("tools/list", &json!({}));
    assert_eq!(list["tools"][0]["name"], "connection_list");
    drop(open);
}

/// The session of an active client stays.
#[test]
fn sessions_that_are_left_behind_keep_nobody_out() {
    let sandbox = shop();
    let server = Server::start(&sandbox, "");
    let session = server.session();
    let call = json!({ "name": "connection_list", "arguments": {} });
    let answer = session.ask("tools/call", &call);
    let left = server.session();
    for _ in 0..300 {
        let (status, answer) = server.post(&[], &initialize());
        assert_eq!(status, 200, "{answer}");
    }
    assert_eq!(session.ask("tools/call", &call), answer);
    assert_eq!(server.session().ask("tools/call", &call), answer);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let status = server
        .post(&[("Mcp-Session-Id", left.id.as_str())], &ping)
        .0;
    assert_eq!(status, 404);
}
