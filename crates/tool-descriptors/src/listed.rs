//! The listed schema of a tool: short, because each conversation pays for it.

use serde_json::{Map, Value, json};

use crate::ToolDescriptor;

#[derive(Debug, Clone, PartialEq)]
pub struct ListedTool {
    pub description: String,
    /// A call also accepts everything that the tool's own schema allows.
    pub input_schema: Value,
}

impl ListedTool {
    /// A schema that names its JSON Schema dialect is listed as it is.
    pub fn of(tool: &ToolDescriptor) -> Self {
        let schema = &tool.input_schema;
        Self {
            description: tool.description.clone(),
            input_schema: if schema.get("$schema").is_some() {
                plain_schema(schema)
            } else {
                listed_schema(schema)
            },
        }
    }

    /// Lists only these arguments, in their shortest form.
    pub fn abridged(tool: &ToolDescriptor, description: &str, arguments: &[&str]) -> Self {
        let mut input_schema = compact(&tool.input_schema, Forms::Shortest);
        let properties = input_schema
            .get_mut("properties")
            .and_then(Value::as_object_mut);
        if let Some(properties) = properties {
            properties.retain(|name, _| arguments.contains(&name.as_str()));
        }
        Self {
            description: description.to_owned(),
            input_schema,
        }
    }
}

/// A call that violates one gets an answer that explains it.
const UNLISTED: [&str; 10] = [
    "additionalProperties",
    "default",
    "description",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "title",
];

/// Marks an argument of many tools, which the list does not explain.
pub const SHARED: &str = "x-shared";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forms {
    All,
    Shortest,
}

/// Keeps usual forms, values and first sentences.
pub fn listed_schema(schema: &Value) -> Value {
    let mut listed = compact(schema, Forms::All);
    let described = schema.get("properties").and_then(Value::as_object);
    let properties = listed.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let whole = described.and_then(|known| known.get(name));
        let whole = whole.filter(|whole| whole.get(SHARED).is_none());
        let text = whole.and_then(|whole| whole.get("description")?.as_str());
        if let (Some(text), Some(property)) = (text, property.as_object_mut()) {
            property.insert("description".to_owned(), first_sentence(text).into());
        }
    }
    listed
}

/// Removes the keywords that only ktx reads.
pub fn plain_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let known = object.iter().filter(|(key, _)| !key.starts_with("x-"));
            let plain = known.map(|(key, part)| (key.clone(), plain_schema(part)));
            Value::Object(plain.collect())
        }
        Value::Array(parts) => parts.iter().map(plain_schema).collect(),
        other => other.clone(),
    }
}

/// Removes descriptions and equivalent branches.
fn compact(schema: &Value, forms: Forms) -> Value {
    let Value::Object(whole) = schema else {
        return schema.clone();
    };
    if let Some(choices) = constants(whole) {
        return json!({ "enum": choices });
    }
    if let Some(branches) = alternatives(whole, forms) {
        let text = branches.iter().find(|branch| branch["type"] == "string");
        return match (branches.as_slice(), text) {
            ([only], _) => only.clone(),
            (_, Some(text)) if forms == Forms::Shortest => text.clone(),
            _ => merged(&branches),
        };
    }
    let mut listed = Map::new();
    for (key, part) in whole {
        if UNLISTED.contains(&key.as_str()) || key.starts_with("x-") {
            continue;
        }
        let part = match (key.as_str(), part) {
            ("type", Value::Array(kinds)) => without_null(kinds),
            ("properties", Value::Object(properties)) => {
                let compacted = properties.iter();
                let compacted = compacted.map(|(name, one)| (name.clone(), compact(one, forms)));
                Value::Object(compacted.collect())
            }
            ("items", items) => compact(items, forms),
            _ => part.clone(),
        };
        listed.insert(key.clone(), part);
    }
    Value::Object(listed)
}

fn constants(schema: &Map<String, Value>) -> Option<Vec<Value>> {
    let choices = schema.get("oneOf")?.as_array()?;
    let each = choices.iter().map(|choice| choice.get("const").cloned());
    each.collect()
}

/// Without `null`, because callers omit an argument instead.
fn alternatives(schema: &Map<String, Value>, forms: Forms) -> Option<Vec<Value>> {
    let branches = schema.get("anyOf")?.as_array()?;
    let is_null = |branch: &&Value| branch.get("type").is_some_and(|kind| kind == "null");
    let meant = branches.iter().filter(|branch| !is_null(branch));
    Some(meant.map(|branch| compact(branch, forms)).collect())
}

/// The keywords of objects do not apply to texts.
fn merged(branches: &[Value]) -> Value {
    let mut kinds = Vec::new();
    let mut merged = Map::new();
    for branch in branches {
        let Some(kind) = branch.get("type").filter(|kind| kind.is_string()) else {
            return json!({ "anyOf": branches });
        };
        if kinds.contains(kind) {
            return json!({ "anyOf": branches });
        }
        kinds.push(kind.clone());
        let keywords = branch.as_object().into_iter().flatten();
        let keywords = keywords.filter(|(key, _)| !["type", "required"].contains(&key.as_str()));
        merged.extend(keywords.map(|(key, part)| (key.clone(), part.clone())));
    }
    merged.insert("type".to_owned(), Value::Array(kinds));
    Value::Object(merged)
}

fn without_null(kinds: &[Value]) -> Value {
    let meant: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
    match meant.as_slice() {
        [only] => (*only).clone(),
        several => several.iter().map(|kind| (*kind).clone()).collect(),
    }
}

pub(crate) fn first_sentence(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.split_once(". ") {
        Some((first, _)) => first.to_owned(),
        None => text.trim_end_matches('.').to_owned(),
    }
}
