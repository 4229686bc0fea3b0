//! JSON Schema of the events for subscribers (KODE-42, KODE-44).

mod kinds;

use ktx_session_log::Channel;
use serde_json::{Map, Value, json};

use kinds::{Form, KINDS, Kind, Presence};

/// Returns the JSON Schema of a line for subscribers.
pub fn event_schema() -> Value {
    let events: Vec<Value> = KINDS.iter().map(event).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An event of a ktx agent session",
        "type": "object",
        "properties": {
            "cursor": { "type": "integer", "minimum": 1, "description": "The number of the record. A later reader continues after it." },
            "bookmark": {
                "type": "object",
                "properties": {
                    "seq": { "type": "integer", "minimum": 1 },
                    "timestamp": { "type": "integer", "description": "Milliseconds since 1970." },
                },
                "required": ["seq", "timestamp"],
            },
            "session": { "type": "string" },
            "turn": { "type": ["integer", "null"] },
            "channel": { "enum": [Channel::Progress, Channel::Control, Channel::Monitor] },
            "event": { "oneOf": events },
        },
        "required": ["cursor", "bookmark", "session", "channel", "event"],
    })
}

fn event(kind: &Kind) -> Value {
    let mut properties = Map::new();
    properties.insert("type".to_owned(), json!({ "const": kind.name }));
    let mut required = vec!["type"];
    for field in kind.fields {
        properties.insert(field.name.to_owned(), schema(field.form));
        if field.presence == Presence::Always {
            required.push(field.name);
        }
    }
    json!({
        "type": "object",
        "description": kind.about,
        "x-channel": kind.channel,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn schema(form: Form) -> Value {
    match form {
        Form::Text => json!({ "type": "string" }),
        Form::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Form::Count => json!({ "type": "integer", "minimum": 0 }),
        Form::Ratio => json!({ "type": "number", "minimum": 0 }),
        Form::Time => json!({ "type": "string", "format": "date-time" }),
        Form::Any => json!(true),
        Form::Choice(names) => json!({ "enum": names }),
        Form::Call => json!({
            "type": "object",
            "properties": {
                "id": { "type": "string" },
                "name": { "type": "string" },
                "state": { "enum": [
                    "PENDING", "APPROVAL_REQUIRED", "APPROVED", "EXECUTING", "COMPLETED", "FAILED", "DENIED", "SEALED",
                ] },
                "input_preview": { "type": "string" },
                "is_error": { "type": "boolean" },
                "duration_ms": { "type": "integer", "minimum": 0 },
                "rows": { "type": "integer", "minimum": 0, "description": "Of a result that is a table." },
                "result_preview": { "type": "string" },
                "preview": {
                    "type": "object",
                    "description": "What a waiting call would change.",
                    "properties": {
                        "diff": { "type": "string" },
                        "numbers": { "type": "array", "items": { "type": "string" } },
                    },
                    "required": ["diff"],
                    "additionalProperties": false,
                },
            },
            "required": ["id", "name", "state", "input_preview"],
            "additionalProperties": false,
        }),
        Form::Approval => json!({
            "type": "object",
            "properties": {
                "call_id": { "type": "string" },
                "decision": { "enum": ["allow", "deny"] },
                "decided_by": { "type": "string" },
                "note": { "type": "string" },
            },
            "required": ["call_id", "decision", "decided_by"],
            "additionalProperties": false,
        }),
        Form::Tasks => json!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": { "type": "string" },
                    "title": { "type": "string" },
                    "status": { "enum": ["pending", "in_progress", "completed"] },
                },
                "required": ["id", "title", "status"],
                "additionalProperties": false,
            },
        }),
    }
}

#[cfg(test)]
pub(crate) fn violations(event: &Value, channel: Channel) -> Vec<String> {
    let Some(kind) = KINDS.iter().find(|kind| event["type"] == kind.name) else {
        return vec![format!("{} is not in the schema", event["type"])];
    };
    let schema = ktx_tool_descriptors::ObjectSchema::new(self::event(kind));
    let mut found = schema.map_or_else(
        |error| vec![error.to_string()],
        |schema| schema.violations(event),
    );
    if kind.channel != channel {
        found.push(format!("{} is on {channel:?}", kind.name));
    }
    found
}

#[cfg(test)]
pub(crate) fn names() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}
