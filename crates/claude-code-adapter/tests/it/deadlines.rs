//! The table of misbehaviors: how each ends, and by which deadline. All other deadlines are an hour
//! away, so a wrong watchdog shows in the error text or never ends.

use std::collections::BTreeSet;
use std::time::Duration;

use ktx_claude_code_adapter::Timeouts;
use ktx_llm_runtime::{LlmError, LlmRuntime as _, LoopOutcome};
use serde_json::{Value, json};

use crate::breakdowns::stuck;
use crate::support::{TestSetup, loop_request, object_request, text_request, until};

/// Distinct milliseconds, which the error texts name.
const DEADLINES: [(&str, u64); 9] = [
    ("initialize", 410),
    ("surface", 420),
    ("silence", 430),
    ("idle", 440),
    ("tool", 450),
    ("exit", 460),
    ("interrupt", 470),
    ("terminate", 480),
    ("drain", 490),
];

/// `call` is the operation: a text, an object, a loop, or a text that is canceled at a mark of the
/// fake. `ends` has the code and the text of the error, or the answer.
#[derive(Debug)]
struct DeadlineCase(Value);

impl DeadlineCase {
    fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap()
    }

    fn near(&self) -> Vec<&str> {
        let near = self.0["near"].as_array().unwrap().iter();
        near.map(|name| name.as_str().unwrap()).collect()
    }
}

fn table() -> Vec<DeadlineCase> {
    let beat = [
        json!({ "raw": { "type": "keep_alive" } }),
        json!({ "sleep": 50 }),
    ];
    let heartbeats: Vec<&Value> = beat.iter().cycle().take(4000).collect();
    let said = |number: u32| {
        json!({ "raw": { "type": "assistant", "parent_tool_use_id": null, "message": {
            "id": format!("msg_{number}"), "model": "m", "content": [{ "type": "text", "text": "No." }],
        } } })
    };
    let mut endless: Vec<Value> = (1..=10).map(said).collect();
    endless.push(json!("hang"));
    let lines = "{\"type\":\"keep_alive\"}\n".repeat(2000);
    let text = include_str!("deadlines/table.jsonl")
        .replace("\"@heartbeats\"", &json!(heartbeats).to_string())
        .replace("\"@endless\"", &json!(endless).to_string())
        .replace("\"@lines\"", &json!(lines).to_string());
    let rows = text.lines().map(serde_json::from_str::<Value>);
    rows.map(|row| DeadlineCase(row.unwrap())).collect()
}

fn limits(near: &[&str]) -> Timeouts {
    let hour = Duration::from_hours(1);
    let limit = |name: &str| {
        let own = DEADLINES.iter().find(|(other, _)| *other == name).unwrap();
        if near.contains(&name) {
            Duration::from_millis(own.1)
        } else {
            hour
        }
    };
    Timeouts {
        probe: hour,
        initialize: limit("initialize"),
        surface: limit("surface"),
        silence: limit("silence"),
        idle: limit("idle"),
        tool: limit("tool"),
        exit: limit("exit"),
        interrupt: limit("interrupt"),
        terminate: limit("terminate"),
        drain: limit("drain"),
        spawn_backoff: Duration::from_millis(10),
        spare_pause: Duration::ZERO,
        spare_idle: hour,
    }
}

fn of_loop(outcome: LoopOutcome) -> Result<String, LlmError> {
    if let Some(error) = outcome.error {
        return Err(error);
    }
    let calls = outcome.tools.iter();
    let calls: Vec<&str> = calls.map(|call| call.markdown.as_str()).collect();
    let stop = outcome.stop_reason.as_str();
    let text = outcome.text.unwrap_or_default();
    Ok(format!("{stop} {text} {}", calls.join(", ")))
}

async fn ending(row: &DeadlineCase) -> String {
    let mut bench = TestSetup::new(row.0["scenario"].clone());
    bench.settings.timeouts = limits(&row.near());
    let runtime = bench.runtime();
    let request = text_request("Say hello.");
    let cancel = request.cancel.clone();
    let outcome = match row.text("call") {
        "text" => runtime.generate_text(request).await.map(|said| said.text),
        "object" => {
            let outcome = runtime.generate_object(object_request("Look.")).await;
            outcome.map(|outcome| outcome.value.to_string())
        }
        "loop" => {
            let mut request = loop_request("Work.", 3);
            if row.near().contains(&"tool") {
                request.tools = stuck();
            }
            of_loop(runtime.run_agent_loop(request).await)
        }
        call => {
            assert_eq!(call, "cancelled");
            let marker = bench.settings.project_dir.join("now");
            let stop = async {
                until("the mark is there", || marker.exists()).await;
                cancel.cancel();
            };
            let (outcome, ()) = tokio::join!(runtime.generate_text(request), stop);
            outcome.map(|outcome| outcome.text)
        }
    };
    let left = (bench.survivors(), bench.notes());
    assert_eq!(left, (Vec::new(), 0), "{}", row.text("name"));
    match outcome {
        Ok(answer) => format!("ok: {answer}"),
        Err(error) => format!("{}: {}", error.kind.code(), error.message),
    }
}

async fn check(group: &str) {
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    for row in table() {
        if row.text("group") == group {
            let ending = tokio::time::timeout(Duration::from_mins(1), ending(&row)).await;
            let ending = ending.unwrap_or_else(|_| "never".to_owned());
            found.push(format!("{}: {ending}", row.text("name")));
            expected.push(format!("{}: {}", row.text("name"), row.text("ends")));
        }
    }
    assert!(!found.is_empty());
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn before_the_session() {
    check("before_the_session").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_surface() {
    check("at_the_surface").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_it_works() {
    check("while_it_works").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_end_of_the_output() {
    check("without_an_end_of_the_output").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_and_tools() {
    check("failures_and_tools").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_result() {
    check("after_the_result").await;
}

/// COG-22.
#[tokio::test(flavor = "multi_thread")]
async fn when_cancelled() {
    check("when_cancelled").await;
}

/// Each deadline ends some row on its own.
#[test]
fn the_table_is_whole() {
    let rows = table();
    let distinct =
        |key: fn(&DeadlineCase) -> String| rows.iter().map(key).collect::<BTreeSet<_>>().len();
    let names = distinct(|row| row.text("name").to_owned());
    let scenarios = distinct(|row| format!("{} {}", row.text("call"), row.0["scenario"]));
    assert_eq!((names, scenarios), (rows.len(), rows.len()));
    assert!(rows.len() >= 30, "{}", rows.len());
    assert_eq!(distinct(|row| row.text("group").to_owned()), 7);
    let alone = |name: &str| rows.iter().any(|row| row.near() == [name]);
    let names = DEADLINES.iter().map(|(name, _)| *name);
    let missing: Vec<&str> = names.filter(|name| !alone(name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}
