//! The log of calls and their spans.

use serde_json::{Value, json};

use super::client::Client;
use crate::support::shop;

/// Client, tool and end, without arguments and results.
#[test]
fn calls_are_logged_without_their_content() {
    let sandbox = shop();
    let mut client = Client::start(&sandbox);
    client.initialize();
    client.call(
        "sql_execution",
        json!({ "sql": "select 'a secret of Ada' as word" }),
    );
    client.call("sql_execution", json!({ "sql": "delete from orders" }));
    client.call("no_such_tool_of_Ada", json!({}));
    assert_eq!(client.close().0, Some(0));
    let log = sandbox.read(".ktx/logs/calls.jsonl").expect("a log");
    let lines: Vec<Value> = log
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).expect("a line");
            assert!(
                line["milliseconds"].is_u64() && line["at"].is_string(),
                "{line}"
            );
            line["milliseconds"].take();
            line["at"].take();
            line
        })
        .collect();
    let line = |tool: Option<&str>, end: &str| {
        let mut line = json!({ "at": null, "client": "default" });
        if let Some(tool) = tool {
            line["tool"] = json!(tool);
        }
        line["end"] = json!(end);
        line["milliseconds"] = json!(null);
        line
    };
    assert_eq!(
        lines,
        [
            line(Some("sql_execution"), "answered"),
            line(Some("sql_execution"), "refused"),
            line(None, "refused"),
        ]
    );
    assert!(!log.contains("Ada"), "{log}");
}
