//! Exports a session as a test case.

use ktx_agent_session::{CallState, Event, Origin, SessionReport};
use ktx_llm_runtime::{ContentBlock, Message};
use serde_json::{Value, json};

use super::summary::title_of;
use crate::commands::agent::cases::{case_file, name_of};
use crate::report::Outcome;

#[derive(Default)]
struct Turn {
    question: String,
    answer: String,
    calls: Vec<(String, Value)>,
}

/// Returns a case with the questions, the tools and the last query of each turn, else its answer.
/// Skips the case until the user checks it, because the agent can be wrong.
pub(super) fn case_text(report: &SessionReport) -> Outcome<String> {
    let turns = turns(report);
    let title = title_of(&report.history.messages());
    let name = name_of(report.history.name().unwrap_or(&title));
    let mut case = json!({
        "name": name,
        "tags": ["session"],
        "skip": format!("look at what session {} has answered, then remove this line", report.id),
    });
    let mut written: Vec<Value> = turns.iter().map(turn_of).collect();
    if let (Some(fields), [_]) = (case.as_object_mut(), written.as_slice()) {
        if let Some(Value::Object(only)) = written.pop() {
            fields.extend(only);
        }
    } else if let Some(fields) = case.as_object_mut() {
        fields.insert("turns".to_owned(), Value::Array(written));
    }
    case_file(&[case])
}

fn turns(report: &SessionReport) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for record in &report.records {
        let event = serde_json::from_value(Value::Object(record.event.clone()));
        match event {
            Ok(Event::Message {
                message,
                origin: Origin::User,
                ..
            }) => turns.push(Turn {
                question: text_of(&message),
                ..Turn::default()
            }),
            Ok(Event::Message {
                message,
                origin: Origin::Model,
                ..
            }) => {
                if let Some(turn) = turns.last_mut() {
                    turn.answer = text_of(&message);
                }
            }
            Ok(Event::Call(call)) if call.state == CallState::Completed => {
                if let Some(turn) = turns.last_mut() {
                    turn.calls.push((call.name, call.input));
                }
            }
            _ => {}
        }
    }
    turns
}

fn text_of(message: &Message) -> String {
    let texts = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn turn_of(turn: &Turn) -> Value {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in &turn.calls {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut written = json!({ "input": turn.question });
    if let Some(fields) = written.as_object_mut() {
        if let Some(truth) = truth_of(turn) {
            fields.insert("ground_truth".to_owned(), truth);
        }
        if !names.is_empty() {
            fields.insert("expected_tools".to_owned(), json!(names));
        }
    }
    written
}

fn truth_of(turn: &Turn) -> Option<Value> {
    let query = turn.calls.iter().rev().find_map(|(name, input)| {
        let connection = input.get("connectionId").cloned();
        let mut truth = match name.as_str() {
            "sql_execution" => json!({ "sql": input.get("sql")? }),
            "sl_query" => {
                let mut semantic = input.clone();
                if let Some(fields) = semantic.as_object_mut() {
                    for form in ["connectionId", "maxTokens", "cursor", "format", "include"] {
                        fields.shift_remove(form);
                    }
                }
                json!({ "semantic": semantic })
            }
            _ => return None,
        };
        if let (Some(connection), Some(fields)) = (connection, truth.as_object_mut()) {
            fields.insert("connection".to_owned(), connection);
        }
        Some(truth)
    });
    query.or_else(|| (!turn.answer.is_empty()).then(|| Value::from(turn.answer.clone())))
}
