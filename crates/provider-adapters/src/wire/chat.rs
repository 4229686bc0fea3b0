//! OpenAI Chat Completions: the request, with each provider's reasoning fields.

mod decode;
mod think;

pub(crate) use decode::ChatDecoder;

use std::collections::BTreeMap;

use ktx_llm_runtime::{ContentBlock, MediaSource, Message, MessageRole};
use serde_json::{Map, Value, json};

use super::media;
use super::request::{
    CanonicalRequest, DeliveryMode, EncodedRequest, OutputForm, OutputLimit, RequestTarget,
    Strictness, Thinking,
};
use crate::caching::{self, CacheOverrides, PromptCaching};
use crate::catalogue::Capability;
use crate::preset::CacheKind;
use crate::schema;

pub(crate) fn encode(request: &CanonicalRequest, target: &RequestTarget<'_>) -> EncodedRequest {
    let (system, turns) = super::ready(request, target);
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    let mut names = BTreeMap::new();
    for turn in &turns {
        match turn.role {
            MessageRole::Assistant => messages.push(assistant(turn, target, &mut names)),
            MessageRole::User | MessageRole::System => user(turn, &names, target, &mut messages),
        }
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), target.facts.id.clone().into());
    body.insert("messages".to_owned(), messages.into());
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), tools(request, target));
        if let Some(name) = target.forced_tool(request) {
            body.insert(
                "tool_choice".to_owned(),
                json!({"type": "function", "function": {"name": name}}),
            );
        }
    }
    if let Some(format) = response_format(&request.output) {
        body.insert("response_format".to_owned(), format);
    }
    if let Some(most) = target.output_limit(request) {
        body.insert(limit_field(request, target).to_owned(), most.into());
    }
    reasoning(&mut body, request, target);
    if let Some(temperature) = target.temperature(request) {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(share) = target.top_p(request) {
        body.insert("top_p".to_owned(), share.into());
    }
    if request.delivery == DeliveryMode::Stream {
        body.insert("stream".to_owned(), true.into());
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        if !request.tools.is_empty() {
            body.extend(target.row.stream_params.clone());
        }
    }
    body.extend(target.cache.request_params.clone());
    target.reasoning.complete(&mut body);
    let mut body = Value::Object(body);
    mark(&mut body, request, target);
    EncodedRequest {
        path: "/chat/completions".to_owned(),
        headers: Vec::new(),
        body,
        stored: 0,
    }
}

/// OpenAI's reasoning models refuse the older field.
fn limit_field<'a>(request: &CanonicalRequest, target: &RequestTarget<'a>) -> &'a str {
    const WITH_REASONING: &str = "max_completion_tokens";
    match &target.row.max_tokens_field {
        _ if request.limit == OutputLimit::WithReasoning => WITH_REASONING,
        Some(field) => field,
        None if reasons_as_openai_does(&target.facts.id) => WITH_REASONING,
        None => "max_tokens",
    }
}

/// `o3`, `gpt-5.4-mini` and later.
fn reasons_as_openai_does(id: &str) -> bool {
    let name = id.rsplit_once('/').map_or(id, |(_, name)| name);
    let generation = name
        .strip_prefix("gpt-")
        .map(|rest| rest.split(['.', '-']).next().unwrap_or_default())
        .and_then(|number| number.parse::<u32>().ok()); // not `gpt-oss`
    let is_o = name
        .strip_prefix('o')
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    is_o || generation.is_some_and(|generation| generation >= 5)
}

fn mark(body: &mut Value, request: &CanonicalRequest, target: &RequestTarget<'_>) {
    let Some(min_tokens) = explicit_minimum(target) else {
        return;
    };
    let plan = request.caching.unwrap_or(PromptCaching::OFF);
    if target.row.cache_max_ttl.as_deref() == Some("5m") {
        let short = CacheOverrides {
            extended_ttl: Some(false),
            ..target.cache.clone()
        };
        caching::mark_chat(body, plan, &short, min_tokens);
    } else {
        caching::mark_chat(body, plan, target.cache, min_tokens);
    }
}

fn explicit_minimum(target: &RequestTarget<'_>) -> Option<u64> {
    target
        .row
        .cache_min_tokens
        .filter(|_| target.row.cache == CacheKind::Explicit)
}

fn reasoning(
    body: &mut Map<String, Value>,
    request: &CanonicalRequest,
    target: &RequestTarget<'_>,
) {
    if target.reasoning.params.is_some() {
        return;
    }
    let params = match request.thinking {
        Thinking::Off => &target.reasoning.off,
        Thinking::On | Thinking::Budget(_) | Thinking::Effort(_) => &target.reasoning.on,
    };
    body.extend(params.clone());
    let least = target
        .facts
        .least_effort()
        .filter(|_| target.row.effort && target.facts.can(Capability::Reasoning));
    let effort = match &request.thinking {
        Thinking::Off => least,
        Thinking::Effort(effort) => Some(effort.as_str()),
        Thinking::On | Thinking::Budget(_) => None,
    };
    if let Some(effort) = effort {
        body.insert("reasoning_effort".to_owned(), effort.into());
    }
    if let (Thinking::Budget(tokens), Some(field)) =
        (&request.thinking, &target.reasoning.budget_field)
    {
        body.insert(field.clone(), (*tokens).into());
    }
}

