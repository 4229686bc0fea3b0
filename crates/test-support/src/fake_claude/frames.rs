//! Messages in the format of newer versions.

use serde_json::{Map, Value, json};

const SESSION: &str = "00000000-0000-4000-8000-000000000001";

pub(crate) fn initialized(id: &Value, account: Option<&Value>, version: &str) -> Value {
    let usual = json!({
        "email": "dev@example.com", "organization": "Example Org",
        "subscriptionType": "Claude Max", "apiProvider": "firstParty",
    });
    json!({ "type": "control_response", "response": {
        "subtype": "success", "request_id": id,
        "response": {
            "commands": [], "agents": [], "models": [], "output_style": "default",
            "account": account.unwrap_or(&usual), "pid": std::process::id(),
            "claude_code_version": version,
        },
    } })
}

pub(crate) fn init(
    tools: &[String],
    model: &str,
    version: &str,
    changes: &Map<String, Value>,
) -> Value {
    let servers = if tools.iter().any(|tool| tool.starts_with("mcp__")) {
        json!([{ "name": "ktx", "status": "connected", "source": "sdk" }])
    } else {
        json!([])
    };
    let frame = json!({
        "type": "system", "subtype": "init", "session_id": SESSION, "tools": tools,
        "mcp_servers": servers, "model": model, "permissionMode": "dontAsk",
        "slash_commands": ["clear", "compact", "doctor"], "skills": ["debug", "verify"],
        "agents": ["Explore", "Plan"], "plugins": [], "apiKeySource": "none",
        "claude_code_version": version, "output_style": "default",
    });
    changed(frame, changes)
}

/// `null` removes a field.
pub(crate) fn changed(mut frame: Value, changes: &Map<String, Value>) -> Value {
    if let Some(map) = frame.as_object_mut() {
        for (key, value) in changes {
            if value.is_null() {
                map.shift_remove(key);
            } else {
                map.insert(key.clone(), value.clone());
            }
        }
    }
    frame
}

/// Tokens of an interrupted message: one per three bytes, as models count JSON.
pub(crate) fn output_so_far(text: &str) -> u64 {
    u64::try_from(text.len())
        .unwrap_or(u64::MAX)
        .div_euclid(3)
        .max(1)
}

/// Counters at the start of a message.
pub(crate) const INPUT: u64 = 100;
pub(crate) const OUTPUT: u64 = 20;

pub(crate) fn usage(output: u64) -> Value {
    json!({
        "input_tokens": INPUT, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 7,
        "cache_creation": { "ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20 },
        "output_tokens": output,
    })
}

fn event(event: &Value) -> Value {
    json!({ "type": "stream_event", "event": event, "session_id": SESSION, "parent_tool_use_id": null })
}

pub(crate) fn message_start(id: &str, model: &str) -> Value {
    event(&json!({ "type": "message_start", "message": {
        "id": id, "type": "message", "role": "assistant", "model": model,
        "content": [], "stop_reason": null, "usage": usage(1),
    } }))
}

pub(crate) fn text_delta(text: &str) -> Value {
    event(
        &json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
    )
}

pub(crate) fn block(id: &str, model: &str, block: &Value) -> Value {
    json!({
        "type": "assistant", "parent_tool_use_id": null, "session_id": SESSION,
        "message": {
            "id": id, "type": "message", "role": "assistant", "model": model,
            "content": [block], "stop_reason": null, "usage": usage(1),
        },
    })
}

pub(crate) fn message_end(stop_reason: &str) -> [Value; 2] {
    [
        event(&json!({
            "type": "message_delta", "delta": { "stop_reason": stop_reason },
            "usage": { "output_tokens": OUTPUT, "input_tokens": INPUT },
        })),
        event(&json!({ "type": "message_stop" })),
    ]
}

pub(crate) fn synthetic(class: &str, text: &str) -> Value {
    json!({
        "type": "assistant", "parent_tool_use_id": null, "session_id": SESSION, "error": class,
        "message": {
            "id": "00000000-0000-4000-8000-000000000009", "role": "assistant",
            "model": "<synthetic>", "content": [{ "type": "text", "text": text }],
            "stop_reason": "stop_sequence",
            "usage": { "input_tokens": 0, "output_tokens": 0 },
        },
    })
}

pub(crate) fn tool_result(call: &str, text: &str, is_error: Option<bool>) -> Value {
    let mut block = json!({ "type": "tool_result", "tool_use_id": call, "content": [{ "type": "text", "text": text }] });
    if let (Some(is_error), Some(map)) = (is_error, block.as_object_mut()) {
        map.insert("is_error".to_owned(), Value::from(is_error));
    }
    json!({
        "type": "user", "parent_tool_use_id": null, "session_id": SESSION,
        "message": { "role": "user", "content": [block] },
    })
}

pub(crate) fn used(messages: u64, cut: u64) -> Value {
    json!({
        "inputTokens": INPUT * messages, "outputTokens": OUTPUT * (messages - cut) + cut,
        "cacheReadInputTokens": 7 * messages, "cacheCreationInputTokens": 30 * messages,
    })
}

/// Dollars at Sonnet list price.
fn cost(messages: u64) -> f64 {
    f64::from(u32::try_from(messages).unwrap_or(u32::MAX)) * 759.6e-6
}

pub(crate) fn result(
    text: &str,
    messages: u64,
    used: &Value,
    changes: &Map<String, Value>,
) -> Value {
    let frame = json!({
        "duration_ms": 100, "stop_reason": "end_turn", "session_id": SESSION,
        "total_cost_usd": cost(messages), "is_error": false, "num_turns": messages + 1,
        "modelUsage": used,
        "permission_denials": [], "terminal_reason": "completed", "subtype": "success",
        "api_error_status": null, "result": text, "type": "result",
    });
    changed(frame, changes)
}
