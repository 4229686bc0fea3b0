//! Converts arguments that can only mean one thing to the form of the schema.

use serde_json::{Map, Number, Value};

use crate::properties::{meant, same_text};

const ALTERNATIVES: [&str; 2] = ["anyOf", "oneOf"];

/// Turns `"5"` into 5 where only an integer fits, a value into a list of one where only a list
/// fits, and a misspelled name into the name. Validation reports everything else.
pub(crate) fn normalized(schema: &Value, value: Value) -> Value {
    match value {
        Value::Object(object) if accepts(schema, "object") => match object_branch(schema) {
            Some(branch) => Value::Object(properties(branch, object)),
            None => Value::Object(object),
        },
        Value::Array(items) if accepts(schema, "array") => match list_items(schema) {
            Some(of) => items.into_iter().map(|item| normalized(of, item)).collect(),
            None => Value::Array(items),
        },
        Value::Array(mut items) if items.len() == 1 => match items.pop() {
            Some(only) if fits(schema, &only) => normalized(schema, only),
            other => other.into_iter().collect(),
        },
        Value::String(text) => of_text(schema, text),
        Value::Number(number) if accepts(schema, "integer") => {
            Value::Number(without_fraction(&number).unwrap_or(number))
        }
        Value::Object(_) => listed(schema, value),
        other => other,
    }
}

fn of_text(schema: &Value, text: String) -> Value {
    if text.trim().is_empty() && accepts(schema, "null") && is_typed(schema) {
        return Value::Null;
    }
    if let Some(choices) = choices(schema) {
        let meant = same_text(choices.iter().copied(), &text).map(Value::from);
        return meant.unwrap_or(Value::String(text));
    }
    let written = match text.trim_start().chars().next() {
        Some('[') if accepts(schema, "array") => serde_json::from_str::<Vec<Value>>(&text)
            .ok()
            .map(Value::Array),
        Some('{') if accepts(schema, "object") || list_items(schema).is_some() => {
            serde_json::from_str::<Map<String, Value>>(&text)
                .ok()
                .map(Value::Object)
        }
        _ => None,
    };
    if let (Some(written), true) = (written, is_typed(schema)) {
        return normalized(schema, written);
    }
    if accepts(schema, "string") {
        return Value::String(text);
    }
    if let Some(number) = whole_number(schema, &text) {
        return Value::Number(number);
    }
    if accepts(schema, "boolean")
        && let Ok(truth) = text.trim().to_lowercase().parse::<bool>()
    {
        return Value::Bool(truth);
    }
    listed(schema, Value::String(text))
}

fn fits(schema: &Value, value: &Value) -> bool {
    let kind = match value {
        Value::String(_) => "string",
        Value::Number(_) => "integer",
        Value::Object(_) => "object",
        Value::Bool(_) => "boolean",
        Value::Array(_) | Value::Null => return false,
    };
    is_typed(schema) && accepts(schema, kind)
}

fn is_typed(schema: &Value) -> bool {
    schema.get("type").is_some() || branches(schema).is_some()
}

pub(crate) fn choices(schema: &Value) -> Option<Vec<&str>> {
    if let Some(listed) = schema.get("enum").and_then(Value::as_array) {
        return listed.iter().map(Value::as_str).collect();
    }
    let mut found = Vec::new();
    for branch in branches(schema)? {
        match (branch.get("const").and_then(Value::as_str), choices(branch)) {
            (Some(only), _) => found.push(only),
            (None, Some(inner)) => found.extend(inner),
            (None, None) if branch.get("type").is_some_and(|kind| kind == "null") => {}
            (None, None) => return None,
        }
    }
    Some(found)
}

/// Also accepts integers as text, and one text instead of a list.
pub fn accepted_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let mut wide: Map<String, Value> = object
                .iter()
                .filter(|(key, _)| !key.starts_with("x-"))
                .map(|(key, part)| (key.clone(), accepted_schema(part)))
                .collect();
            let takes_text = accepts(schema, "integer")
                || list_items(schema).is_some_and(|items| accepts(items, "string"));
            if takes_text
                && !accepts(schema, "string")
                && let Some(kind) = wide.get_mut("type")
            {
                add_text(kind);
            }
            Value::Object(wide)
        }
        Value::Array(parts) => parts.iter().map(accepted_schema).collect(),
        other => other.clone(),
    }
}

/// The usual type stays first.
fn add_text(kind: &mut Value) {
    let mut kinds = match kind.take() {
        Value::Array(kinds) => kinds,
        one => vec![one],
    };
    kinds.insert(kinds.len().min(1), Value::from("string"));
    *kind = Value::Array(kinds);
}

fn properties(schema: &Value, object: Map<String, Value>) -> Map<String, Value> {
    let Some(known) = schema.get("properties").and_then(Value::as_object) else {
        return object;
    };
    let given = object.clone();
    let mut read = Map::with_capacity(object.len());
    for (key, value) in object {
        let name = match known.get_key_value(&key) {
            Some((name, _)) => Some(name.as_str()),
            None => meant(known, &given, &key),
        };
        // The second spelling of an argument stays unknown.
        if let Some(name) = name.filter(|name| !read.contains_key(*name)) {
            let property = known.get(name).unwrap_or(&Value::Null);
            read.insert(name.to_owned(), normalized(property, value));
        } else {
            read.insert(key, value);
        }
    }
    read
}

fn listed(schema: &Value, value: Value) -> Value {
    let kind = if value.is_string() {
        "string"
    } else {
        "object"
    };
    match list_items(schema) {
        Some(items) if accepts(items, kind) => Value::Array(vec![normalized(items, value)]),
        _ => value,
    }
}

fn whole_number(schema: &Value, text: &str) -> Option<Number> {
    if !accepts(schema, "integer") {
        return None;
    }
    let digits = text.trim();
    let number = digits.parse::<u64>().map(Number::from);
    number
        .or_else(|_| digits.parse::<i64>().map(Number::from))
        .ok()
}

/// Some clients write every number with a decimal point.
fn without_fraction(number: &Number) -> Option<Number> {
    if !number.is_f64() {
        return None;
    }
    let text = number.to_string();
    let whole = text.strip_suffix(".0")?;
    whole.parse::<i64>().ok().map(Number::from)
}

/// A schema without a type accepts every value.
pub(crate) fn accepts(schema: &Value, kind: &str) -> bool {
    if let Some(branches) = branches(schema) {
        return branches.iter().any(|branch| accepts(branch, kind));
    }
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        _ => true,
    }
}

pub(crate) fn branches(schema: &Value) -> Option<&Vec<Value>> {
    ALTERNATIVES
        .iter()
        .find_map(|key| schema.get(*key))
        .and_then(Value::as_array)
}

pub(crate) fn list_items(schema: &Value) -> Option<&Value> {
    let is_list = accepts(schema, "array") && schema.get("type").is_some();
    schema.get("items").filter(|_| is_list)
}

pub(crate) fn object_branch(schema: &Value) -> Option<&Value> {
    let Some(branches) = branches(schema) else {
        return Some(schema);
    };
    let mut fitting = branches.iter().filter(|branch| accepts(branch, "object"));
    fitting.next().filter(|_| fitting.next().is_none())
}
