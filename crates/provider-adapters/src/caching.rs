//! Where prompts are marked for caching (KTX-80).

use serde_json::{Value, json};

use crate::settings::{CacheTtl, PromptCaching};

/// Marks the last tool, the system prompt and the last message: at most three of the four markers
/// that a request may hold. Nothing is marked whose prefix is shorter than `min_tokens`, and no
/// hour follows five minutes: providers refuse that.
pub(crate) fn mark_anthropic(body: &mut Value, plan: PromptCaching, min_tokens: u64) {
    let mut prefix = 0;
    let mut longest = CacheTtl::OneHour;
    let mut mark = |holder: Option<&mut Value>, size: u64, ttl: Option<CacheTtl>| {
        prefix += size;
        let (Some(Value::Object(block)), Some(ttl)) = (holder, ttl) else {
            return;
        };
        if prefix < min_tokens {
            return;
        }
        longest = longest.min(ttl);
        block.insert("cache_control".to_owned(), marker(longest));
    };
    let size = |body: &Value, key: &str| body.get(key).map_or(0, estimated_tokens);
    let (tools, system, history) = (
        size(body, "tools"),
        size(body, "system"),
        size(body, "messages"),
    );
    mark(last_of(body, "/tools"), tools, plan.tools);
    mark(last_of(body, "/system"), system, plan.system);
    let last_message = last_of(body, "/messages").and_then(|message| last_of(message, "/content"));
    mark(last_message, history, plan.history);
}

/// Marks the system message and the last user message of a Chat request, whose texts become lists
/// of one part.
pub(crate) fn mark_chat(messages: &mut [Value], plan: PromptCaching, min_tokens: u64) {
    let sizes: Vec<u64> = messages.iter().map(estimated_tokens).collect();
    let total: u64 = sizes.iter().sum();
    let lead = sizes.first().copied().unwrap_or(0);
    let role = |message: &Value, role: &str| message["role"] == role;
    if let (Some(ttl), Some(first)) = (plan.system, messages.first_mut())
        && role(first, "system")
        && lead >= min_tokens
    {
        mark_parts(first, ttl);
    }
    if let (Some(ttl), Some(last)) = (plan.history, messages.last_mut())
        && role(last, "user")
        && total >= min_tokens
    {
        mark_parts(last, ttl);
    }
}

fn mark_parts(message: &mut Value, ttl: CacheTtl) {
    let Some(content) = message.get_mut("content") else {
        return;
    };
    if let Value::String(text) = content {
        *content = json!([{"type": "text", "text": text}]);
    }
    if let Some(Value::Object(part)) = content.as_array_mut().and_then(|parts| parts.last_mut()) {
        part.insert("cache_control".to_owned(), marker(ttl));
    }
}

fn marker(ttl: CacheTtl) -> Value {
    match ttl {
        CacheTtl::FiveMinutes => json!({"type": "ephemeral"}),
        CacheTtl::OneHour => json!({"type": "ephemeral", "ttl": "1h"}),
    }
}

fn last_of<'a>(value: &'a mut Value, pointer: &str) -> Option<&'a mut Value> {
    value.pointer_mut(pointer)?.as_array_mut()?.last_mut()
}

/// About four bytes make a token; a prefix that seems long enough mostly is.
fn estimated_tokens(value: &Value) -> u64 {
    u64::try_from(value.to_string().len() / 4).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