pub(super) fn response_format(output: &OutputForm) -> Option<Value> {
    match output {
        OutputForm::Text => None,
        OutputForm::Json => Some(json!({"type": "json_object"})),
        OutputForm::Schema { schema, strictness } => Some(json!({
            "type": "json_schema",
            "json_schema": {
                "name": "answer",
                "schema": schema,
                "strict": *strictness == Strictness::Strict,
            },
        })),
    }
}

fn tools(request: &CanonicalRequest, target: &RequestTarget<'_>) -> Value {
    request
        .tools
        .iter()
        .map(|tool| {
            let strict = target
                .row
                .strict_tools
                .then(|| schema::for_strict_tool(&tool.schema).ok())
                .flatten();
            let mut function = json!({
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
            });
            if let (Some(schema), Value::Object(function)) = (strict, &mut function) {
                function.insert("parameters".to_owned(), schema);
                function.insert("strict".to_owned(), true.into());
            }
            json!({"type": "function", "function": function})
        })
        .collect()
}

fn assistant(
    turn: &Message,
    target: &RequestTarget<'_>,
    names: &mut BTreeMap<String, String>,
) -> Value {
    let mut text = String::new();
    let mut thoughts = String::new();
    let mut details: Vec<Value> = Vec::new();
    let mut field = None;
    let mut calls = Vec::new();
    for block in &turn.content {
        match block {
            ContentBlock::Text { text: piece } => text.push_str(piece),
            ContentBlock::Reasoning { reasoning, meta } => {
                thoughts.push_str(reasoning);
                if let Some(list) = meta.get("details").and_then(Value::as_array) {
                    details.extend(list.iter().cloned());
                }
                field = field.or_else(|| meta.get("field").and_then(Value::as_str));
            }
            ContentBlock::ToolUse {
                id, name, input, ..
            } => {
                names.insert(id.clone(), name.clone());
                calls.push(json!({
                    "id": id,
                    "type": "function",
                    "function": {"name": name, "arguments": input.to_string()},
                }));
            }
            // The normalizer leaves no other block.
            _ => {}
        }
    }
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    let content = if text.is_empty() && !calls.is_empty() {
        Value::Null
    } else {
        text.into()
    };
    message.insert("content".to_owned(), content);
    if !thoughts.is_empty() {
        let field = field
            .or_else(|| target.reasoning.fields.first().map(String::as_str))
            .unwrap_or("reasoning_content");
        let value = match field {
            "reasoning_details" if details.is_empty() => json!([{"text": thoughts}]),
            "reasoning_details" => details.into(),
            _ => thoughts.into(),
        };
        message.insert(field.to_owned(), value);
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    Value::Object(message)
}

/// Tool results come first, as messages.
fn user(
    turn: &Message,
    names: &BTreeMap<String, String>,
    target: &RequestTarget<'_>,
    messages: &mut Vec<Value>,
) {
    let mut parts = Vec::new();
    for block in &turn.content {
        match block {
            ContentBlock::ToolResult {
                tool_use_id,
                content,
                ..
            } => {
                let name = names.get(tool_use_id).map_or("tool", String::as_str);
                messages.push(json!({
                    "role": "tool",
                    "tool_call_id": tool_use_id,
                    "name": name,
                    "content": content,
                }));
            }
            ContentBlock::Text { text } => parts.push(json!({"type": "text", "text": text})),
            ContentBlock::Image { source } if target.facts.can(Capability::Vision) => {
                parts.push(image(source, block));
            }
            ContentBlock::File { source } if target.facts.can(Capability::Documents) => {
                parts.push(file(source));
            }
            ContentBlock::Image { source }
            | ContentBlock::Audio { source }
            | ContentBlock::File { source } => {
                let text = media::placeholder(media::kind(block), source);
                parts.push(json!({"type": "text", "text": text}));
            }
            ContentBlock::CacheControl { ttl } if explicit_minimum(target).is_some() => {
                caching::ask(&mut parts, *ttl);
            }
            // The normalizer leaves no other block.
            _ => {}
        }
    }
    if parts.is_empty() {
        return;
    }
    let plain = parts
        .iter()
        .all(|part| part["type"] == "text" && part.get("cache_control").is_none());
    let content = if plain {
        let texts: Vec<&str> = parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect();
        texts.join("\n\n").into()
    } else {
        Value::Array(parts)
    };
    messages.push(json!({"role": "user", "content": content}));
}

fn image(source: &MediaSource, block: &ContentBlock) -> Value {
    let url = media::data_url(source, "image/png").or_else(|| source.url.clone());
    match url {
        Some(url) => json!({"type": "image_url", "image_url": {"url": url}}),
        None => {
            json!({"type": "text", "text": media::placeholder(media::kind(block), source)})
        }
    }
}

fn file(source: &MediaSource) -> Value {
    if let Some(id) = &source.file_id {
        return json!({"type": "file", "file": {"file_id": id}});
    }
    match media::data_url(source, "application/pdf") {
        Some(data) => {
            let name = source.filename.as_deref().unwrap_or("document.pdf");
            json!({"type": "file", "file": {"filename": name, "file_data": data}})
        }
        None => json!({"type": "text", "text": media::placeholder("file", source)}),
    }
}
