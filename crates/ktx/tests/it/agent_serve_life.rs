//! `ktx agent serve` in the background and after a kill.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::streamed;
use crate::agent_serve::{Server, project, provider};
use crate::support::{json as json_of, run};

struct Background<'a>(&'a Sandbox);

impl Drop for Background<'_> {
    fn drop(&mut self) {
        run(self.0, "agent serve stop");
    }
}

/// KODE-70: it listens when the command returns.
#[test]
fn a_server_runs_in_the_background() {
    let provider = provider();
    let sandbox = project(&provider);
    check!(&sandbox, "agent serve status", @"
    exit 0
    stopped: no server runs; `ktx agent serve --background` starts one
    --- stderr
    Project: [SANDBOX]/work
    ");
    let ending = Background(&sandbox);
    let started = json_of(&sandbox, "agent serve --background --port 0 --json");
    let shown = json_of(&sandbox, "agent serve status --json");
    assert_eq!(shown["data"]["state"], "running", "{shown}");
    assert_eq!(shown["data"]["url"], started["url"]);
    assert_eq!(shown["data"]["pid"], started["pid"]);
    let second = run(&sandbox, "agent serve --background --port 0");
    assert_eq!(second.code, Some(1), "{second}");
    let pid = started["pid"].to_string();
    let told = second.stderr.replace(&pid, "[PID]");
    insta::assert_snapshot!(told, @"
    Project: [SANDBOX]/work
    error: a server already runs for this project (process [PID])

    hint: `ktx agent serve status` shows it, `ktx agent serve stop` ends it
    ");
    let stopped = run(&sandbox, "agent serve stop");
    assert_eq!(
        stopped.stdout.replace(&pid, "[PID]"),
        "stopped: process [PID]\n"
    );
    check!(&sandbox, "agent serve stop", @"
    exit 0
    stopped: no server runs
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "agent serve status", @"
    exit 0
    stopped: no server runs; `ktx agent serve --background` starts one
    --- stderr
    Project: [SANDBOX]/work
    ");
    drop(ending);
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let provider = provider();
    let sandbox = project(&provider);
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let told = run(&sandbox, &format!("agent serve --background --port {port}"));
    assert_eq!(told.code, Some(1), "{told}");
    insta::assert_snapshot!(told.stderr.replace(&port.to_string(), "[PORT]"), @"
    Project: [SANDBOX]/work
    error: cannot listen on 127.0.0.1:[PORT]
      caused by: Address already in use (os error 98)

    hint: choose another port with `--port`; 0 picks a free one
    hint: the server of another project may use it: `ktx --project-dir <folder> mcp status`
    hint: `ktx agent serve` without `--background` shows what it does
    ");
    check!(&sandbox, "agent serve status", @"
    exit 0
    stopped: no server runs; `ktx agent serve --background` starts one
    --- stderr
    Project: [SANDBOX]/work
    ");
}

/// KODE-55, KODE-70: the next server answers accepted messages.
#[test]
fn a_killed_server_leaves_its_promises() {
    let is_first = AtomicBool::new(true);
    let provider = Loopback::start(move |request: &Request, number| {
        let asked = request.json();
        if is_first.swap(false, Ordering::SeqCst) {
            std::thread::sleep(Duration::from_secs(20));
        }
        let messages = asked["messages"].as_array().map_or(0, Vec::len);
        let block = json!({ "type": "text", "text": format!("Answer {messages}.") });
        Answer::stream(streamed(number, &block))
    })
    .expect("a provider");
    let sandbox = project(&provider);
    let killed = Server::start(&sandbox, &[]);
    let begun = json!({ "agent": "helper", "id": "talk", "message": "Hello?" });
    let (status, begun) = killed.post("/v1/sessions", &begun);
    assert_eq!(status, 201, "{begun}");
    while provider.requests().is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(killed);
    let server = Server::start(&sandbox, &[]);
    let events = server.events_until("/v1/sessions/talk/events", &[], "done");
    let (_, last) = events.last().expect("an event");
    assert_eq!(last["event"]["reason"], "completed");
    let shown = json_of(&sandbox, "agent sessions show talk --json");
    assert_eq!(
        shown["messages"].as_array().map(Vec::len),
        Some(2),
        "{shown}"
    );
    assert_eq!(shown["state"], "ready");
}

/// KODE-55, KODE-70.
#[test]
fn a_key_begins_one_session() {
    let provider = provider();
    let sandbox = project(&provider);
    let server = Server::start(&sandbox, &[]);
    let begin = || {
        let body = json!({ "agent": "helper", "message": "Hello?" });
        let (status, answer) = server.ask("POST /v1/sessions", &[("Idempotency-Key", "a")], &body);
        (status, answer["session"].clone(), answer["turn"].clone())
    };
    let first = begin();
    assert_eq!(first.0, 201);
    let id = first.1.as_str().expect("an id").to_owned();
    assert_eq!(server.settled(&id), "ready");
    let second = begin();
    assert_eq!(second, (200, first.1, first.2));
    assert_eq!(server.settled(&id), "ready");
    assert_eq!(provider.requests().len(), 1);
    let all = json_of(&sandbox, "agent sessions list --json");
    assert_eq!(all["data"]["items"].as_array().map(Vec::len), Some(1));
    assert!(matches!(all["data"]["items"][0]["session"], Value::String(ref it) if *it == id));
}
