//! OpenAI Responses: the request.

mod decode;

pub(crate) use decode::ResponsesDecoder;

use ktx_llm_runtime::{ContentBlock, MediaSource, Message, MessageRole};
use serde_json::{Map, Value, json};

use super::media;
use super::request::{
    CanonicalRequest, DeliveryMode, EncodedRequest, HistoryForm, OutputForm, RequestTarget,
    Strictness, Thinking,
};
use crate::catalogue::Capability;
use crate::reasoning::AnswerStorage;

pub(crate) const PROVIDER: &str = "openai";

/// Nothing is stored by default: encrypted reasoning travels with the history.
pub(crate) fn encode(request: &CanonicalRequest, target: &RequestTarget<'_>) -> EncodedRequest {
    let (system, turns) = super::ready(request, target);
    let mut body = Map::new();
    body.insert("model".to_owned(), target.facts.id.clone().into());
    if !system.is_empty() {
        body.insert("instructions".to_owned(), system.into());
    }
    let stored = input(&mut body, request, &turns, target);
    let thinks = target.facts.can(Capability::Reasoning);
    if thinks {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
        let effort = match &request.thinking {
            Thinking::Off => target.facts.least_effort(),
            Thinking::Effort(effort) => Some(effort.as_str()),
            Thinking::On | Thinking::Budget(_) => None,
        };
        if let Some(effort) = effort {
            body.insert("reasoning".to_owned(), json!({"effort": effort}));
        }
    }
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), tools(request));
        if let Some(name) = target.forced_tool(request) {
            body.insert(
                "tool_choice".to_owned(),
                json!({"type": "function", "name": name}),
            );
        }
    }
    if let Some(format) = text_format(&request.output) {
        body.insert("text".to_owned(), json!({"format": format}));
    }
    if let Some(most) = target.output_limit(request) {
        body.insert("max_output_tokens".to_owned(), most.into());
    }
    if let Some(temperature) = target.temperature(request) {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(share) = target.top_p(request) {
        body.insert("top_p".to_owned(), share.into());
    }
    if request.delivery == DeliveryMode::Stream {
        body.insert("stream".to_owned(), true.into());
    }
    body.extend(target.cache.request_params.clone());
    target.reasoning.complete(&mut body);
    EncodedRequest {
        path: "/responses".to_owned(),
        headers: Vec::new(),
        body: Value::Object(body),
        stored,
    }
}

/// Returns the bytes that the stored answer replaces.
fn input(
    body: &mut Map<String, Value>,
    request: &CanonicalRequest,
    turns: &[Message],
    target: &RequestTarget<'_>,
) -> usize {
    let encoded = |turns: &[Message]| -> Value {
        let mut input = Vec::new();
        for turn in turns {
            items(turn, target, &mut input);
        }
        input.into()
    };
    let whole = encoded(turns);
    let rest = match target.reasoning.store {
        AnswerStorage::On => rest(request, target),
        AnswerStorage::Off => None,
    };
    let stores = target.reasoning.store == AnswerStorage::On;
    let mut stored = 0;
    match rest {
        Some((id, turns)) => {
            let input = encoded(&turns);
            stored = whole
                .to_string()
                .len()
                .saturating_sub(input.to_string().len());
            body.insert("input".to_owned(), input);
            body.insert("previous_response_id".to_owned(), id.into());
        }
        None => {
            body.insert("input".to_owned(), whole);
        }
    }
    body.insert("store".to_owned(), stores.into());
    stored
}

fn rest(request: &CanonicalRequest, target: &RequestTarget<'_>) -> Option<(String, Vec<Message>)> {
    if request.history == HistoryForm::Whole {
        return None;
    }
    let index = request
        .messages
        .iter()
        .rposition(|message| message.metadata.response_id.is_some())?;
    let after = request.messages.get(index..)?;
    // An assistant message directly after the stored answer would become a part of it.
    let next = after.get(1)?;
    if next.role == MessageRole::Assistant {
        return None;
    }
    // The normalizer needs the answer, because results belong to its calls, and puts a turn before
    // it.
    let mut turns = ktx_llm_runtime::normalize(after, &target.dialect()).turns;
    if turns.len() < 3 {
        return None;
    }
    let turns = turns.split_off(2);
    let id = after.first()?.metadata.response_id.clone()?;
    Some((id, turns))
}

