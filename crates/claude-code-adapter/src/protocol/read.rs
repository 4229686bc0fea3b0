//! Parses lines into frames and never fails.

use std::collections::BTreeMap;

use ktx_llm_runtime::TokenUsage;
use serde_json::Value;

use super::frame::{
    AssistantBlock, AssistantFrame, ControlAnswer, ControlRequest, Frame, InitFrame, ListedServer,
    Plugin, RateLimit, ResultFrame, StreamFrame, ToolResult,
};

impl Frame {
    pub(crate) fn read(line: &Value) -> Self {
        let kind = text(line, "type");
        match kind.as_str() {
            "control_request" => ask(line),
            "control_response" => answer(line),
            "control_cancel_request" => Self::Withdrawn {
                id: text(line, "request_id"),
            },
            "system" => system(line),
            "assistant" => Self::Assistant(assistant(line)),
            "user" => Self::ToolResults {
                results: tool_results(line),
                nested: is_nested(line),
            },
            "stream_event" => Self::Stream {
                piece: stream(line.get("event").unwrap_or(&Value::Null)),
                parent: is_nested(line).then(|| text(line, "parent_tool_use_id")),
            },
            "rate_limit_event" => Self::RateLimit(rate_limit(
                line.get("rate_limit_info").unwrap_or(&Value::Null),
            )),
            "result" => Self::Result(Box::new(result(line))),
            "tool_progress" => Self::Progress,
            "keep_alive" | "conversation_reset" => Self::Known,
            _ => Self::Unknown(kind),
        }
    }
}

fn ask(line: &Value) -> Frame {
    let request = line.get("request").unwrap_or(&Value::Null);
    let field = |key: &str| request.get(key).cloned().unwrap_or(Value::Null);
    let subtype = text(request, "subtype");
    let ask = match subtype.as_str() {
        "mcp_message" => ControlRequest::Mcp {
            server: text(request, "server_name"),
            message: field("message"),
        },
        "can_use_tool" => ControlRequest::CanUseTool {
            tool: text(request, "tool_name"),
            input: field("input"),
            call_id: text(request, "tool_use_id"),
        },
        "hook_callback" => ControlRequest::Hook {
            callback: text(request, "callback_id"),
            tool: request
                .get("input")
                .map(|input| text(input, "tool_name"))
                .unwrap_or_default(),
        },
        _ => ControlRequest::Other(subtype),
    };
    Frame::ControlRequest {
        id: text(line, "request_id"),
        ask,
    }
}

fn answer(line: &Value) -> Frame {
    let response = line.get("response").unwrap_or(&Value::Null);
    let outcome = if text(response, "subtype") == "success" {
        Ok(response.get("response").cloned().unwrap_or(Value::Null))
    } else {
        Err(text(response, "error"))
    };
    Frame::Answer(ControlAnswer {
        id: text(response, "request_id"),
        outcome,
    })
}

fn system(line: &Value) -> Frame {
    let subtype = text(line, "subtype");
    match subtype.as_str() {
        "init" => Frame::Init(init(line)),
        "api_retry" => Frame::Retry {
            attempt: number(line, "attempt")
                .and_then(|n| u32::try_from(n).ok())
                .unwrap_or(0),
            delay_ms: line
                .get("retry_delay_ms")
                .and_then(Value::as_f64)
                .map_or(0, milliseconds),
            status: number(line, "error_status").and_then(|status| u16::try_from(status).ok()),
        },
        "compact_boundary" => Frame::Compaction,
        "status" if text(line, "status") == "compacting" => Frame::Compaction,
        "model_fallback" | "model_refusal_fallback" | "model_consent_fallback" => {
            Frame::Substituted {
                asked: text(line, "original_model"),
                by: text(line, "fallback_model"),
            }
        }
        "thinking_tokens" => Frame::Progress,
        "hook_started" => hook(line),
        "status"
        | "permission_denied"
        | "hook_response"
        | "session_state_changed"
        | "session_title_changed"
        | "informational"
        | "notification"
        | "background_tasks_changed" => Frame::Known,
        _ => Frame::Unknown(format!("system/{subtype}")),
    }
}

