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
