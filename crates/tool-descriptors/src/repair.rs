//! Repairs arguments for a refusal to suggest.

use ktx_diagnostics::nearest;
use serde_json::{Map, Value};

use crate::lenient::{accepts, choices, list_items, normalized, object_branch};

/// Returns `None` if that would lose information, or if the meaning is unclear.
pub(crate) fn repaired(schema: &Value, value: &Value) -> Option<Value> {
    let repaired = match value {
        Value::Object(object) if accepts(schema, "object") => {
            Value::Object(object_of(object_branch(schema)?, object)?)
        }
        Value::Array(items) if accepts(schema, "array") => Value::Array(list_of(schema, items)?),
        Value::Number(number) if accepts(schema, "integer") => bounded(schema, number.as_f64()?)?,
        Value::String(text) if choices(schema).is_some() => {
            let known = choices(schema)?;
            let near = if known.contains(&text.as_str()) {
                vec![text.as_str()]
            } else {
                nearest(text, known)
            };
            Value::from(*near.first()?)
        }
        Value::String(text) if accepts(schema, "string") => {
            let is_too_short = text.is_empty() && schema.get("minLength").is_some();
            (!is_too_short).then(|| value.clone())?
        }
        Value::String(text) if accepts(schema, "integer") => {
            bounded(schema, text.trim().parse().ok()?)?
        }
        Value::Number(_) | Value::Bool(_) if accepts(schema, "string") => {
            Value::from(value.to_string())
        }
        Value::Number(_) | Value::Bool(_) if list_items(schema).is_some() => {
            Value::Array(vec![repaired(list_items(schema)?, value)?])
        }
        Value::Bool(_) if accepts(schema, "boolean") => value.clone(),
        Value::Null if accepts(schema, "null") => Value::Null,
        _ => return None,
    };
    Some(repaired)
}

fn object_of(schema: &Value, object: &Map<String, Value>) -> Option<Map<String, Value>> {
    let Some(known) = schema.get("properties").and_then(Value::as_object) else {
        return Some(object.clone());
    };
    let mut read = Map::with_capacity(object.len());
    for (key, value) in object {
        let name = if known.contains_key(key) {
            key.as_str()
        } else {
            let free = known.keys().filter(|name| !object.contains_key(*name));
            let near = nearest(key, free.map(String::as_str));
            near.first()
                .copied()
                .filter(|name| !read.contains_key(*name))?
        };
        let property = known.get(name)?;
        let is_unsaid = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if is_unsaid && !is_required(schema, name) {
            continue;
        }
        let value = normalized(property, value.clone());
        read.insert(name.to_owned(), repaired(property, &value)?);
    }
    Some(read)
}

fn list_of(schema: &Value, items: &[Value]) -> Option<Vec<Value>> {
    let Some(of) = list_items(schema) else {
        return Some(items.to_vec());
    };
    let said = items.iter().filter(|item| !item.is_null());
    said.map(|item| repaired(of, item)).collect()
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|one| one == name))
}

fn bounded(schema: &Value, number: f64) -> Option<Value> {
    let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
    let whole = number.is_finite().then(|| number.round())?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number beyond the range becomes the bound of the range"
    )]
    let whole = whole as i64;
    let low = bound("minimum").unwrap_or(i64::MIN);
    let high = bound("maximum").unwrap_or(i64::MAX);
    (low <= high).then(|| Value::from(whole.clamp(low, high)))
}