fn text_format(output: &OutputForm) -> Option<Value> {
    match output {
        OutputForm::Text => None,
        OutputForm::Json => Some(json!({"type": "json_object"})),
        OutputForm::Schema { schema, strictness } => Some(json!({
            "type": "json_schema",
            "name": "answer",
            "schema": schema,
            "strict": *strictness == Strictness::Strict,
        })),
    }
}

fn tools(request: &CanonicalRequest) -> Value {
    request
        .tools
        .iter()
        .map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
                "strict": false,
            })
        })
        .collect()
}

/// Keeps the order; adjacent parts of a message stay together.
fn items(turn: &Message, target: &RequestTarget<'_>, input: &mut Vec<Value>) {
    let role = match turn.role {
        MessageRole::Assistant => "assistant",
        MessageRole::User | MessageRole::System => "user",
    };
    let mut parts = Vec::new();
    let flush = |parts: &mut Vec<Value>, input: &mut Vec<Value>| {
        if !parts.is_empty() {
            input.push(json!({
                "type": "message",
                "role": role,
                "content": std::mem::take(parts),
            }));
        }
    };
    for block in &turn.content {
        let item = match block {
            ContentBlock::Text { text } if role == "assistant" => {
                parts.push(json!({"type": "output_text", "text": text}));
                continue;
            }
            ContentBlock::Text { text } => {
                parts.push(json!({"type": "input_text", "text": text}));
                continue;
            }
            ContentBlock::Image { source }
            | ContentBlock::Audio { source }
            | ContentBlock::File { source } => {
                parts.push(media_part(block, source, target));
                continue;
            }
            ContentBlock::Reasoning { meta, .. } => meta.get("item").cloned(),
            ContentBlock::ToolUse {
                id, name, input, ..
            } => Some(json!({
                "type": "function_call",
                "call_id": id,
                "name": name,
                "arguments": input.to_string(),
            })),
            ContentBlock::ToolResult {
                tool_use_id,
                content,
                ..
            } => Some(json!({
                "type": "function_call_output",
                "call_id": tool_use_id,
                "output": content,
            })),
            ContentBlock::CacheControl { .. } => None,
            ContentBlock::Opaque { json, .. } => Some(json.clone()),
        };
        if let Some(item) = item {
            flush(&mut parts, input);
            input.push(item);
        }
    }
    flush(&mut parts, input);
}

fn media_part(block: &ContentBlock, source: &MediaSource, target: &RequestTarget<'_>) -> Value {
    let part = match block {
        ContentBlock::Image { .. } if target.facts.can(Capability::Vision) => {
            media::data_url(source, "image/png")
                .or_else(|| source.url.clone())
                .map(|url| json!({"type": "input_image", "image_url": url}))
        }
        ContentBlock::File { .. } => file_part(source),
        _ => None,
    };
    part.unwrap_or_else(
        || json!({"type": "input_text", "text": media::placeholder(media::kind(block), source)}),
    )
}

fn file_part(source: &MediaSource) -> Option<Value> {
    if let Some(id) = &source.file_id {
        return Some(json!({"type": "input_file", "file_id": id}));
    }
    if let Some(data) = media::data_url(source, "application/pdf") {
        let name = source.filename.as_deref().unwrap_or("document.pdf");
        return Some(json!({"type": "input_file", "filename": name, "file_data": data}));
    }
    let url = source
        .url
        .as_deref()
        .filter(|url| url.starts_with("http"))?;
    Some(json!({"type": "input_file", "file_url": url}))
}
