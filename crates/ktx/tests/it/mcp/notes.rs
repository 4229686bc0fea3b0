//! `memory_ingest` and `memory_ingest_status`.

use serde_json::{Value, json};

use super::client::Client;
use crate::notes::{NOTE, captures, local};
use crate::support::{git, shop};

fn call(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    client.ask(
        "tools/call",
        json!({ "name": tool, "arguments": arguments }),
    )
}

fn hand_in(client: &mut Client, arguments: &Value) -> String {
    let answer = call(client, "memory_ingest", arguments);
    let id = answer["structuredContent"]["runId"].as_str();
    id.expect("a run").to_owned()
}

fn ended(client: &mut Client, run: &str) -> Value {
    loop {
        let answer = call(client, "memory_ingest_status", &json!({ "runId": run }));
        let status = answer["structuredContent"].clone();
        if status["done"] == json!(true) {
            return status;
        }
        assert_eq!(status["status"], "running", "{answer}");
        std::thread::yield_now();
    }
}

fn leaves(client: Client) {
    let (code, rest, _) = client.close();
    assert_eq!((code, &*rest), (Some(0), ""));
}

fn tools(client: &mut Client) -> Vec<String> {
    let list = client.ask("tools/list", json!({}));
    let tools = list["tools"].as_array().cloned().unwrap_or_default();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}

/// Each keeps its id; thanks cost nothing.
#[test]
fn notes_that_wait_are_captured_together() {
    let sandbox = local(&captures());
    let mut client = Client::start(&sandbox);
    client.initialize();
    let thanks = hand_in(&mut client, &json!({ "content": "Thanks a lot!" }));
    let status = ended(&mut client, &thanks);
    assert_eq!(status["status"], "done");
    assert_eq!(
        status["warnings"],
        json!(["it is a greeting or thanks; no model was asked, and nothing was written"])
    );
    assert_eq!(crate::claude::processes(&sandbox), 0);
    let runs: Vec<String> = (0..4)
        .map(|number| {
            let content = format!("{NOTE} Case {number}.");
            let note = json!({ "content": content, "connectionId": "warehouse" });
            hand_in(&mut client, &note)
        })
        .collect();
    for run in &runs {
        let status = ended(&mut client, run);
        assert_eq!(
            (&status["runId"], &status["status"]),
            (&json!(run), &json!("done")),
            "{status}"
        );
    }
    leaves(client);
    let mut client = Client::start(&sandbox);
    client.initialize();
    for run in &runs {
        let status = ended(&mut client, run);
        assert_eq!(
            (&status["runId"], &status["status"]),
            (&json!(run), &json!("done")),
            "{status}"
        );
    }
    leaves(client);
    let listed = crate::support::json(&sandbox, "runs --json");
    let count = listed["data"]["items"].as_array().map_or(0, Vec::len);
    assert!(count < runs.len() + 1, "{listed}");
}

/// KTX-05.
#[test]
fn a_note_of_an_agent_is_captured() {
    let sandbox = local(&captures());
    let mut client = Client::start(&sandbox);
    let hello = client.initialize();
    let words = hello["instructions"].as_str().unwrap_or_default();
    assert!(
        words.contains("Everything here only reads, but for `memory_ingest`."),
        "{words}"
    );
    assert!(tools(&mut client).contains(&"memory_ingest".to_owned()));
    let note = json!({ "content": NOTE, "connectionId": "warehouse" });
    let run = hand_in(&mut client, &note);
    let shown = |status: &Value| -> Value {
        let text = sandbox.filter(status.to_string().as_bytes());
        serde_json::from_str(&text).expect("JSON")
    };
    let status = shown(&ended(&mut client, &run));
    let expected = json!({
        "runId": "[UUID]", "status": "done", "stage": "done", "done": true,
        "captured": {
            "wiki": ["revenue"], "sl": ["orders"], "xrefs": ["revenue -> orders.revenue"],
        },
        "error": null, "commitHash": "[COMMIT]", "warnings": [], "skillsLoaded": [], "signalDetected": true,
    });
    assert_eq!(status, expected);
    assert!(git(&sandbox, &["log", "-1", "--format=%B"]).contains("noted by: mcp"));
    leaves(client);
    let mut other = Client::start(&sandbox);
    other.initialize();
    assert_eq!(shown(&ended(&mut other, &run)), expected);
    let unknown = call(
        &mut other,
        "memory_ingest_status",
        &json!({ "runId": "run-1" }),
    );
    assert_eq!(
        (&unknown["isError"], &unknown["content"][0]["text"]),
        (
            &json!(true),
            &json!("no note was taken under the run `run-1`")
        )
    );
    leaves(other);
}

#[test]
fn a_note_outlives_its_client() {
    let sandbox = local(&captures());
    let mut client = Client::start(&sandbox);
    client.initialize();
    hand_in(
        &mut client,
        &json!({ "content": NOTE, "connectionId": "warehouse" }),
    );
    leaves(client);
    assert!(sandbox.read("semantic-layer/warehouse/orders.yaml").is_ok());
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}

#[test]
fn a_note_that_fails_says_why() {
    let sandbox = local(&captures());
    let mut client = Client::start(&sandbox);
    client.initialize();
    let wrong = hand_in(
        &mut client,
        &json!({ "content": NOTE, "connectionId": "nope" }),
    );
    let empty = hand_in(&mut client, &json!({ "content": " " }));
    let good = hand_in(
        &mut client,
        &json!({ "content": NOTE, "connectionId": "warehouse" }),
    );
    let told = |status: &Value| (status["status"].clone(), status["error"].clone());
    assert_eq!(
        told(&ended(&mut client, &wrong)),
        (
            json!("error"),
            json!("error: there is no connection `nope`\n\nhint: use one of `warehouse`")
        )
    );
    assert_eq!(
        told(&ended(&mut client, &empty)),
        (json!("error"), json!("error: the note \"\" is empty"))
    );
    assert_eq!(told(&ended(&mut client, &good)).0, json!("done"));
    leaves(client);
}

#[test]
fn without_a_model_the_tools_are_not_there() {
    let sandbox = shop();
    let mut client = Client::start(&sandbox);
    client.initialize();
    let tools = tools(&mut client);
    assert_eq!(tools.len(), 9);
    assert!(
        !tools.iter().any(|name| name.starts_with("memory")),
        "{tools:?}"
    );
    leaves(client);
}
