//! Converts YAML text to JSON values.

use serde_json::{Map, Number, Value};
use serde_yaml::Value as Yaml;

#[derive(Debug)]
pub(super) struct YamlError {
    pub(super) message: String,
    pub(super) offset: Option<usize>,
}

/// An empty block is an empty mapping.
pub(super) fn read(yaml: &str) -> Result<Map<String, Value>, YamlError> {
    let value: Yaml = serde_yaml::from_str(yaml).map_err(|error| {
        let text = error.to_string();
        let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
        YamlError {
            message,
            offset: error.location().map(|place| place.index()),
        }
    })?;
    match json(value) {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::default()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Err(YamlError {
            message: "expected `name: value` lines".to_owned(),
            offset: None,
        }),
    }
}

fn json(value: Yaml) -> Value {
    match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => Value::Bool(value),
        Yaml::Number(number) => json_number(&number),
        Yaml::String(text) => Value::String(text),
        Yaml::Sequence(items) => Value::Array(items.into_iter().map(json).collect()),
        Yaml::Mapping(map) => Value::Object(
            map.into_iter()
                .map(|(key, value)| (key_text(key), json(value)))
                .collect(),
        ),
        Yaml::Tagged(tagged) => json(tagged.value),
    }
}

fn json_number(number: &serde_yaml::Number) -> Value {
    if let Some(value) = number.as_i64() {
        return Value::from(value);
    }
    if let Some(value) = number.as_u64() {
        return Value::from(value);
    }
    number
        .as_f64()
        .and_then(Number::from_f64)
        .map_or_else(|| Value::String(number.to_string()), Value::Number)
}

fn key_text(key: Yaml) -> String {
    match json(key) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
