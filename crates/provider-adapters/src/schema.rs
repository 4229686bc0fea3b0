//! Schemas for each provider. Answers are checked against the original.

use ktx_tool_descriptors::CURSOR;
use serde_json::{Map, Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnsupportedSchema {
    Reference,
    OpenObject,
    Keyword(String),
    TooManyOptional(usize),
}

/// More are refused.
const MOST_OPTIONAL: usize = 10;

/// No provider enforces these; they move into the description.
const MOVED: [&str; 11] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "maxItems",
    "uniqueItems",
    "minProperties",
];

const REFUSED: [&str; 9] = [
    "not",
    "if",
    "then",
    "else",
    "allOf",
    "patternProperties",
    "propertyNames",
    "dependentSchemas",
    "dependentRequired",
];

const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

pub(crate) fn for_anthropic(schema: &Value) -> Result<Value, UnsupportedSchema> {
    let mut schema = inlined(schema)?;
    let mut optional = 0;
    walk(&mut schema, &mut |map| {
        restrict(map)?;
        optional += optional_names(map).len();
        Ok(())
    })?;
    if optional > MOST_OPTIONAL {
        return Err(UnsupportedSchema::TooManyOptional(optional));
    }
    Ok(schema)
}

/// Optional properties become nullable; [`without_added_nulls`] reads the answer.
pub(crate) fn for_openai(schema: &Value) -> Result<Value, UnsupportedSchema> {
    let mut schema = inlined(schema)?;
    if schema.get("anyOf").is_some() || schema.get("oneOf").is_some() {
        return Err(UnsupportedSchema::Keyword("anyOf".to_owned()));
    }
    walk(&mut schema, &mut |map| {
        restrict(map)?;
        let optional = optional_names(map);
        let Some(Value::Object(properties)) = map.get_mut("properties") else {
            return Ok(());
        };
        for name in &optional {
            if let Some(property) = properties.get_mut(name) {
                *property = or_null(property.take());
            }
        }
        let names: Vec<Value> = properties.keys().cloned().map(Value::String).collect();
        map.insert("required".to_owned(), names.into());
        Ok(())
    })?;
    Ok(schema)
}

/// The cursor key becomes a property, because a strict call cannot add one. [`strict_arguments`]
/// reads the call.
pub(crate) fn for_strict_tool(schema: &Value) -> Result<Value, UnsupportedSchema> {
    let mut schema = schema.clone();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let cursor = json!({"type": "string", "description": "reads a long result on"});
        properties.insert(CURSOR.to_owned(), cursor);
    }
    for_openai(&schema)
}

pub(crate) fn strict_arguments(arguments: Value, schema: &Value) -> Value {
    let mut arguments = without_added_nulls(arguments, schema);
    if let Value::Object(arguments) = &mut arguments
        && arguments.get(CURSOR).is_some_and(Value::is_null)
    {
        arguments.shift_remove(CURSOR);
    }
    arguments
}

/// Inlines references, and removes refused keys.
pub(crate) fn for_gemini(schema: &Value) -> Value {
    let Ok(mut inlined) = inlined(schema) else {
        let mut plain = schema.clone();
        if let Value::Object(map) = &mut plain {
            map.shift_remove("$schema");
        }
        return plain;
    };
    let dropped = walk(&mut inlined, &mut |map| {
        map.shift_remove("additionalProperties");
        Ok(())
    });
    debug_assert!(dropped.is_ok(), "nothing is refused here");
    inlined
}

pub(crate) fn without_added_nulls(value: Value, schema: &Value) -> Value {
    match inlined(schema) {
        Ok(schema) => cleaned(value, &schema),
        Err(_) => value,
    }
}

fn cleaned(value: Value, schema: &Value) -> Value {
    let value = match value {
        Value::Object(map) => Value::Object(cleaned_map(map, schema)),
        Value::Array(items) => {
            let item_schema = schema.get("items").unwrap_or(&Value::Null);
            items
                .into_iter()
                .map(|item| cleaned(item, item_schema))
                .collect()
        }
        scalar => return scalar,
    };
    ["anyOf", "oneOf"]
        .iter()
        .filter_map(|key| schema.get(*key).and_then(Value::as_array))
        .flatten()
        .fold(value, cleaned)
}

fn cleaned_map(map: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return map;
    };
    let required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|names| names.iter().any(|known| known == name))
    };
    map.into_iter()
        .filter(|(name, value)| {
            !value.is_null() || required(name) || properties.get(name).is_none_or(takes_null)
        })
        .map(|(name, value)| match properties.get(&name) {
            Some(property) => {
                let value = cleaned(value, property);
                (name, value)
            }
            None => (name, value),
        })
        .collect()
}

fn takes_null(schema: &Value) -> bool {
    let names_null = match &schema["type"] {
        Value::String(name) => name == "null",
        Value::Array(names) => names.iter().any(|name| name == "null"),
        _ => false,
    };
    let variants = ["anyOf", "oneOf"]
        .iter()
        .filter_map(|key| schema.get(*key).and_then(Value::as_array))
        .flatten();
    names_null
        || variants.into_iter().any(takes_null)
        || schema.as_object().is_some_and(Map::is_empty)
}

