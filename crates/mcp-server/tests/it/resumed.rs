//! Answers whose connection is cut: the client reads on, and nothing is lost or comes twice.

use std::time::Duration;

use ktx_mcp_bridge::{HttpTools, ServerIdentity};
use ktx_mcp_server::{Access, HttpServer};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::fixture::offer;

/// A server whose connections carry an unfinished answer for as long as `longest`.
struct Fixture {
    port: u16,
    shutdown: CancellationToken,
    session: String,
}

type Events = Vec<(String, String)>;

#[expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
impl Fixture {
    async fn start(longest: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shutdown = CancellationToken::new();
        let identity = ServerIdentity {
            name: "fixture".to_owned(),
            title: "Fixture".to_owned(),
            version: "1.0.0".to_owned(),
            instructions: String::new(),
        };
        let tools = HttpTools::polled(offer(), identity, longest, shutdown.child_token());
        let access = Access::new(&[], &[], None);
        let server = HttpServer::serving(listener, access, "{}".to_owned(), tools, |_| {});
        drop(tokio::spawn(server.serve(shutdown.clone())));
        let mut fixture = Self {
            port,
            shutdown,
            session: String::new(),
        };
        let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        }});
        let mut stream = fixture.send("POST", &begin.to_string(), "").await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let lines = answer.lines();
        let mut id = lines.filter_map(|line| line.strip_prefix("mcp-session-id: "));
        fixture.session = id.next_back().unwrap().to_owned();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        fixture.send("POST", &ready.to_string(), "").await;
        fixture
    }

    async fn send(&self, method: &str, body: &str, more: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let session = match self.session.as_str() {
            "" => String::new(),
            id => format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n"),
        };
        let head = format!(
            "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n\
             Content-Length: {}\r\n{session}{more}\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        BufReader::new(stream)
    }

    async fn call(&self, id: u64) -> BufReader<TcpStream> {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "test_tool_with_progress", "arguments": {}, "_meta": { "progressToken": id },
        }});
        self.send("POST", &call.to_string(), "").await
    }

    async fn read_on(&self, after: &str) -> BufReader<TcpStream> {
        self.send("GET", "", &format!("Last-Event-ID: {after}\r\n"))
            .await
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// At most `most` events, each as its id and its data.
async fn events(stream: &mut BufReader<TcpStream>, most: usize) -> Events {
    let mut events = Events::new();
    let (mut event, mut line) = ((String::new(), String::new()), String::new());
    while events.len() < most {
        line.clear();
        if stream.read_line(&mut line).await.unwrap_or_default() == 0 {
            break;
        }
        if let Some(text) = line.strip_prefix("id:") {
            text.trim().clone_into(&mut event.0);
        } else if let Some(text) = line.strip_prefix("data:") {
            text.trim().clone_into(&mut event.1);
        } else if line.trim().is_empty() && !event.0.is_empty() {
            events.push(std::mem::take(&mut event));
        }
    }
    events
}

/// The numbers of the steps, and the word of the answer.
fn said(events: &Events) -> Vec<Value> {
    let said = events.iter().filter(|(_, data)| !data.is_empty());
    said.map(|(_, data)| {
        let message: Value = serde_json::from_str(data).unwrap_or_default();
        let step = message.pointer("/params/progress").cloned();
        let word = message.pointer("/result/content/0/text").cloned();
        step.or(word).unwrap_or(message)
    })
    .collect()
}

const LONG: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_cut_anywhere_is_read_on_without_a_gap_or_a_repetition() {
    let fixture = Fixture::start(LONG).await;
    let whole = [json!(0.0), json!(0.5), json!(1.0), json!("done")];
    for (id, cut) in (1..).zip(1..=5_usize) {
        let mut stream = fixture.call(id).await;
        let mut heard = events(&mut stream, cut).await;
        assert_eq!(heard.len(), cut, "{heard:?}");
        drop(stream);
        let last = heard.last().map(|(id, _)| id.clone()).unwrap_or_default();
        let mut stream = fixture.read_on(&last).await;
        heard.extend(events(&mut stream, 100).await);
        assert_eq!(said(&heard), whole, "cut after {cut}: {heard:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_several_cut_answers_is_read_on() {
    let fixture = Fixture::start(LONG).await;
    let mut cut = Vec::new();
    for id in 1..=4 {
        let mut stream = fixture.call(id).await;
        let heard = events(&mut stream, 2).await;
        cut.push(heard);
    }
    for mut heard in cut {
        let last = heard.last().map(|(id, _)| id.clone()).unwrap_or_default();
        let mut stream = fixture.read_on(&last).await;
        heard.extend(events(&mut stream, 100).await);
        let whole = [json!(0.0), json!(0.5), json!(1.0), json!("done")];
        assert_eq!(said(&heard), whole, "{heard:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_ends_a_connection_and_the_client_polls() {
    let fixture = Fixture::start(Duration::from_millis(1)).await;
    let mut heard = Events::new();
    let mut stream = fixture.call(1).await;
    for _ in 0..1_000 {
        let before = heard.len();
        heard.extend(events(&mut stream, 100).await);
        // Where to read on is said first and, if the connection ended early, last.
        assert!(heard.get(before).is_some_and(|(_, data)| data.is_empty()));
        if said(&heard).contains(&json!("done")) {
            break;
        }
        let last = heard.last().map(|(id, _)| id.clone()).unwrap_or_default();
        stream = fixture.read_on(&last).await;
    }
    let whole = [json!(0.0), json!(0.5), json!(1.0), json!("done")];
    assert_eq!(said(&heard), whole, "{heard:?}");
}

/// Of another session, from before the server began, or of no stream at all.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_event_has_no_rest() {
    let fixture = Fixture::start(LONG).await;
    drop(events(&mut fixture.call(1).await, 100).await);
    let mut other = Fixture::start(LONG).await;
    for place in ["1-1", "9-0", "1-99", "0", "x", "-", "1/1"] {
        let mut stream = other.read_on(place).await;
        assert_eq!(events(&mut stream, 1).await, Events::new(), "{place}");
    }
    other.session.clone_from(&fixture.session);
    let mut stream = other.read_on("1-1").await;
    assert_eq!(events(&mut stream, 1).await, Events::new());
}
