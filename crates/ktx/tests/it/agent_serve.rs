//! `ktx agent serve` over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop, streamed};
use crate::claude_cut_off::signal;
use crate::probes::configured;
use crate::support::{commit, json as json_of, write};

const HELPER: &str = "name: helper
instructions: {inline: Help.}
tools: [wiki_search]
permissions: {mode: approval, allow: []}
";

pub(crate) fn provider() -> Loopback {
    Loopback::start(|request: &Request, number| {
        let asked = request.json();
        let messages = asked["messages"].as_array().cloned().unwrap_or_default();
        let last = messages.last().map(Value::to_string).unwrap_or_default();
        let block = if last.contains("Search.") {
            json!({ "type": "tool_use", "id": format!("t{number}"), "name": "wiki_search", "input": { "query": "revenue" } })
        } else {
            json!({ "type": "text", "text": format!("Answer {}.", messages.len()) })
        };
        Answer::stream(streamed(number, &block))
    })
    .expect("a provider")
}

pub(crate) fn project(provider: &Loopback) -> Sandbox {
    let sandbox = configured(shop(CONFIG), provider, "");
    write(&sandbox, "agents/helper.yaml", HELPER);
    commit(&sandbox, "an agent");
    sandbox
}

pub(crate) struct Server {
    process: Child,
    port: u16,
    token: String,
}

impl Server {
    pub(crate) fn start(sandbox: &Sandbox, flags: &[&str]) -> Self {
        let words = ["agent", "serve", "--port", "0", "--json"];
        let mut command = sandbox.command(words.iter().chain(flags));
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = command.spawn().expect("it starts");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("its output");
        let mut stdout = BufReader::new(stdout);
        stdout.read_line(&mut line).expect("a line");
        let told: Value = serde_json::from_str(&line).expect("JSON");
        let port = told["url"].as_str().and_then(|url| url.rsplit(':').next());
        process.stdout = Some(stdout.into_inner());
        Self {
            process,
            port: port.and_then(|port| port.parse().ok()).expect("a port"),
            token: sandbox.read(".ktx/state/mcp.token").unwrap_or_default(),
        }
    }

    fn open(&self, line: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let given = |name: &str| headers.iter().any(|(other, _)| *other == name);
        let mut head = format!(
            "{line} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        if !given("Host") {
            head += "Host: localhost\r\n";
        }
        if !given("Authorization") {
            head.extend(["Authorization: Bearer ", &self.token, "\r\n"]);
        }
        for (name, value) in headers {
            head.extend([*name, ": ", *value, "\r\n"]);
        }
        stream
            .write_all(format!("{head}\r\n{body}").as_bytes())
            .expect("it reads");
        stream
    }

    pub(crate) fn ask(&self, line: &str, headers: &[(&str, &str)], body: &Value) -> (u16, Value) {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut answer = String::new();
        self.open(line, headers, &body)
            .read_to_string(&mut answer)
            .expect("UTF-8");
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (
            status.unwrap_or_default(),
            serde_json::from_str(body).unwrap_or_default(),
        )
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask(&format!("POST {path}"), &[], body)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.ask(&format!("GET {path}"), &[], &Value::Null)
    }

    /// Reads until an event of this type; pairs events with ids.
    pub(crate) fn events_until(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        last: &str,
    ) -> Vec<(u64, Value)> {
        let stream = self.open(&format!("GET {path}"), headers, "");
        let mut id = 0;
        let mut events = Vec::new();
        for line in BufReader::new(stream).lines() {
            let line = line.expect("UTF-8");
            if let Some(number) = line.strip_prefix("id: ") {
                id = number.parse().expect("a number");
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let event: Value = serde_json::from_str(data).expect("JSON");
                let is_last = event["event"]["type"] == last;
                events.push((id, event));
                if is_last {
                    return events;
                }
            }
        }
        panic!("the stream ended before `{last}`: {events:?}");
    }

