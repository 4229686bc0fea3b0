//! Tests that replay every recorded conversation and cover cases that no recording has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ktx_llm_runtime::StopReason;
use ktx_tool_descriptors::{
    ObjectSchema, ToolDescriptor, ToolError, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use serde_json::{Value, json};

use super::{Action, Conversation, ConversationNote, PromptTiming};
use crate::invocation::{Query, QueryPurpose};
use crate::outcome::{failure_kind, stop_reason_of};
use crate::protocol::Frame;
use crate::unattributed::sum;

struct RecordedConversation {
    name: String,
    initialize: Option<Value>,
    tools: Vec<Value>,
    answers: BTreeMap<String, Value>,
    out: Vec<Value>,
}

fn read(file: &Path) -> RecordedConversation {
    let text = std::fs::read_to_string(file).unwrap();
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut recording = RecordedConversation {
        name: file.file_stem().unwrap().to_string_lossy().into_owned(),
        initialize: None,
        tools: Vec::new(),
        answers: BTreeMap::new(),
        out: Vec::new(),
    };
    for event in events {
        let line = event["line"].clone();
        match event["ev"].as_str() {
            Some("out") => recording.out.push(line),
            Some("in") => {
                if line["request"]["subtype"] == "initialize" {
                    let manifest = &line["request"]["sdkMcpServerManifests"]["ktx"];
                    recording.take_tools(&manifest["toolsListResult"]);
                    recording.initialize = Some(line);
                } else if line["type"] == "control_response" {
                    let result = &line["response"]["response"]["mcp_response"]["result"];
                    recording.take_tools(result);
                    let id = line["response"]["request_id"].as_str().unwrap_or_default();
                    recording.answers.insert(id.to_owned(), result.clone());
                }
            }
            _ => {}
        }
    }
    recording
}

impl RecordedConversation {
    fn take_tools(&mut self, result: &Value) {
        if let Some(tools) = result["tools"].as_array() {
            self.tools.clone_from(tools);
        }
    }

    fn query(&self) -> Query {
        let request = self
            .initialize
            .as_ref()
            .map_or(Value::Null, |line| line["request"].clone());
        let purpose = if let Some(schema) = request.get("jsonSchema") {
            QueryPurpose::Object(ObjectSchema::new(schema.clone()).unwrap())
        } else if request.get("sdkMcpServers").is_some() {
            QueryPurpose::Loop {
                tools: ToolSet::new(self.tools.iter().map(descriptor).collect()).unwrap(),
                budget: 10,
            }
        } else {
            QueryPurpose::Text
        };
        Query::new(purpose, "sonnet", String::new(), "p".to_owned(), "replay")
    }

    fn line(&self, at: usize) -> Value {
        let mut line = self.out[at].clone();
        let theirs = self
            .initialize
            .as_ref()
            .map(|line| line["request_id"].clone());
        if line["type"] == "control_response"
            && Some(&line["response"]["request_id"]) == theirs.as_ref()
        {
            line["response"]["request_id"] = Value::from(super::INITIALIZE);
        }
        line
    }
}

fn descriptor(tool: &Value) -> ToolDescriptor {
    ToolDescriptor {
        name: tool["name"].as_str().unwrap().to_owned(),
        title: String::new(),
        description: String::new(),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        effect: WriteEffect::Writes,
        handler: handler_fn(|_, _| Ok(ToolOutput::text(""))),
    }
}

fn replay(recording: &RecordedConversation) -> String {
    let mut conversation = Conversation::new(recording.query(), "1", PromptTiming::Once);
    let (mut steps, mut warnings, mut usage) = (0, 0, 0);
    let mut failed = None;
    let mut queue: Vec<Action> = Vec::new();
    for at in 0..recording.out.len() {
        queue.extend(conversation.on_frame(Frame::read(&recording.line(at))));
        while let Some(action) = (!queue.is_empty()).then(|| queue.remove(0)) {
            match action {
                Action::Call { request, .. } => {
                    let Some(answer) = recording.answers.get(&request) else {
                        continue;
                    };
                    let text = answer["content"][0]["text"].as_str().unwrap_or_default();
                    let outcome = if answer["isError"] == true {
                        Err(ToolError::new(text))
                    } else {
                        Ok(ToolOutput::text(text))
                    };
                    let sent = conversation.tool_done(&request, &outcome);
                    assert_answer(&sent, answer);
                    queue.extend(sent);
                }
                Action::Note(ConversationNote::Step) => steps += 1,
                Action::Note(ConversationNote::Warning(_)) => warnings += 1,
                Action::Note(ConversationNote::Usage(_)) => usage += 1,
                Action::Fail(error) => failed = failed.or(Some(error.kind)),
                _ => {}
            }
        }
        if failed.is_some() {
            break;
        }
    }
    let record = conversation.into_record();
    let ending = match (&failed, &record.result) {
        (Some(kind), _) => format!("fail {kind:?}"),
        (None, None) => "no result".to_owned(),
        (None, Some(result)) => match stop_reason_of(result) {
            StopReason::Error => format!("error {:?}", failure_kind(result, &record.signs)),
            stop => stop.as_str().to_owned(),
        },
    };
    let object = record
        .result
        .as_ref()
        .and_then(|result| result.object.as_ref());
    let reported = record
        .result
        .as_ref()
        .map_or(0, |result| sum(&result.used).total());
    format!(
        "{}: {ending}, steps {steps}, messages {usage}, tokens {}/{reported}, tools {}/{} failed, object {}/{}, warnings {warnings}, unknown {:?}",
        recording.name,
        sum(&record.used).total(),
        record.tool_failures,
        record.tools.len(),
        object.is_some(),
        record.accepted.is_some(),
        record.unknown,
    )
}

fn assert_answer(sent: &[Action], recorded: &Value) {
    let Some(Action::Send(line)) = sent.last() else {
        panic!("a call was not answered");
    };
    assert_eq!(
        &line["response"]["response"]["mcp_response"]["result"]["content"],
        &recorded["content"]
    );
}

fn folder(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/claude")
        .join(version)
}

#[track_caller]
fn check(version: &str, expected: &str) {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder(version))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let found: Vec<String> = files.iter().map(|file| replay(&read(file))).collect();
    assert_eq!(found.join("\n"), expected.trim());
}

#[test]
fn recordings_of_2_1_142_end_as_they_should() {
    check("v2.1.142", include_str!("tests/v2.1.142.txt"));
}

#[test]
fn recordings_of_2_1_330_end_as_they_should() {
    check("v2.1.330", include_str!("tests/v2.1.330.txt"));
}