/// Only the machine's: ktx's hooks use the control channel.
fn hook(line: &Value) -> Frame {
    match text(line, "hook_event") {
        event if event == "PreToolUse" || event == "PostToolUseFailure" => Frame::Known,
        event => Frame::Hook(event),
    }
}

fn init(line: &Value) -> InitFrame {
    InitFrame {
        tools: list(line, "tools", |tool| {
            tool.as_str().unwrap_or_default().to_owned()
        }),
        servers: list(line, "mcp_servers", |server| ListedServer {
            name: text(server, "name"),
            status: text(server, "status"),
            source: optional(server, "source"),
        }),
        plugins: list(line, "plugins", |plugin| Plugin {
            name: text(plugin, "name"),
            path: text(plugin, "path"),
            source: optional(plugin, "source"),
        }),
        permission_mode: text(line, "permissionMode"),
        api_key_source: line
            .get("apiKeySource")
            .and_then(Value::as_str)
            .map(str::to_owned),
        model: text(line, "model"),
        version: text(line, "claude_code_version"),
    }
}

fn assistant(line: &Value) -> AssistantFrame {
    let message = line.get("message").unwrap_or(&Value::Null);
    let blocks = list(message, "content", |block| {
        match text(block, "type").as_str() {
            "text" => AssistantBlock::Text(text(block, "text")),
            "tool_use" => AssistantBlock::ToolUse {
                id: text(block, "id"),
                name: text(block, "name"),
                input: block.get("input").cloned().unwrap_or(Value::Null),
            },
            _ => AssistantBlock::Other,
        }
    });
    AssistantFrame {
        id: text(message, "id"),
        model: text(message, "model"),
        blocks: blocks.unwrap_or_default(),
        stop_reason: optional(message, "stop_reason"),
        usage: usage_of(message.get("usage").unwrap_or(&Value::Null)),
        nested: is_nested(line),
        error: optional(line, "error"),
    }
}

fn tool_results(line: &Value) -> Vec<ToolResult> {
    let content = line.pointer("/message/content").and_then(Value::as_array);
    content
        .into_iter()
        .flatten()
        .filter(|block| text(block, "type") == "tool_result")
        .map(|block| ToolResult {
            call_id: text(block, "tool_use_id"),
            text: content_text(block.get("content").unwrap_or(&Value::Null)),
            is_error: block
                .get("is_error")
                .and_then(Value::as_bool)
                .unwrap_or(false),
        })
        .collect()
}

fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<String> = blocks.iter().map(|block| text(block, "text")).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn stream(event: &Value) -> StreamFrame {
    match text(event, "type").as_str() {
        "message_start" => {
            let message = event.get("message").unwrap_or(&Value::Null);
            StreamFrame::Start {
                id: text(message, "id"),
                model: text(message, "model"),
                usage: usage_of(message.get("usage").unwrap_or(&Value::Null)),
            }
        }
        "content_block_delta" => match event.get("delta") {
            Some(delta) if text(delta, "type") == "text_delta" => {
                StreamFrame::Text(text(delta, "text"))
            }
            Some(delta) => match ["thinking", "partial_json"].map(|key| text(delta, key).len()) {
                [0, 0] => StreamFrame::Other,
                [thinking, arguments] => StreamFrame::Written(thinking + arguments),
            },
            None => StreamFrame::Other,
        },
        "message_delta" => StreamFrame::Delta {
            output: event
                .pointer("/usage/output_tokens")
                .and_then(Value::as_u64),
        },
        "message_stop" => StreamFrame::Stop,
        _ => StreamFrame::Other,
    }
}

