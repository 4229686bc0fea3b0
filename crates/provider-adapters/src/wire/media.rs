//! Visible text for unreadable media (KODE-05).

use ktx_llm_runtime::{ContentBlock, MediaSource, Message};
use serde_json::Value;

pub(crate) fn placeholder(kind: &str, source: &MediaSource) -> String {
    let name = source
        .filename
        .as_deref()
        .or(source.url.as_deref())
        .or(source.mime_type.as_deref())
        .unwrap_or("without a name");
    format!("[{kind} `{name}` was left out: this model cannot read it]")
}

pub(crate) fn placeholders(messages: &[Message], body: &Value) -> Vec<String> {
    let media = messages.iter().flat_map(Message::blocks);
    let mut stand_ins: Vec<String> = media
        .filter_map(|block| match block {
            ContentBlock::Image { source }
            | ContentBlock::Audio { source }
            | ContentBlock::File { source } => Some(placeholder(kind(block), source)),
            _ => None,
        })
        .filter(|stand_in| holds(body, stand_in))
        .collect();
    stand_ins.dedup();
    stand_ins
}

fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text),
        Value::Array(items) => items.iter().any(|item| holds(item, text)),
        Value::Object(map) => map.values().any(|item| holds(item, text)),
        _ => false,
    }
}

pub(crate) const fn kind(block: &ContentBlock) -> &'static str {
    match block {
        ContentBlock::Image { .. } => "image",
        ContentBlock::Audio { .. } => "audio",
        _ => "file",
    }
}

pub(crate) fn data_url(source: &MediaSource, fallback_type: &str) -> Option<String> {
    let bytes = source.base64.as_deref()?;
    let mime = source.mime_type.as_deref().unwrap_or(fallback_type);
    Some(format!("data:{mime};base64,{bytes}"))
}
