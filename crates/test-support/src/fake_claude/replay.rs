//! Replays a recording; each line follows the caller's preceding line.

use std::collections::VecDeque;
use std::path::Path;

use serde_json::Value;

use super::channel::{StdioChannel, say};
use super::{ScenarioHalt, fault};

pub(crate) fn play(channel: &mut StdioChannel, file: &Path) -> Result<(), ScenarioHalt> {
    let text = std::fs::read_to_string(file)?;
    let mut events = VecDeque::new();
    for line in text.lines() {
        match serde_json::from_str::<Value>(line) {
            Ok(event) => events.push_back(event),
            Err(error) => return fault(format!("the recording cannot be read: {error}")),
        }
    }
    prompt_after_account(&mut events);
    let mut theirs = Value::Null;
    let mut mine = Value::Null;
    for event in events {
        let line = &event["line"];
        match event["ev"].as_str().unwrap_or_default() {
            "in" if line["request"]["subtype"] == "initialize" => {
                let received =
                    channel.receive_where(|line| line["request"]["subtype"] == "initialize")?;
                mine = received["request_id"].clone();
                theirs = line["request_id"].clone();
            }
            "in" => {
                channel.receive_where(|received| is_like(received, line))?;
            }
            "out" => {
                let mut line = line.clone();
                if line["response"]["request_id"] == theirs && !theirs.is_null() {
                    line["response"]["request_id"] = mine.clone();
                }
                say(&line)?;
            }
            "in_eof" => channel.until_closed()?,
            "exit" => {
                let code = event["rc"]
                    .as_u64()
                    .and_then(|code| u8::try_from(code).ok());
                return Err(ScenarioHalt::Exit(code.unwrap_or(1)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The recorded client sent its prompt at once; ktx waits for the account.
fn prompt_after_account(events: &mut VecDeque<Value>) {
    let prompt = events
        .iter()
        .position(|event| event["ev"] == "in" && event["line"]["type"] == "user");
    let account = events.iter().position(|event| {
        event["ev"] == "out" && !event["line"]["response"]["response"]["account"].is_null()
    });
    if let (Some(prompt), Some(account)) = (prompt, account)
        && prompt < account
        && let Some(event) = events.remove(prompt)
    {
        events.insert(account, event);
    }
}

fn is_like(received: &Value, recorded: &Value) -> bool {
    if received["type"] != recorded["type"] {
        return false;
    }
    if recorded["type"] != "control_response" {
        return true;
    }
    let content =
        |line: &Value| line["response"]["response"]["mcp_response"]["result"]["content"].clone();
    received["response"]["request_id"] == recorded["response"]["request_id"]
        && content(received) == content(recorded)
}
