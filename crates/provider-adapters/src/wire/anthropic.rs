//! Anthropic Messages: the request, also for Vertex AI and gateways.

mod decode;

pub(crate) use decode::AnthropicDecoder;

use ktx_llm_runtime::{ContentBlock, MediaSource, Message, MessageRole, Transport};
use serde_json::{Map, Value, json};

use super::media;
use super::request::{
    CanonicalRequest, DeliveryMode, EncodedRequest, LEAST_BUDGET, OutputForm, RequestTarget,
    Thinking,
};
use crate::caching::{self, PromptCaching};
use crate::catalogue::Capability;

/// Newer versions refuse fields that older models need.
pub(crate) const VERSION: &str = "2023-06-01";
/// In the body, in place of the header.
const VERTEX_VERSION: &str = "vertex-2023-10-16";
pub(crate) const PROVIDER: &str = "anthropic";

pub(crate) fn encode(request: &CanonicalRequest, target: &RequestTarget<'_>) -> EncodedRequest {
    let (system, turns) = super::ready(request, target);
    let mut body = Map::new();
    if target.vertex.is_some() {
        body.insert("anthropic_version".to_owned(), VERTEX_VERSION.into());
    } else {
        body.insert("model".to_owned(), target.facts.id.clone().into());
    }
    if let Some(most) = target.output_limit(request) {
        body.insert("max_tokens".to_owned(), most.into());
    }
    if !system.is_empty() {
        body.insert(
            "system".to_owned(),
            json!([{"type": "text", "text": system}]),
        );
    }
    body.insert(
        "messages".to_owned(),
        turns
            .iter()
            .map(|turn| message(turn, target))
            .collect::<Vec<_>>()
            .into(),
    );
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), tools(request));
        if let Some(name) = target.forced_tool(request) {
            body.insert(
                "tool_choice".to_owned(),
                json!({"type": "tool", "name": name, "disable_parallel_tool_use": true}),
            );
        }
    }
    thinking(&mut body, request, target);
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
    let mut body = Value::Object(body);
    let plan = request.caching.unwrap_or(PromptCaching::OFF);
    caching::mark_anthropic(&mut body, plan, target.cache, target.facts.cache_min_tokens);
    EncodedRequest {
        path: path(request, target),
        headers: headers(request, target, &turns),
        body,
        stored: 0,
    }
}

fn path(request: &CanonicalRequest, target: &RequestTarget<'_>) -> String {
    match target.vertex {
        None => "/v1/messages".to_owned(),
        Some(place) => {
            let call = match request.delivery {
                DeliveryMode::Stream => "streamRawPredict",
                DeliveryMode::Whole => "rawPredict",
            };
            format!(
                "/v1/projects/{}/locations/{}/publishers/anthropic/models/{}:{call}",
                place.project, place.location, target.facts.id
            )
        }
    }
}

fn headers(
    request: &CanonicalRequest,
    target: &RequestTarget<'_>,
    turns: &[Message],
) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    if target.vertex.is_none() {
        headers.push(("anthropic-version", VERSION.to_owned()));
    }
    let mut betas = Vec::new();
    let thinks = request.thinking != Thinking::Off || target.thinks(request);
    let returned = target.reasoning.transport == Transport::Provider;
    if thinks && returned && !request.tools.is_empty() {
        betas.push("interleaved-thinking-2025-05-14");
    }
    let has_file = turns.iter().flat_map(|turn| &turn.content).any(|block| {
        matches!(block, ContentBlock::File { source } | ContentBlock::Image { source } if source.file_id.is_some())
    });
    if has_file && target.vertex.is_none() {
        betas.push("files-api-2025-04-14");
    }
    if target.cache.extended_ttl == Some(true) {
        betas.push("extended-cache-ttl-2025-04-11");
    }
    if !betas.is_empty() {
        headers.push(("anthropic-beta", betas.join(",")));
    }
    headers
}

fn tools(request: &CanonicalRequest) -> Value {
    request
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.schema,
            })
        })
        .collect()
}

