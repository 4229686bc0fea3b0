//! Places cache markers in prompts (KTX-80, KODE-31).

mod overrides;
mod prompt;

pub use overrides::CacheOverrides;
pub use prompt::PromptCaching;

use ktx_vocabulary::CacheTtl;
use serde_json::{Value, json};

pub(crate) const MOST_MARKERS: usize = 4;

const KEY: &str = "cache_control";

#[derive(Debug)]
struct MarkerPosition {
    pointer: String,
    ttl: CacheTtl,
    rank: MarkerPriority,
}

/// Priority if there are more positions than markers, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MarkerPriority {
    Tools,
    History,
    System,
    Asked,
}

/// On the last part that can hold one; [`mark_anthropic`] or [`mark_chat`] decides whether it
/// stays.
pub(crate) fn ask(parts: &mut [Value], ttl: Option<CacheTtl>) {
    let holder = parts.iter_mut().rev().find(|part| can_hold(part));
    if let Some(Value::Object(part)) = holder {
        let asked = ttl.map_or("asked", CacheTtl::as_str);
        part.insert(KEY.to_owned(), json!(asked));
    }
}

/// Thoughts must be returned unchanged.
fn can_hold(part: &Value) -> bool {
    !matches!(
        part["type"].as_str(),
        Some("thinking" | "redacted_thinking")
    )
}

/// At most four markers, none below `min_tokens`, and never an hour after five minutes, which
/// providers refuse.
pub(crate) fn mark_anthropic(
    body: &mut Value,
    plan: PromptCaching,
    overrides: &CacheOverrides,
    min_tokens: u64,
) {
    let mut places = Vec::new();
    let size = |key: &str| body.get(key).map_or(0, estimated_tokens);
    let mut prefix = 0;
    for (key, ttl, rank) in [
        ("tools", plan.tools, MarkerPriority::Tools),
        ("system", plan.system, MarkerPriority::System),
    ] {
        prefix += size(key);
        let count = body.get(key).and_then(Value::as_array).map_or(0, Vec::len);
        if let (Some(ttl), Some(last)) = (ttl, count.checked_sub(1))
            && prefix >= min_tokens
        {
            let pointer = format!("/{key}/{last}");
            places.push(MarkerPosition { pointer, ttl, rank });
        }
    }
    let total = prefix + size("messages");
    let history = plan.history.filter(|_| total >= min_tokens);
    places.extend(in_messages(body, "/messages", history, overrides));
    settle(body, &places, plan, overrides);
}

pub(crate) fn mark_chat(
    body: &mut Value,
    plan: PromptCaching,
    overrides: &CacheOverrides,
    min_tokens: u64,
) {
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages.map(Vec::as_slice).unwrap_or_default();
    let sizes: Vec<u64> = messages.iter().map(estimated_tokens).collect();
    let lead = sizes.first().copied().unwrap_or(0);
    let is = |message: Option<&Value>, role: &str| {
        message.is_some_and(|message| message["role"] == role)
    };
    let system = plan
        .system
        .filter(|_| is(messages.first(), "system") && lead >= min_tokens);
    let history = plan
        .history
        .filter(|_| is(messages.last(), "user") && sizes.iter().sum::<u64>() >= min_tokens);
    let last = messages.len().saturating_sub(1);
    for (index, wanted) in [(0, system.is_some()), (last, history.is_some())] {
        if wanted && let Some(content) = body.pointer_mut(&format!("/messages/{index}/content")) {
            in_parts(content);
        }
    }
    let mut places = Vec::new();
    if let Some(ttl) = system {
        places.push(MarkerPosition {
            pointer: "/messages/0/content/0".to_owned(),
            ttl,
            rank: MarkerPriority::System,
        });
    }
    places.extend(in_messages(body, "/messages", history, overrides));
    settle(body, &places, plan, overrides);
}

fn in_parts(content: &mut Value) {
    if let Value::String(text) = content {
        *content = json!([{"type": "text", "text": text}]);
    }
}

fn in_messages(
    body: &mut Value,
    at: &str,
    history: Option<CacheTtl>,
    overrides: &CacheOverrides,
) -> Vec<MarkerPosition> {
    let mut places = Vec::new();
    let Some(messages) = body.pointer_mut(at).and_then(Value::as_array_mut) else {
        return places;
    };
    let last_message = messages.len().saturating_sub(1);
    for (index, message) in messages.iter_mut().enumerate() {
        let Some(parts) = message.get_mut("content").and_then(Value::as_array_mut) else {
            continue;
        };
        let last_part = parts.iter().rposition(can_hold);
        for (number, part) in parts.iter_mut().enumerate() {
            let pointer = format!("{at}/{index}/content/{number}");
            let asked = part.as_object_mut().and_then(|part| part.remove(KEY));
            if let Some(asked) = asked {
                let ttl = asked.as_str().and_then(CacheTtl::parse);
                places.push(MarkerPosition {
                    pointer,
                    ttl: ttl.or(overrides.default_ttl).unwrap_or(CacheTtl::OneHour),
                    rank: MarkerPriority::Asked,
                });
            } else if index == last_message
                && Some(number) == last_part
                && let Some(ttl) = history
            {
                let rank = MarkerPriority::History;
                places.push(MarkerPosition { pointer, ttl, rank });
            }
        }
    }
    places
}

fn settle(
    body: &mut Value,
    places: &[MarkerPosition],
    plan: PromptCaching,
    overrides: &CacheOverrides,
) {
    let most = if plan == PromptCaching::OFF {
        0
    } else {
        overrides
            .breakpoints
            .map_or(MOST_MARKERS, |most| most.min(MOST_MARKERS))
    };
    let mut by_worth: Vec<usize> = (0..places.len()).collect();
    by_worth.sort_by_key(|index| {
        std::cmp::Reverse((places.get(*index).map(|place| place.rank), *index))
    });
    by_worth.truncate(most);
    let mut longest = if overrides.extended_ttl == Some(false) {
        CacheTtl::FiveMinutes
    } else {
        CacheTtl::OneHour
    };
    for (index, place) in places.iter().enumerate() {
        if by_worth.contains(&index)
            && let Some(Value::Object(part)) = body.pointer_mut(&place.pointer)
        {
            longest = longest.min(place.ttl);
            part.insert(KEY.to_owned(), marker(longest));
        }
    }
}

fn marker(ttl: CacheTtl) -> Value {
    match ttl {
        CacheTtl::FiveMinutes => json!({"type": "ephemeral"}),
        CacheTtl::OneHour => json!({"type": "ephemeral", "ttl": "1h"}),
    }
}

/// Four bytes per token, enough for a minimum.
fn estimated_tokens(value: &Value) -> u64 {
    u64::try_from(value.to_string().len() / 4).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