fn or_null(schema: Value) -> Value {
    if takes_null(&schema) {
        return schema;
    }
    let Value::Object(mut map) = schema else {
        return schema;
    };
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.push(Value::Null);
    }
    if map.contains_key("const") {
        return json!({"anyOf": [map, {"type": "null"}]});
    }
    match map.get_mut("type") {
        Some(Value::Array(names)) => names.push("null".into()),
        Some(kind @ Value::String(_)) => *kind = json!([kind.take(), "null"]),
        _ => {
            if let Some(Value::Array(variants)) = map.get_mut("anyOf") {
                variants.push(json!({"type": "null"}));
            } else if !map.contains_key("enum") {
                return json!({"anyOf": [map, {"type": "null"}]});
            }
        }
    }
    Value::Object(map)
}

fn optional_names(map: &Map<String, Value>) -> Vec<String> {
    let required = map
        .get("required")
        .and_then(Value::as_array)
        .map_or(&[] as &[Value], Vec::as_slice);
    map.get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys)
        .filter(|name| !required.iter().any(|known| known == *name))
        .cloned()
        .collect()
}

fn restrict(map: &mut Map<String, Value>) -> Result<(), UnsupportedSchema> {
    if let Some(keyword) = REFUSED.iter().find(|keyword| map.contains_key(**keyword)) {
        return Err(UnsupportedSchema::Keyword((*keyword).to_owned()));
    }
    if let Some(variants) = map.shift_remove("oneOf") {
        map.insert("anyOf".to_owned(), variants);
    }
    let mut notes = Vec::new();
    for keyword in MOVED {
        if let Some(value) = map.shift_remove(keyword) {
            notes.push(format!("{keyword}: {value}"));
        }
    }
    if map
        .get("minItems")
        .and_then(Value::as_u64)
        .is_some_and(|least| least > 1)
        && let Some(value) = map.shift_remove("minItems")
    {
        notes.push(format!("minItems: {value}"));
    }
    let known = |format: &Value| FORMATS.iter().any(|name| format == name);
    if map.get("format").is_some_and(|format| !known(format))
        && let Some(value) = map.shift_remove("format")
    {
        notes.push(format!("format: {value}"));
    }
    if !notes.is_empty() {
        let original = map
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let description = format!("{original} ({})", notes.join(", "));
        map.insert("description".to_owned(), description.trim().into());
    }
    if is_object(map) {
        let closed = map.get("additionalProperties") == Some(&Value::Bool(false));
        let named = map
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|properties| !properties.is_empty());
        let open = match map.get("additionalProperties") {
            None => !named,
            Some(Value::Bool(open)) => *open,
            Some(_) => true,
        };
        if open {
            return Err(UnsupportedSchema::OpenObject);
        }
        if !closed {
            map.insert("additionalProperties".to_owned(), false.into());
        }
    }
    Ok(())
}

fn is_object(map: &Map<String, Value>) -> bool {
    match map.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        _ => map.contains_key("properties"),
    }
}

type SchemaVisitor<'a> = dyn FnMut(&mut Map<String, Value>) -> Result<(), UnsupportedSchema> + 'a;

fn walk(schema: &mut Value, visit: &mut SchemaVisitor<'_>) -> Result<(), UnsupportedSchema> {
    let Value::Object(map) = schema else {
        return Ok(());
    };
    visit(map)?;
    for (key, value) in map.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for property in properties.values_mut() {
                    walk(property, visit)?;
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(variants)) => {
                for variant in variants {
                    walk(variant, visit)?;
                }
            }
            ("items" | "additionalProperties", value) => walk(value, visit)?,
            _ => {}
        }
    }
    Ok(())
}

fn inlined(schema: &Value) -> Result<Value, UnsupportedSchema> {
    let mut open = Vec::new();
    let mut value = resolved(schema, schema, &mut open)?;
    if let Value::Object(map) = &mut value {
        for key in ["$schema", "$defs", "definitions", "$id"] {
            map.shift_remove(key);
        }
    }
    Ok(value)
}

fn resolved(
    value: &Value,
    root: &Value,
    open: &mut Vec<String>,
) -> Result<Value, UnsupportedSchema> {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                return referred(map, reference, root, open);
            }
            let mut out = Map::new();
            for (key, value) in map {
                if matches!(key.as_str(), "$defs" | "definitions") {
                    continue;
                }
                out.insert(key.clone(), resolved(value, root, open)?);
            }
            Ok(Value::Object(out))
        }
        Value::Array(items) => items
            .iter()
            .map(|item| resolved(item, root, open))
            .collect(),
        scalar => Ok(scalar.clone()),
    }
}

fn referred(
    map: &Map<String, Value>,
    reference: &str,
    root: &Value,
    open: &mut Vec<String>,
) -> Result<Value, UnsupportedSchema> {
    let pointer = reference
        .strip_prefix('#')
        .ok_or(UnsupportedSchema::Reference)?;
    if open.iter().any(|known| known == reference) {
        return Err(UnsupportedSchema::Reference);
    }
    let target = root.pointer(pointer).ok_or(UnsupportedSchema::Reference)?;
    open.push(reference.to_owned());
    let mut value = resolved(target, root, open)?;
    open.pop();
    if let Value::Object(out) = &mut value {
        for (key, beside) in map.iter().filter(|(key, _)| *key != "$ref") {
            out.insert(key.clone(), beside.clone());
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests;
