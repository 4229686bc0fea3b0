//! Generates objects for a schema.

use serde_json::{Map, Value};

/// Finds a fenced block tagged `json expected` in the prompt.
pub(crate) fn expected_in(prompt: &str) -> Option<Value> {
    let (_, after) = prompt.split_once("```json expected")?;
    let (block, _) = after.split_once("```")?;
    serde_json::from_str(block.trim()).ok()
}

pub(crate) fn instance(schema: &Value, template: &str) -> Value {
    build(schema, schema, "object", template, 0)
}

fn build(root: &Value, schema: &Value, name: &str, template: &str, depth: u32) -> Value {
    if depth > 32 {
        return Value::Null;
    }
    let again = |schema: &Value| build(root, schema, name, template, depth + 1);
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(value) = schema["enum"].as_array().and_then(|values| values.first()) {
        return value.clone();
    }
    if let Some(target) = schema["$ref"].as_str() {
        let pointer = target.trim_start_matches('#');
        return root.pointer(pointer).map_or(Value::Null, again);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(options) = schema[key].as_array() {
            let useful = options.iter().find(|option| option["type"] != "null");
            return useful.map_or(Value::Null, again);
        }
    }
    match kind(schema) {
        "object" => object(root, schema, template, depth),
        "array" => {
            let count = schema["minItems"].as_u64().unwrap_or(0);
            let items = schema.get("items").unwrap_or(&Value::Null);
            (0..count).map(|_| again(items)).collect()
        }
        "integer" => Value::from(schema["minimum"].as_i64().unwrap_or(0)),
        "number" => Value::from(schema["minimum"].as_f64().unwrap_or(0.0)),
        "boolean" => Value::from(false),
        "null" => Value::Null,
        _ => text(schema, name, template),
    }
}

/// First type except `null`; default: object with properties, else string.
fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds
                .into_iter()
                .find(|kind| *kind != "null")
                .unwrap_or("null")
        }
        _ if schema.get("properties").is_some() => "object",
        _ => "string",
    }
}

fn object(root: &Value, schema: &Value, template: &str, depth: u32) -> Value {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let required = schema["required"].as_array();
    let needed = |name: &str| required.is_none_or(|names| names.iter().any(|other| other == name));
    let fields = properties
        .iter()
        .filter(|(name, _)| needed(name))
        .map(|(name, schema)| (name.clone(), build(root, schema, name, template, depth + 1)));
    Value::Object(fields.collect())
}

fn text(schema: &Value, name: &str, template: &str) -> Value {
    let mut text = template.replace("{name}", name);
    let bound = |key: &str| {
        schema[key]
            .as_u64()
            .and_then(|bound| usize::try_from(bound).ok())
    };
    if let Some(most) = bound("maxLength") {
        text = text.chars().take(most).collect();
    }
    while bound("minLength").is_some_and(|least| text.chars().count() < least) {
        text.push('.');
    }
    Value::from(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{expected_in, instance};

    #[test]
    fn an_instance_is_small_and_complete() {
        let schema = json!({
            "type": "object",
            "required": ["summary", "columns", "grain", "maybe", "ref"],
            "properties": {
                "summary": { "type": "string", "maxLength": 12 },
                "columns": { "type": "array", "minItems": 1, "items": {
                    "type": "object", "properties": { "name": { "type": "string" }, "rank": { "type": "integer", "minimum": 1 } },
                } },
                "grain": { "enum": ["day", "month"] },
                "maybe": { "anyOf": [{ "type": "null" }, { "type": "number" }] },
                "ref": { "$ref": "#/$defs/flag" },
                "left_out": { "type": "string" },
            },
            "$defs": { "flag": { "type": "boolean" } },
        });
        assert_eq!(
            instance(&schema, "described {name}"),
            json!({
                "summary": "described su",
                "columns": [{ "name": "described name", "rank": 1 }],
                "grain": "day", "maybe": 0.0, "ref": false,
            })
        );
    }

    #[test]
    fn a_prompt_can_contain_its_answer() {
        let prompt = "Describe.\n```json expected\n{\"a\": 1}\n```\n";
        assert_eq!(expected_in(prompt), Some(json!({ "a": 1 })));
        assert_eq!(expected_in("```json\n{}\n```"), None);
    }
}
