//! An HTTP server with clients.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::support::{json as json_of, run};

pub(super) struct Server<'a> {
    sandbox: &'a Sandbox,
    pub(super) port: u16,
    pub(super) process: u32,
}

impl<'a> Server<'a> {
    pub(super) fn start(sandbox: &'a Sandbox, flags: &str) -> Self {
        let started = run(sandbox, &format!("mcp start --port 0 {flags}"));
        assert_eq!(started.code, Some(0), "{started}");
        Self::of(sandbox)
    }

    pub(super) fn of(sandbox: &'a Sandbox) -> Self {
        let status = json_of(sandbox, "mcp status --json");
        assert_eq!(status["data"]["state"], json!("running"), "{status:#}");
        let number = |key: &str| status["data"][key].as_u64().expect("a number");
        Self {
            sandbox,
            port: u16::try_from(number("port")).expect("a port"),
            process: u32::try_from(number("pid")).expect("a process"),
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    pub(super) fn ask(&self, line: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let named = headers.iter().any(|(name, _)| *name == "Host");
        let host = (!named).then_some(("Host", "localhost"));
        let length = body.len().to_string();
        let token = self.shown(headers);
        let shown = token.as_deref().map(|token| ("Authorization", token));
        let all = headers.iter().copied().chain(host).chain(shown);
        let all = all.chain([("Connection", "close"), ("Content-Length", &length)]);
        let lines: Vec<String> = all
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let head = format!("{line} HTTP/1.1\r\n{}\r\n", lines.concat());
        stream.write_all(head.as_bytes()).expect("it reads");
        // A server can refuse a long body without reading it.
        stream.write_all(body.as_bytes()).unwrap_or_default();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap_or_default();
        let answer = String::from_utf8(answer).expect("UTF-8");
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        (status.unwrap_or_default(), answer)
    }

    /// Status with the project's token and these headers.
    fn shown(&self, headers: &[(&str, &str)]) -> Option<String> {
        let is_shown = headers.iter().any(|(name, _)| *name == "Authorization");
        let token = self.sandbox.read(".ktx/state/mcp.token").ok()?;
        (!is_shown).then(|| format!("Bearer {token}"))
    }

    pub(super) fn send(&self, session: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let body = body.to_string();
        let token = self.shown(&[]).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Authorization: {token}\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: {session}\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        stream.write_all(body.as_bytes()).expect("it reads");
        stream
    }

    pub(super) fn post(&self, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
        let mut all = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        all.extend(headers);
        self.ask("POST /mcp", &all, &body.to_string())
    }

    pub(super) fn session(&self) -> Session<'_> {
        self.session_of(&initialize())
    }

    /// The client negotiates how to read on a cut answer.
    pub(super) fn resumable_session(&self) -> Session<'_> {
        let mut initialize = initialize();
        initialize["params"]["protocolVersion"] = json!("2025-11-25");
        self.session_of(&initialize)
    }

    fn session_of(&self, initialize: &Value) -> Session<'_> {
        let (status, answer) = self.post(&[], initialize);
        assert_eq!(status, 200, "{answer}");
        let id = answer
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "))
            .expect("a session")
            .trim()
            .to_owned();
        let session = Session { server: self, id };
        let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let header = [("Mcp-Session-Id", session.id.as_str())];
        assert_eq!(self.post(&header, &begun).0, 202);
        session
    }

    pub(super) fn told(&self, words: &str) -> String {
        let text = run(self.sandbox, words).to_string();
        let text = text.replace(&format!(":{}", self.port), ":[PORT]");
        let text = text.replace(&format!("process: {}", self.process), "process: [PROCESS]");
        let text = text.replace(&format!("process {}", self.process), "process [PROCESS]");
        let since = text.find(", since ").map(|at| at + ", since ".len());
        match since.and_then(|from| Some((from, from + text.get(from..)?.find('\n')?))) {
            Some((from, to)) => format!("{}[TIME]{}", &text[..from], &text[to..]),
            None => text,
        }
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        run(self.sandbox, "mcp stop");
    }
}

pub(super) struct Session<'a> {
    server: &'a Server<'a>,
    pub(super) id: String,
}

impl Session<'_> {
    pub(super) fn ask(&self, method: &str, params: &Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let header = [("Mcp-Session-Id", self.id.as_str())];
        let (status, answer) = self.server.post(&header, &request);
        assert_eq!(status, 200, "{answer}");
        let data = answer
            .lines()
            .filter_map(|line| line.strip_prefix("data: {"))
            .next_back()
            .expect("an answer");
        let mut message: Value = serde_json::from_str(&format!("{{{data}")).expect("JSON");
        message["result"].take()
    }
}

pub(super) fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" },
    }})
}