    pub(crate) fn settled(&self, session: &str) -> String {
        loop {
            let (_, shown) = self.get(&format!("/v1/sessions/{session}"));
            let state = shown["state"].as_str().expect("a state");
            if !["running", "waiting"].contains(&state) {
                return state.to_owned();
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    fn end(mut self) -> Value {
        signal(&self.process, "-TERM");
        let mut rest = String::new();
        let stdout = self.process.stdout.as_mut().expect("its output");
        stdout.read_to_string(&mut rest).expect("UTF-8");
        assert!(self.process.wait().expect("it ends").success());
        serde_json::from_str(&rest).expect("JSON")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap_or_default();
        drop(self.process.wait());
    }
}

fn kinds(events: &[(u64, Value)]) -> Vec<&str> {
    let kinds = events
        .iter()
        .map(|(_, event)| event["event"]["type"].as_str());
    kinds.map(Option::unwrap_or_default).collect()
}

/// KODE-44, KODE-55, KODE-70.
#[test]
fn a_session_over_http() {
    let provider = provider();
    let sandbox = project(&provider);
    let server = Server::start(&sandbox, &[]);
    let (status, created) = server.post(
        "/v1/sessions",
        &json!({ "agent": "helper", "id": "talk", "message": "Hello?" }),
    );
    assert_eq!(status, 201, "{created}");
    assert_eq!(created["session"], "talk");
    assert_eq!(created["turn"], 1);
    let events = server.events_until("/v1/sessions/talk/events", &[], "done");
    assert_eq!(
        kinds(&events),
        ["text_chunk_start", "text_chunk", "text_chunk_end", "done"]
    );
    let first = events.first().expect("an event").0.to_string();
    let rest = server.events_until(
        "/v1/sessions/talk/events",
        &[("Last-Event-ID", &first)],
        "done",
    );
    assert_eq!(rest, events.get(1..).expect("more").to_vec());
    let since = server.events_until(
        &format!("/v1/sessions/talk/events?since={first}&channels=progress,monitor"),
        &[],
        "done",
    );
    assert!(kinds(&since).contains(&"token_usage"));
    assert_eq!(server.settled("talk"), "ready");
    let (status, resumed) = server.post("/v1/sessions", &json!({ "id": "talk" }));
    assert_eq!((status, &resumed["state"]), (200, &json!("ready")));
    let (status, shown) = server.get("/v1/sessions/talk");
    assert_eq!(
        (status, shown["messages"].as_array().map(Vec::len)),
        (200, Some(2))
    );
    assert_eq!(
        server.ask("DELETE /v1/sessions/talk", &[], &Value::Null).0,
        204
    );
    let (_, listed) = server.get("/v1/sessions");
    assert_eq!(listed["data"]["items"], json!([]));
    let ended = server.end();
    assert_eq!(ended["ended"]["failed"], 0);
}

/// KODE-70.
#[test]
fn a_key_sends_once() {
    let provider = provider();
    let sandbox = project(&provider);
    let server = Server::start(&sandbox, &[]);
    server.post("/v1/sessions", &json!({ "agent": "helper", "id": "talk" }));
    let send = |key: &str, text: &str| {
        let line = "POST /v1/sessions/talk/messages";
        server.ask(line, &[("Idempotency-Key", key)], &json!({ "text": text }))
    };
    let first = send("a", "Hello?");
    assert_eq!((first.0, &first.1["turn"]), (202, &json!(1)));
    server.events_until("/v1/sessions/talk/events", &[], "done");
    assert_eq!(send("a", "Hello?"), first);
    let (status, refused) = send("a", "Goodbye.");
    assert_eq!(status, 409);
    insta::assert_snapshot!(refused, @r#"{"error":{"code":"key_used","message":"another message was sent with this key","hint":"use another `Idempotency-Key`"}}"#);
    assert_eq!(provider.requests().len(), 1);
    let shown = json_of(&sandbox, "agent sessions show talk --json");
    assert_eq!(shown["messages"].as_array().map(Vec::len), Some(2));
}

/// KODE-62, KODE-70.
#[test]
fn a_decision_continues_a_parked_turn() {
    let provider = provider();
    let sandbox = project(&provider);
    let server = Server::start(&sandbox, &[]);
    server.post(
        "/v1/sessions",
        &json!({ "agent": "helper", "id": "talk", "message": "Search." }),
    );
    let events = server.events_until(
        "/v1/sessions/talk/events?channels=progress,control",
        &[],
        "done",
    );
    assert_eq!(
        kinds(&events),
        ["tool:start", "permission_required", "done"]
    );
    let (_, waiting) = server.get("/v1/approvals");
    assert_eq!(waiting["data"]["items"][0]["call"], "call-1");
    let last = events.last().expect("an event").0;
    let (status, decided) = server.post(
        "/v1/sessions/talk/approvals/call-1",
        &json!({ "decision": "allow" }),
    );
    assert_eq!(status, 200, "{decided}");
    let rest = server.events_until(
        &format!("/v1/sessions/talk/events?since={last}"),
        &[],
        "done",
    );
    assert_eq!(
        kinds(&rest),
        [
            "tool:end",
            "text_chunk_start",
            "text_chunk",
            "text_chunk_end",
            "done"
        ]
    );
    let (status, again) = server.post(
        "/v1/sessions/talk/approvals/call-1",
        &json!({ "decision": "deny" }),
    );
    assert_eq!(status, 409);
    insta::assert_snapshot!(again, @r#"{"error":{"code":"already_decided","message":"`call-1` was allowed before, by a client of the server"}}"#);
}

/// KODE-70: an ending server accepts nothing new.
#[test]
fn a_full_pool_refuses() {
    let provider = provider();
    let sandbox = project(&provider);
    let server = Server::start(&sandbox, &["--max-agents", "2"]);
    let create = |id: &str| server.post("/v1/sessions", &json!({ "agent": "helper", "id": id }));
    assert_eq!(create("one").0, 201);
    assert_eq!(create("two").0, 201);
    let (status, full) = create("three");
    assert_eq!(status, 503);
    insta::assert_snapshot!(full, @r#"{"error":{"code":"pool_full","message":"the server has its 2 sessions","hint":"delete a session, or start the server with a larger `--max-agents`"}}"#);
    assert_eq!(
        server.ask("DELETE /v1/sessions/one", &[], &Value::Null).0,
        204
    );
    assert_eq!(create("three").0, 201);
}

#[test]
fn bad_requests_are_told() {
    let provider = provider();
    let sandbox = project(&provider);
    let server = Server::start(&sandbox, &[]);
    server.post("/v1/sessions", &json!({ "agent": "helper", "id": "talk" }));
    let long = "x".repeat(10_001);
    let requests = [
        ("GET /v1/sessions/nope", Value::Null),
        ("GET /v1/sessions/..%2F..%2Fetc", Value::Null),
        ("GET /v1/sessions/talk/events?since=99", Value::Null),
        ("GET /v1/sessions/talk/events?since=x", Value::Null),
        ("GET /v1/sessions/talk/events?channels=gossip", Value::Null),
        ("GET /v1/other", Value::Null),
        ("PUT /v1/sessions", Value::Null),
        ("POST /v1/sessions", json!({ "agent": "halper" })),
        (
            "POST /v1/sessions",
            json!({ "agent": "other", "id": "talk" }),
        ),
        ("POST /v1/sessions", json!({ "id": "../x" })),
        ("POST /v1/sessions", json!({ "name": "x" })),
        ("POST /v1/sessions/talk/messages", json!({ "text": " " })),
        ("POST /v1/sessions/talk/messages", json!({ "text": long })),
        ("POST /v1/sessions/talk/messages", json!([])),
        (
            "POST /v1/sessions/talk/approvals/call-9",
            json!({ "decision": "allow" }),
        ),
        ("POST /v1/sessions/talk/fork", json!({ "at": 7 })),
    ];
    let told = requests.iter().map(|(line, body)| {
        let (status, answer) = server.ask(line, &[], body);
        let answer = answer["error"].to_string();
        format!("{line}: {status} {answer}")
    });
    insta::assert_snapshot!(told.collect::<Vec<String>>().join("\n"), @r#"
    GET /v1/sessions/nope: 404 {"code":"session_not_found","message":"there is no session `nope`","hint":"run `ktx agent sessions list` to see all"}
    GET /v1/sessions/..%2F..%2Fetc: 400 {"code":"invalid_session","message":"`..%2F..%2Fetc` is not a session id: use at most 64 lower-case letters, digits and `-`; the first is not `-`"}
    GET /v1/sessions/talk/events?since=99: 400 {"code":"invalid_cursor","message":"the session ends with record 1; there is nothing after record 99"}
    GET /v1/sessions/talk/events?since=x: 400 {"code":"invalid_cursor","message":"`since` is `x`, which is not the cursor of an event"}
    GET /v1/sessions/talk/events?channels=gossip: 400 {"code":"usage","message":"`gossip` is not a channel","hint":"use `progress`, `control` and `monitor`, separated by commas"}
    GET /v1/other: 404 {"code":"usage","message":"there is nothing at `/v1/other`"}
    PUT /v1/sessions: 405 {"code":"usage","message":"`PUT` is not possible here; use GET or POST"}
    POST /v1/sessions: 404 {"code":"agent_not_found","message":"there is no agent or file `halper`","hint":"did you mean `helper`?"}
    POST /v1/sessions: 409 {"code":"template_version_mismatch","message":"the session `talk` is of the agent `helper`","hint":"leave `agent` out, or use another id"}
    POST /v1/sessions: 400 {"code":"usage","message":"the body of the request cannot be read: `../x` is not a session id: use at most 64 lower-case letters, digits and `-`; the first is not `-` at line 1 column 13"}
    POST /v1/sessions: 400 {"code":"usage","message":"the body of the request cannot be read: unknown field `name`, expected one of `agent`, `id`, `message` at line 1 column 7"}
    POST /v1/sessions/talk/messages: 400 {"code":"message","message":"the message is empty"}
    POST /v1/sessions/talk/messages: 400 {"code":"message","message":"the message has 10001 characters, at most 10000 are taken"}
    POST /v1/sessions/talk/messages: 400 {"code":"usage","message":"the body of the request cannot be read: invalid length 0, expected struct NewMessage with 1 element at line 1 column 2"}
    POST /v1/sessions/talk/approvals/call-9: 404 {"code":"no_waiting_call","message":"no call `call-9` of the session `talk` waits for a decision","hint":"run `ktx agent approvals` to see what waits"}
    POST /v1/sessions/talk/fork: 400 {"code":"no_fork_point","message":"a copy cannot begin after record 7; the conversation is empty"}
    "#);
    let strange = [
        server.ask(
            "GET /v1/sessions",
            &[("Authorization", "Bearer wrong")],
            &Value::Null,
        ),
        server.ask(
            "GET /v1/sessions",
            &[("Host", "evil.example")],
            &Value::Null,
        ),
        server.ask(
            "GET /v1/sessions",
            &[("Origin", "http://evil.example")],
            &Value::Null,
        ),
    ];
    let told: Vec<String> = strange
        .iter()
        .map(|(status, answer)| format!("{status} {answer}"))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    401 {"error":{"code":"not_admitted","message":"the bearer token is missing or wrong"}}
    403 {"error":{"code":"not_admitted","message":"the Host header names a host that is not allowed; see `--allowed-host`"}}
    403 {"error":{"code":"not_admitted","message":"the Origin header names an origin that is not allowed; see `--allowed-origin`"}}
    "#);
}
