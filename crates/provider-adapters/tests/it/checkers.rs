//! The fakes refuse what the real providers refuse.

use std::collections::BTreeSet;

use serde_json::Value;

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn filled(text: &Value) -> bool {
    text.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn ensure(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

pub(crate) fn anthropic(body: &Value) -> Result<(), String> {
    ensure(
        body["max_tokens"].as_u64().is_some_and(|most| most > 0),
        "max_tokens",
    )?;
    // On Vertex the model is in the path, which this checker does not see.
    let takes_sampling = body["model"].as_str().is_none_or(|model| {
        ["4-5", "4.5", "4-6", "4.6"]
            .iter()
            .any(|version| model.contains(version))
    });
    ensure(
        takes_sampling || body.get("temperature").is_none(),
        "temperature is refused by this model",
    )?;
    let markers = body.to_string().matches("\"cache_control\"").count();
    ensure(markers <= 4, "more than four cache markers")?;
    let messages = list(body, "messages");
    ensure(!messages.is_empty(), "no messages")?;
    let mut open: Vec<String> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut expected = "user";
    for message in messages {
        ensure(message["role"] == expected, "roles do not alternate")?;
        let content = list(message, "content");
        ensure(!content.is_empty(), "a message without content")?;
        let mut results = Vec::new();
        let mut past_results = false;
        for block in content {
            match block["type"].as_str().unwrap_or_default() {
                "text" => ensure(filled(&block["text"]), "an empty text")?,
                "thinking" => ensure(filled(&block["signature"]), "thinking without signature")?,
                "tool_use" => {
                    let id = block["id"].as_str().unwrap_or_default().to_owned();
                    ensure(
                        !id.is_empty() && block["input"].is_object(),
                        "a bad tool_use",
                    )?;
                    ensure(ids.insert(id), "a tool_use id twice")?;
                }
                "tool_result" => {
                    ensure(!past_results, "a tool_result behind other blocks")?;
                    results.push(block["tool_use_id"].as_str().unwrap_or_default().to_owned());
                }
                _ => {}
            }
            past_results = past_results || block["type"] != "tool_result";
        }
        ensure(results == open, "tool results do not answer the calls")?;
        open = content
            .iter()
            .filter(|block| block["type"] == "tool_use")
            .filter_map(|block| block["id"].as_str().map(str::to_owned))
            .collect();
        ensure(
            open.is_empty() || expected == "assistant",
            "a tool_use of the user",
        )?;
        expected = if expected == "user" {
            "assistant"
        } else {
            "user"
        };
    }
    ensure(
        expected == "assistant",
        "the last message is the assistant's",
    )
}

pub(crate) fn chat(body: &Value) -> Result<(), String> {
    let messages = list(body, "messages");
    let mut open: BTreeSet<String> = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        match message["role"].as_str().unwrap_or_default() {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                ensure(open.remove(id), "a tool message without a call")?;
                ensure(
                    message["content"].is_string(),
                    "a tool message without text",
                )?;
            }
            role => {
                ensure(open.is_empty(), "a call without an answer")?;
                ensure(role != "system" || index == 0, "a system message inside")?;
                ensure(
                    role != "user" || filled(&message["content"]) || message["content"].is_array(),
                    "an empty user message",
                )?;
                for call in list(message, "tool_calls") {
                    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                    let arguments: Option<Value> = serde_json::from_str(arguments).ok(); // checked below
                    ensure(
                        arguments.is_some_and(|arguments| arguments.is_object()),
                        "arguments that are not an object",
                    )?;
                    let id = call["id"].as_str().unwrap_or_default().to_owned();
                    ensure(!id.is_empty() && open.insert(id), "a bad call id")?;
                }
            }
        }
    }
    ensure(open.is_empty(), "a call without an answer at the end")?;
    let last = messages.last().map(|message| message["role"].clone());
    ensure(
        last.is_some_and(|role| role == "user" || role == "tool"),
        "the last message is the assistant's",
    )
}

pub(crate) fn responses(body: &Value) -> Result<(), String> {
    let mut open: BTreeSet<String> = BTreeSet::new();
    let items = list(body, "input");
    ensure(!items.is_empty(), "no input")?;
    for item in items {
        match item["type"].as_str().unwrap_or_default() {
            "message" => ensure(!list(item, "content").is_empty(), "an empty message")?,
            "function_call" => {
                let id = item["call_id"].as_str().unwrap_or_default().to_owned();
                ensure(!id.is_empty() && open.insert(id), "a bad call id")?;
            }
            "function_call_output" => {
                let id = item["call_id"].as_str().unwrap_or_default();
                ensure(open.remove(id), "an output without a call")?;
            }
            "reasoning" => ensure(filled(&item["encrypted_content"]), "unsealed reasoning")?,
            other => return Err(format!("an item of the type `{other}`")),
        }
    }
    ensure(open.is_empty(), "a call without an output")
}

pub(crate) fn gemini(body: &Value) -> Result<(), String> {
    let mut expected = "user";
    let mut open: Vec<String> = Vec::new();
    for content in list(body, "contents") {
        ensure(content["role"] == expected, "roles do not alternate")?;
        let parts = list(content, "parts");
        ensure(!parts.is_empty(), "no parts")?;
        let names = |key: &str| -> Vec<String> {
            parts
                .iter()
                .filter_map(|part| part[key]["name"].as_str().map(str::to_owned))
                .collect()
        };
        ensure(
            names("functionResponse") == open,
            "function responses do not answer the calls",
        )?;
        let first = parts.iter().find(|part| part.get("functionCall").is_some());
        ensure(
            first.is_none_or(|part| filled(&part["thoughtSignature"])),
            "a function call without its thought signature",
        )?;
        open = names("functionCall");
        expected = if expected == "user" { "model" } else { "user" };
    }
    ensure(expected == "model", "the last content is the model's")
}
