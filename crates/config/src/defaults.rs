//! Values with defaults.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::spec::{AbsentKey, Field, Shape};

static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

#[derive(Debug, Clone)]
pub(crate) struct EffectiveObject {
    object: Map<String, Value>,
}

impl EffectiveObject {
    /// Treats anything except an object as an empty object.
    pub(crate) fn new(written: &Value, fields: &[Field]) -> Self {
        Self {
            object: complete(written.as_object().unwrap_or(&EMPTY), fields),
        }
    }

    pub(crate) fn at(&self, key: &str) -> Self {
        self.optional(key).unwrap_or(Self { object: Map::new() })
    }

    pub(crate) fn optional(&self, key: &str) -> Option<Self> {
        self.object.get(key)?.as_object().map(|object| Self {
            object: object.clone(),
        })
    }

    pub(crate) fn map(&self, key: &str) -> &Map<String, Value> {
        self.object
            .get(key)
            .and_then(Value::as_object)
            .unwrap_or(&EMPTY)
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.object.get(key)?.as_str().map(str::to_owned)
    }

    pub(crate) fn texts(&self, key: &str) -> Option<Vec<String>> {
        let items = self.object.get(key)?.as_array()?;
        Some(
            items
                .iter()
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect(),
        )
    }

    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.object.get(key)?.as_bool()
    }

    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        self.object.get(key).and_then(whole)
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.object.get(key)?.as_f64()
    }
}

/// `2.0` counts as a whole number.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value
            .as_f64()
            .filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
        format!("{number:.0}").parse().ok()
    })
}

pub(crate) fn default_of(field: &Field) -> Option<Value> {
    match field.absent {
        // A test parses every default.
        AbsentKey::Default(json) => serde_json::from_str(json).ok(),
        AbsentKey::Nothing | AbsentKey::Descend | AbsentKey::Refused => None,
    }
}

fn complete(written: &Map<String, Value>, fields: &[Field]) -> Map<String, Value> {
    let mut object = written.clone();
    for field in fields {
        let value = written.get(field.name).filter(|value| !value.is_null());
        let inner = match field.shape {
            Shape::Object(inner) => Some(inner),
            _ => None,
        };
        let completed = match (value, inner) {
            (Some(value), Some(inner)) => value
                .as_object()
                .map(|value| Value::Object(complete(value, inner))),
            (Some(_), None) => continue,
            (None, Some(inner)) if field.absent == AbsentKey::Descend => {
                Some(Value::Object(complete(&EMPTY, inner)))
            }
            (None, _) => default_of(field),
        };
        match completed {
            Some(value) => object.insert(field.name.to_owned(), value),
            None => object.shift_remove(field.name),
        };
    }
    object
}
