//! Readers for foreign JSON.

use serde_json::{Map, Value};

pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

pub(crate) fn count(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

pub(crate) fn single_entry(key: &str, value: impl Into<Value>) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value.into())])
}

pub(crate) fn arguments(text: &str) -> Option<Value> {
    if text.trim().is_empty() {
        return Some(Value::Object(Map::default()));
    }
    let value: Option<Value> = serde_json::from_str(text).ok(); // the caller reports it as broken
    value.filter(Value::is_object)
}

/// Bytes of text without keys; numbers count as digits.
pub(crate) fn written(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 0,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(written).sum(),
        Value::Object(map) => map.values().map(written).sum(),
    }
}

/// US dollars, at the first pointer with an amount.
pub(crate) fn dollars(value: &Value, places: &[&str]) -> Option<f64> {
    let amount = |place: &&str| match value.pointer(place)? {
        Value::String(digits) => digits.parse().ok(), // not a number: no amount
        other => other.as_f64(),
    };
    places
        .iter()
        .find_map(amount)
        .filter(|amount| amount.is_finite() && *amount >= 0.0)
}
