//! Tests of converted schemas.

use serde_json::{Value, json};

use super::{
    UnsupportedSchema, for_anthropic, for_gemini, for_openai, for_strict_tool, strict_arguments,
    without_added_nulls,
};

fn sample() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"score": {"type": "integer", "minimum": 0, "maximum": 3}},
        "properties": {
            "key": {"type": "string", "maxLength": 160, "description": "the key"},
            "score": {"$ref": "#/$defs/score"},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "items": {"type": "array", "minItems": 2, "items": {"oneOf": [{"type": "string"}, {"type": "null"}]}},
            "nested": {
                "type": "object",
                "properties": {"when": {"type": "string", "format": "fancy"}},
                "required": ["when"],
            },
        },
        "required": ["key", "score"],
    })
}

#[test]
fn anthropic_gets_closed_objects_and_limits_as_words() {
    assert_eq!(
        for_anthropic(&sample()).unwrap().to_string(),
        json!({
            "type": "object",
            "properties": {
                "key": {"type": "string", "description": "the key (maxLength: 160)"},
                "score": {"type": "integer", "description": "(minimum: 0, maximum: 3)"},
                "kind": {"type": "string", "enum": ["a", "b"]},
                "items": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "description": "(minItems: 2)"},
                "nested": {
                    "type": "object",
                    "properties": {"when": {"type": "string", "description": "(format: \"fancy\")"}},
                    "required": ["when"],
                    "additionalProperties": false,
                },
            },
            "required": ["key", "score"],
            "additionalProperties": false,
        })
        .to_string()
    );
}

#[test]
fn openai_requires_everything_and_lets_the_optional_be_null() {
    let schema = for_openai(&sample()).unwrap();
    assert_eq!(
        schema["required"],
        json!(["key", "score", "kind", "items", "nested"])
    );
    assert_eq!(
        schema["properties"]["kind"],
        json!({"type": ["string", "null"], "enum": ["a", "b", null]})
    );
    assert_eq!(
        schema["properties"]["nested"]["type"],
        json!(["object", "null"])
    );
    assert_eq!(schema["properties"]["key"]["type"], json!("string"));
}

/// KODE-15.
#[test]
fn gemini_gets_no_references_and_no_additional_properties() {
    let mut schema = sample();
    schema["additionalProperties"] = json!(false);
    schema["properties"]["nested"]["additionalProperties"] = json!(false);
    let text = for_gemini(&schema).to_string();
    for key in ["additionalProperties", "$schema", "$defs", "$ref"] {
        assert!(!text.contains(key), "{key} in {text}");
    }
}

#[test]
fn schemas_without_a_counterpart_are_refused_with_the_reason() {
    let many: serde_json::Map<String, Value> = (0..11)
        .map(|number| (format!("p{number}"), json!({"type": "string"})))
        .collect();
    for (schema, expected) in [
        (json!({"type": "object"}), UnsupportedSchema::OpenObject),
        (
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}),
            UnsupportedSchema::OpenObject,
        ),
        (
            json!({"type": "object", "properties": {"a": {"$ref": "#"}}}),
            UnsupportedSchema::Reference,
        ),
        (
            json!({"type": "object", "properties": {"a": {"$ref": "other.json"}}}),
            UnsupportedSchema::Reference,
        ),
        (
            json!({"type": "object", "properties": {"a": {"not": {"type": "null"}}}}),
            UnsupportedSchema::Keyword("not".to_owned()),
        ),
        (
            json!({"type": "object", "properties": many}),
            UnsupportedSchema::TooManyOptional(11),
        ),
    ] {
        assert_eq!(for_anthropic(&schema), Err(expected));
    }
}

#[test]
fn nulls_for_absent_properties_are_removed_and_others_stay() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": ["string", "null"]},
            "c": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "string"}}}},
            "e": {"type": "null"},
        },
        "required": ["e"],
    });
    let answer = json!({"a": null, "b": null, "c": [{"d": null}, {"d": "x"}], "e": null});
    assert_eq!(
        without_added_nulls(answer, &schema),
        json!({"b": null, "c": [{}, {"d": "x"}], "e": null})
    );
}

/// KODE-22.
#[test]
fn strict_calls_become_the_arguments_of_the_tool() {
    let schema = json!({
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"],
    });
    assert_eq!(
        for_strict_tool(&schema),
        Ok(json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": ["integer", "null"]},
                "_cursor": {"type": ["string", "null"], "description": "reads a long result on"},
            },
            "required": ["query", "limit", "_cursor"],
            "additionalProperties": false,
        }))
    );
    let read = |arguments| strict_arguments(arguments, &schema);
    assert_eq!(
        read(json!({"query": "a", "limit": null, "_cursor": null})),
        json!({"query": "a"})
    );
    assert_eq!(
        read(json!({"query": "a", "limit": 3, "_cursor": "part-1"})),
        json!({"query": "a", "limit": 3, "_cursor": "part-1"})
    );
    assert_eq!(
        for_strict_tool(&json!({"type": "object"})),
        Err(UnsupportedSchema::OpenObject)
    );
}