/// Some models refuse a budget, some always think, and a forced tool excludes thinking.
fn thinking(body: &mut Map<String, Value>, request: &CanonicalRequest, target: &RequestTarget<'_>) {
    let facts = target.facts;
    let mut config = Map::new();
    let forced = target.forced_tool(request).is_some();
    if let (Thinking::Effort(effort), false) = (&request.thinking, forced) {
        config.insert("effort".to_owned(), effort.clone().into());
    }
    if let (Thinking::Budget(tokens), false) = (&request.thinking, forced) {
        let tokens = u64::from(*tokens).max(LEAST_BUDGET);
        let thinking = json!({"type": "enabled", "budget_tokens": tokens});
        body.insert("thinking".to_owned(), thinking);
    } else if facts.can(Capability::ThinkingAdaptive) {
        match &request.thinking {
            Thinking::On | Thinking::Effort(_) if !forced => {
                body.insert("thinking".to_owned(), json!({"type": "adaptive"}));
            }
            _ if facts.can(Capability::ThinkingOff) => {
                body.insert("thinking".to_owned(), json!({"type": "disabled"}));
            }
            _ => {
                if let Some(effort) = facts.least_effort() {
                    config.insert("effort".to_owned(), effort.into());
                }
            }
        }
    }
    if let OutputForm::Schema { schema, .. } = &request.output {
        config.insert(
            "format".to_owned(),
            json!({"type": "json_schema", "schema": schema}),
        );
    }
    if !config.is_empty() {
        body.insert("output_config".to_owned(), Value::Object(config));
    }
}

fn message(message: &Message, target: &RequestTarget<'_>) -> Value {
    let role = match message.role {
        MessageRole::Assistant => "assistant",
        MessageRole::User | MessageRole::System => "user",
    };
    let mut content: Vec<Value> = Vec::with_capacity(message.content.len());
    for part in &message.content {
        match part {
            ContentBlock::CacheControl { ttl } => caching::ask(&mut content, *ttl),
            part => content.push(block(part, target)),
        }
    }
    json!({"role": role, "content": content})
}

fn block(block: &ContentBlock, target: &RequestTarget<'_>) -> Value {
    match block {
        ContentBlock::Text { text } => json!({"type": "text", "text": text}),
        ContentBlock::Reasoning { reasoning, meta } => match meta.get("redacted_data") {
            Some(data) => json!({"type": "redacted_thinking", "data": data}),
            None => json!({
                "type": "thinking",
                "thinking": reasoning,
                "signature": meta.get("signature").cloned().unwrap_or_default(),
            }),
        },
        ContentBlock::ToolUse {
            id, name, input, ..
        } => json!({"type": "tool_use", "id": id, "name": name, "input": input}),
        ContentBlock::ToolResult {
            tool_use_id,
            content,
            is_error,
        } => {
            let mut result = json!({
                "type": "tool_result",
                "tool_use_id": tool_use_id,
                "content": content,
            });
            if *is_error && let Value::Object(result) = &mut result {
                result.insert("is_error".to_owned(), true.into());
            }
            result
        }
        ContentBlock::Opaque { json, .. } => json.clone(),
        ContentBlock::Image { source } => media_block(block, source, target),
        ContentBlock::File { source } => media_block(block, source, target),
        ContentBlock::Audio { source } => {
            json!({"type": "text", "text": media::placeholder("audio", source)})
        }
        // The enclosing message handles it.
        ContentBlock::CacheControl { .. } => json!({"type": "text", "text": ""}),
    }
}

/// Vertex accepts only bytes.
fn media_block(block: &ContentBlock, source: &MediaSource, target: &RequestTarget<'_>) -> Value {
    let (kind, fallback) = match block {
        ContentBlock::Image { .. } => ("image", "image/png"),
        _ => ("document", "application/pdf"),
    };
    let here = target.vertex.is_none();
    let url = source.url.as_deref().filter(|url| url.starts_with("http"));
    let place = match (&source.file_id, &source.base64, url) {
        (Some(id), _, _) if here => json!({"type": "file", "file_id": id}),
        (_, Some(bytes), _) => {
            let mime = source.mime_type.as_deref().unwrap_or(fallback);
            json!({"type": "base64", "media_type": mime, "data": bytes})
        }
        (_, _, Some(url)) if here => json!({"type": "url", "url": url}),
        _ => {
            let text = media::placeholder(media::kind(block), source);
            return json!({"type": "text", "text": text});
        }
    };
    json!({"type": kind, "source": place})
}
