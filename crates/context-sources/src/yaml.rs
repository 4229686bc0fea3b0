//! YAML of context sources, as values.

use serde_yaml::{Mapping, Value};

/// What is wrong with a YAML text, with its place in it.
pub(crate) struct Wrong {
    /// `file:line:column`, or the file alone.
    pub(crate) place: String,
    /// What is wrong.
    pub(crate) what: String,
}

/// The top-level mapping of a text; an empty text has an empty one.
pub(crate) fn mapping(path: &str, text: &str) -> Result<Mapping, Wrong> {
    let merged = |mut value: Value| {
        value.apply_merge()?;
        Ok(value)
    };
    match serde_yaml::from_str::<Value>(text).and_then(merged) {
        Ok(Value::Mapping(found)) => Ok(found),
        Ok(Value::Null) => Ok(Mapping::new()),
        Ok(_) => Err(Wrong {
            place: path.to_owned(),
            what: "the file is no mapping of keys".to_owned(),
        }),
        Err(error) => {
            let place = error.location().map_or_else(
                || path.to_owned(),
                |place| format!("{path}:{}:{}", place.line(), place.column()),
            );
            let what = error.to_string();
            // The place stands before it.
            let what = what.split(" at line ").next().unwrap_or_default();
            Err(Wrong {
                place,
                what: what.to_owned(),
            })
        }
    }
}

/// The text of a field; numbers and booleans as they are spelled.
pub(crate) fn text(map: &Mapping, key: &str) -> Option<String> {
    plain(map.get(key)?)
}

/// A scalar as text.
pub(crate) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => None,
    }
}

/// The mappings of a list field; other items are none of ours.
pub(crate) fn maps<'v>(map: &'v Mapping, key: &str) -> Vec<&'v Mapping> {
    let list = map.get(key).and_then(Value::as_sequence);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_mapping)
        .collect()
}

/// The texts of a list field; one text counts as a list of one.
pub(crate) fn texts(map: &Mapping, key: &str) -> Option<Vec<String>> {
    match map.get(key)? {
        Value::Sequence(list) => Some(list.iter().filter_map(plain).collect()),
        value => plain(value).map(|text| vec![text]),
    }
}
