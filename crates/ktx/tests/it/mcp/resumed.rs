//! HTTP: protocol errors and resumed answers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use serde_json::json;

use super::served::{Server, initialize};
use crate::support::shop;

/// A page of the server's own address is allowed.
#[test]
fn refusals_over_http_are_json() {
    let sandbox = shop();
    let server = Server::start(&sandbox, "");
    let host = format!("localhost:{}", server.port);
    let shown = |(status, answer): (u16, String)| {
        let body = answer
            .split("\r\n\r\n")
            .nth(1)
            .unwrap_or_default()
            .trim()
            .to_owned();
        format!("{status} {body}\n")
    };
    let origin = |origin: &str| {
        let headers = [("Host", host.as_str()), ("Origin", origin)];
        server.post(&headers, &initialize()).0
    };
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let text = [
        shown(server.post(&[("Authorization", "Bearer wrong")], &ping)),
        shown(server.post(&[("Host", "evil.example")], &ping)),
        shown(server.post(&[("Origin", "http://evil.example")], &ping)),
        shown(server.post(&[], &ping)),
        shown(server.post(&[("Mcp-Session-Id", "nope")], &ping)),
        shown(server.ask("POST /mcp", &[("Accept", "text/html")], "{}")),
        shown(server.ask("PUT /mcp", &[], "{}")),
    ]
    .concat();
    insta::assert_snapshot!(&text, @r#"
    401 {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"the bearer token is missing or wrong"}}
    403 {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"the Host header names a host that is not allowed; see `--allowed-host`"}}
    403 {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"the Origin header names an origin that is not allowed; see `--allowed-origin`"}}
    400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Bad Request: Session ID is required"}}
    404 {"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Not Found: Session not found"}}
    406 {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Not Acceptable: Client must accept both application/json and text/event-stream"}}
    405 {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Method Not Allowed"}}
    "#);
    assert_eq!(origin(&format!("http://{host}")), 200);
    assert_eq!(origin("http://localhost:1"), 403);
    assert_eq!(origin("null"), 403);
}

#[test]
fn a_broken_answer_is_read_on() {
    let sandbox = shop();
    let server = Server::start(&sandbox, "");
    let session = server.resumable_session();
    let slow = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000) select count(*) as marked from n";
    let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
        "name": "sql_execution", "arguments": { "sql": slow },
    }});
    let stream = server.send(&session.id, &call);
    let mut lines = BufReader::new(stream.try_clone().expect("a socket"));
    let mut line = String::new();
    while !line.starts_with("id:") {
        line.clear();
        assert!(
            lines.read_line(&mut line).expect("it sends") > 0,
            "no event has an id"
        );
    }
    let last = line.trim_start_matches("id:").trim().to_owned();
    stream.shutdown(Shutdown::Both).expect("it is open");
    let mut again = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
    let token = sandbox.read(".ktx/state/mcp.token").expect("a token");
    write!(
        again,
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\
         Mcp-Session-Id: {}\r\nLast-Event-ID: {last}\r\nConnection: close\r\n\r\n",
        session.id
    )
    .expect("it reads");
    let mut rest = String::new();
    let mut reader = BufReader::new(&mut again);
    while !rest.contains("3000000") {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).expect("it sends") > 0, "{rest}");
        rest.push_str(&line);
    }
    assert!(rest.contains("\"id\":9"), "{rest}");
    drop(again.shutdown(Shutdown::Both));
    let mut tail = Vec::new();
    drop(again.read_to_end(&mut tail));
}