fn rate_limit(info: &Value) -> RateLimit {
    let window = text(info, "rateLimitType");
    let in_window = info
        .get("unifiedWindows")
        .and_then(|windows| windows.get(&window))
        .and_then(|window| window.get("utilization"));
    RateLimit {
        status: text(info, "status"),
        is_extra: flag(info, "isUsingOverage") && text(info, "overageStatus") != "rejected",
        resets_at: number(info, "resetsAt").map(in_seconds),
        utilization: info
            .get("utilization")
            .or(in_window)
            .and_then(Value::as_f64),
        window,
    }
}

fn result(line: &Value) -> ResultFrame {
    let errors = list(line, "errors", |error| {
        error.as_str().unwrap_or_default().to_owned()
    });
    ResultFrame {
        subtype: text(line, "subtype"),
        is_error: line
            .get("is_error")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        terminal_reason: optional(line, "terminal_reason"),
        stop_reason: optional(line, "stop_reason"),
        text: optional(line, "result"),
        no_text: no_text(line.get("result")),
        errors: errors.unwrap_or_default(),
        object: line
            .get("structured_output")
            .filter(|object| !object.is_null())
            .cloned(),
        api_status: number(line, "api_error_status").and_then(|status| u16::try_from(status).ok()),
        api_error: optional(line, "api_error").or_else(|| optional(line, "api_error_type")),
        cost_usd: line.get("total_cost_usd").and_then(Value::as_f64),
        used: model_usage(line.get("modelUsage").unwrap_or(&Value::Null)),
    }
}

fn no_text(value: Option<&Value>) -> Option<&'static str> {
    Some(match value {
        Some(Value::String(_)) => return None,
        None => "missing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Number(_)) => "a number",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    })
}

/// Old versions merge the cache lifetimes.
fn model_usage(models: &Value) -> BTreeMap<String, TokenUsage> {
    let models = models.as_object().into_iter().flatten();
    let used = models.map(|(name, model)| {
        let count = |key: &str| model.get(key).and_then(Value::as_u64).unwrap_or(0);
        let hour = count("cacheCreationEphemeral1hInputTokens");
        let usage = TokenUsage {
            input: count("inputTokens"),
            cache_write_5m: count("cacheCreationInputTokens").saturating_sub(hour),
            cache_write_1h: hour,
            cache_read: count("cacheReadInputTokens"),
            output: count("outputTokens"),
            reasoning: 0,
        };
        (name.clone(), usage)
    });
    used.collect()
}

/// Five minutes is the API's default.
pub(crate) fn usage_of(usage: &Value) -> TokenUsage {
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let hour = count("/cache_creation/ephemeral_1h_input_tokens");
    TokenUsage {
        input: count("/input_tokens"),
        cache_write_5m: count("/cache_creation_input_tokens").saturating_sub(hour),
        cache_write_1h: hour,
        cache_read: count("/cache_read_input_tokens"),
        output: count("/output_tokens"),
        reasoning: 0,
    }
}

fn is_nested(line: &Value) -> bool {
    line.get("parent_tool_use_id")
        .is_some_and(|parent| !parent.is_null())
}

fn text(value: &Value, key: &str) -> String {
    optional(value, key).unwrap_or_default()
}

fn optional(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn number(value: &Value, key: &str) -> Option<i64> {
    value.get(key).and_then(Value::as_i64)
}

/// Milliseconds would be thousands of years ahead.
pub(crate) fn in_seconds(stage: i64) -> i64 {
    const FARTHEST: i64 = 100_000_000_000;
    if stage < FARTHEST {
        stage
    } else {
        stage / 1000
    }
}

fn list<T>(value: &Value, key: &str, read: impl Fn(&Value) -> T) -> Option<Vec<T>> {
    let items = value.get(key)?.as_array()?;
    Some(items.iter().map(read).collect())
}

/// At most an hour; 0 if invalid.
fn milliseconds(delay: f64) -> u64 {
    let bounded = delay.clamp(0.0, 3_600_000.0);
    std::time::Duration::try_from_secs_f64(bounded / 1000.0)
        .ok()
        .and_then(|delay| u64::try_from(delay.as_millis()).ok())
        .unwrap_or(0)
}
