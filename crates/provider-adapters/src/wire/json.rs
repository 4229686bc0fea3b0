//! Small readers of JSON that another program wrote.

use serde_json::{Map, Value};

/// The text at a JSON pointer.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// The count at a JSON pointer; 0 when it is absent or no count.
pub(crate) fn count(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// The list at a JSON pointer; empty when it is absent or no list.
pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A map of one key.
pub(crate) fn map1(key: &str, value: impl Into<Value>) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value.into())])
}

/// The arguments of a call from their text; `None` when they are no JSON object.
pub(crate) fn arguments(text: &str) -> Option<Value> {
    if text.trim().is_empty() {
        return Some(Value::Object(Map::default()));
    }
    let value: Option<Value> = serde_json::from_str(text).ok(); // the caller reports it as broken
    value.filter(Value::is_object)
}

/// How many bytes of text are in a value, keys aside; a number counts as its digits.
pub(crate) fn written(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 0,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(written).sum(),
        Value::Object(map) => map.values().map(written).sum(),
    }
}

/// An amount of US dollars at the first of these places that has one, as a number or as its digits.
pub(crate) fn dollars(value: &Value, places: &[&str]) -> Option<f64> {
    let amount = |place: &&str| match value.pointer(place)? {
        Value::String(digits) => digits.parse().ok(), // a word is no amount
        other => other.as_f64(),
    };
    places
        .iter()
        .find_map(amount)
        .filter(|amount| amount.is_finite() && *amount >= 0.0)
}
