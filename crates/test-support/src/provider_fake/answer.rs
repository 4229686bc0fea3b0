//! Event streams in the API's format, and errors.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ModelAnswer {
    Text(String),
    Tools(Vec<(String, Value)>),
    Error {
        status: u16,
        class: String,
        message: String,
        #[serde(default)]
        headers: Vec<(String, String)>,
    },
    Hang,
    Stall(String),
    /// Delay in milliseconds.
    Late(u64, Box<Self>),
}

pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) hangs: bool,
    pub(super) delay: Duration,
}

impl Reply {
    fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: body.to_string().into_bytes(),
            hangs: false,
            delay: Duration::ZERO,
        }
    }

    fn events(events: &[Value]) -> Self {
        let lines = events.iter().map(|event| {
            let name = event["type"].as_str().unwrap_or("");
            format!("event: {name}\ndata: {event}\n\n")
        });
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            body: lines.collect::<String>().into_bytes(),
            hangs: false,
            delay: Duration::ZERO,
        }
    }
}

/// Without answers, reports an error.
pub(super) fn to_model_request(answer: Option<ModelAnswer>, number: u32, body: &Value) -> Reply {
    let blocks = match answer {
        Some(ModelAnswer::Text(text)) => vec![json!({ "type": "text", "text": text })],
        Some(ModelAnswer::Tools(calls)) => calls
            .into_iter()
            .enumerate()
            .map(|(place, (name, input))| {
                let id = format!("toolu_{number:04}_{place}");
                json!({ "type": "tool_use", "id": id, "name": name, "input": input })
            })
            .collect(),
        Some(ModelAnswer::Error {
            status,
            class,
            message,
            headers,
        }) => {
            let error = json!({ "type": "error", "error": { "type": class, "message": message } });
            let mut reply = Reply::json(status, &error);
            reply.headers.extend(headers);
            return reply;
        }
        Some(ModelAnswer::Hang) => {
            let mut reply = Reply::events(&[]);
            reply.hangs = true;
            return reply;
        }
        Some(ModelAnswer::Stall(text)) => return stalled(number, body, &text),
        Some(ModelAnswer::Late(milliseconds, answer)) => {
            let mut reply = to_model_request(Some(*answer), number, body);
            reply.delay = Duration::from_millis(milliseconds);
            return reply;
        }
        None => vec![json!({ "type": "text", "text": "(no more answers)" })],
    };
    let model = body["model"].as_str().unwrap_or("unknown");
    let id = format!("msg_{number:04}");
    if body["stream"] == true {
        return Reply::events(&stream(&id, model, &blocks));
    }
    let message = json!({
        "id": id, "type": "message", "role": "assistant", "model": model, "content": blocks,
        "stop_reason": stop_reason(&blocks), "stop_sequence": null, "usage": usage(77),
    });
    Reply::json(200, &message)
}

/// Stops after its first words; without streaming, sends nothing.
fn stalled(number: u32, body: &Value, text: &str) -> Reply {
    let model = body["model"].as_str().unwrap_or("unknown");
    let blocks = [json!({ "type": "text", "text": text })];
    let mut events = stream(&format!("msg_{number:04}"), model, &blocks);
    let words = events
        .iter()
        .position(|event| event["type"] == "content_block_delta");
    events.truncate(words.map_or(0, |at| at + 1));
    let mut reply = Reply::events(&events);
    if body["stream"] != true {
        reply.body.clear();
    }
    reply.hangs = true;
    reply
}

pub(super) fn to_other_request(target: &str) -> Reply {
    if target.ends_with("/count_tokens") {
        return Reply::json(200, &json!({ "input_tokens": 100 }));
    }
    Reply::json(
        404,
        &json!({ "type": "error", "error": { "type": "not_found_error", "message": "not here" } }),
    )
}

/// Realistic numbers, unlike placeholders.
fn usage(output: u64) -> Value {
    json!({
        "input_tokens": 100, "cache_creation_input_tokens": 60, "cache_read_input_tokens": 50,
        "cache_creation": { "ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 40 },
        "output_tokens": output, "service_tier": "standard",
    })
}

fn stop_reason(blocks: &[Value]) -> &'static str {
    if blocks.iter().any(|block| block["type"] == "tool_use") {
        "tool_use"
    } else {
        "end_turn"
    }
}

fn stream(id: &str, model: &str, blocks: &[Value]) -> Vec<Value> {
    let mut events = vec![json!({ "type": "message_start", "message": {
        "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage(1),
    } })];
    for (index, block) in blocks.iter().enumerate() {
        let (empty, delta) = if block["type"] == "text" {
            let delta = json!({ "type": "text_delta", "text": block["text"] });
            (json!({ "type": "text", "text": "" }), delta)
        } else {
            let input = block["input"].to_string();
            let empty = json!({ "type": "tool_use", "id": block["id"], "name": block["name"], "input": {} });
            (
                empty,
                json!({ "type": "input_json_delta", "partial_json": input }),
            )
        };
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": empty }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop_reason(blocks), "stop_sequence": null },
        "usage": { "output_tokens": 77 },
    }));
    events.push(json!({ "type": "message_stop" }));
    events
}
