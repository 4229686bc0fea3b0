//! Gemini `generateContent`: the request.

mod decode;

pub(crate) use decode::GeminiDecoder;

use std::collections::BTreeMap;

use ktx_llm_runtime::{ContentBlock, MediaSource, Message, MessageRole};
use serde_json::{Map, Value, json};

use super::media;
use super::request::{
    CanonicalRequest, DeliveryMode, EncodedRequest, OutputForm, RequestTarget, Thinking,
};
use crate::catalogue::Capability;
use crate::schema;

pub(crate) const PROVIDER: &str = "gemini";
/// The documented placeholder for the signature of another provider's call.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

pub(crate) fn encode(request: &CanonicalRequest, target: &RequestTarget<'_>) -> EncodedRequest {
    let (system, turns) = super::ready(request, target);
    let mut names = BTreeMap::new();
    let contents: Vec<Value> = turns
        .iter()
        .map(|turn| content(turn, target, &mut names))
        .collect();
    let mut body = Map::new();
    if !system.is_empty() {
        body.insert(
            "systemInstruction".to_owned(),
            json!({"parts": [{"text": system}]}),
        );
    }
    body.insert("contents".to_owned(), contents.into());
    if !request.tools.is_empty() {
        body.insert(
            "tools".to_owned(),
            json!([{"functionDeclarations": declarations(request)}]),
        );
        if let Some(name) = target.forced_tool(request) {
            body.insert(
                "toolConfig".to_owned(),
                json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [name]}}),
            );
        }
    }
    let config = generation_config(request, target);
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), Value::Object(config));
    }
    body.extend(target.cache.request_params.clone());
    target.reasoning.complete(&mut body);
    let call = match request.delivery {
        DeliveryMode::Stream => "streamGenerateContent?alt=sse",
        DeliveryMode::Whole => "generateContent",
    };
    EncodedRequest {
        path: format!("/models/{}:{call}", target.facts.id),
        headers: Vec::new(),
        body: Value::Object(body),
        stored: 0,
    }
}

fn declarations(request: &CanonicalRequest) -> Value {
    request
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": schema::for_gemini(&tool.schema),
            })
        })
        .collect()
}

fn generation_config(request: &CanonicalRequest, target: &RequestTarget<'_>) -> Map<String, Value> {
    let mut config = Map::new();
    if let Some(most) = target.output_limit(request) {
        config.insert("maxOutputTokens".to_owned(), most.into());
    }
    if let Some(temperature) = target.temperature(request) {
        config.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(share) = target.top_p(request) {
        config.insert("topP".to_owned(), share.into());
    }
    match &request.output {
        OutputForm::Text => {}
        OutputForm::Json => {
            config.insert("responseMimeType".to_owned(), "application/json".into());
        }
        OutputForm::Schema { schema, .. } => {
            config.insert("responseMimeType".to_owned(), "application/json".into());
            config.insert("responseJsonSchema".to_owned(), schema.clone());
        }
    }
    if let Some(thinking) = thinking_config(request, target) {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    config
}

/// 2.5 models accept a budget, later ones a level; 2.5 Pro always thinks.
fn thinking_config(request: &CanonicalRequest, target: &RequestTarget<'_>) -> Option<Value> {
    let id = target.facts.id.as_str();
    match &request.thinking {
        Thinking::On => None,
        Thinking::Budget(tokens) => Some(json!({"thinkingBudget": tokens})),
        Thinking::Effort(effort) => Some(json!({"thinkingLevel": effort.to_uppercase()})),
        Thinking::Off if !target.facts.can(Capability::Reasoning) => None,
        Thinking::Off if id.starts_with("gemini-2.5-pro") => None,
        Thinking::Off if id.starts_with("gemini-2") => Some(json!({"thinkingBudget": 0})),
        Thinking::Off => Some(json!({"thinkingLevel": "LOW"})),
    }
}

fn content(
    turn: &Message,
    target: &RequestTarget<'_>,
    names: &mut BTreeMap<String, String>,
) -> Value {
    let mut parts = Vec::new();
    let mut calls = 0;
    for block in &turn.content {
        match block {
            ContentBlock::Text { text } => parts.push(json!({"text": text})),
            ContentBlock::Reasoning { reasoning, meta } => {
                parts.push(thought(reasoning, meta));
            }
            ContentBlock::ToolUse {
                id,
                name,
                input,
                meta,
            } => {
                calls += 1;
                names.insert(id.clone(), name.clone());
                parts.push(call(name, input, meta, signature(meta, calls, target)));
            }
            ContentBlock::ToolResult {
                tool_use_id,
                content,
                is_error,
            } => {
                let name = names.get(tool_use_id).map_or("tool", String::as_str);
                let key = if *is_error { "error" } else { "content" };
                parts.push(json!({
                    "functionResponse": {"name": name, "response": {key: content}},
                }));
            }
            ContentBlock::CacheControl { .. } => {}
            ContentBlock::Opaque { json, .. } => parts.push(json.clone()),
            ContentBlock::Image { source }
            | ContentBlock::Audio { source }
            | ContentBlock::File { source } => parts.push(media_part(block, source)),
        }
    }
    let role = match turn.role {
        MessageRole::Assistant => "model",
        MessageRole::User | MessageRole::System => "user",
    };
    json!({"role": role, "parts": parts})
}

fn thought(reasoning: &str, meta: &Map<String, Value>) -> Value {
    let mut part = Map::new();
    part.insert("text".to_owned(), reasoning.into());
    if !reasoning.is_empty() {
        part.insert("thought".to_owned(), true.into());
    }
    if let Some(signature) = meta.get("thought_signature") {
        part.insert("thoughtSignature".to_owned(), signature.clone());
    }
    Value::Object(part)
}

/// Returns the signature of a call. The first call of a turn must be signed from version 3 on.
fn signature(meta: &Map<String, Value>, number: u32, target: &RequestTarget<'_>) -> Option<Value> {
    let old = ["gemini-1", "gemini-2"]
        .iter()
        .any(|prefix| target.facts.id.starts_with(prefix));
    meta.get("thought_signature")
        .cloned()
        .or_else(|| (number == 1 && !old).then(|| FOREIGN_SIGNATURE.into()))
}

fn call(name: &str, input: &Value, meta: &Map<String, Value>, signature: Option<Value>) -> Value {
    let mut call = Map::new();
    if let Some(id) = meta.get("id") {
        call.insert("id".to_owned(), id.clone());
    }
    call.insert("name".to_owned(), name.into());
    call.insert("args".to_owned(), input.clone());
    let mut part = Map::new();
    part.insert("functionCall".to_owned(), Value::Object(call));
    if let Some(signature) = signature {
        part.insert("thoughtSignature".to_owned(), signature);
    }
    Value::Object(part)
}

fn media_part(block: &ContentBlock, source: &MediaSource) -> Value {
    let fallback = match block {
        ContentBlock::Image { .. } => "image/png",
        ContentBlock::Audio { .. } => "audio/wav",
        _ => "application/pdf",
    };
    let mime = source.mime_type.as_deref().unwrap_or(fallback);
    if let Some(bytes) = &source.base64 {
        return json!({"inlineData": {"mimeType": mime, "data": bytes}});
    }
    match &source.url {
        Some(url) if url.starts_with("gs://") => {
            json!({"fileData": {"mimeType": mime, "fileUri": url}})
        }
        _ => json!({"text": media::placeholder(media::kind(block), source)}),
    }
}
