//! Applies the table's defaults to a checked value.

use serde_json::{Map, Value, json};

use crate::spec::{AbsentEffect, Field, ShortForm, TaggedShape, ValueShape, Variant, VariantBody};

/// Returns the value with all defaults and without keys that ktx ignores.
pub(crate) fn complete(value: &Value, shape: &ValueShape) -> Value {
    match shape {
        ValueShape::Form(form) => match value {
            Value::String(text) => form.complete(text),
            Value::Number(_) | Value::Bool(_) => Value::from(value.to_string()),
            _ => value.clone(),
        },
        ValueShape::Count { .. } | ValueShape::Odd { .. } => {
            whole(value).map_or_else(|| value.clone(), Value::from)
        }
        ValueShape::Object(fields) => object(value, &fields.iter().collect::<Vec<_>>()),
        ValueShape::Tagged(tagged) => self::tagged(value, tagged),
        ValueShape::Keyed(variants) => keyed(value, variants),
        ValueShape::Short(short) => self::short(value, short),
        ValueShape::List(list) => items(value, &list.item),
        ValueShape::OneOrMore(item) => match value {
            Value::Array(_) => items(value, item),
            _ => Value::Array(vec![complete(value, item)]),
        },
        ValueShape::Map(inner) => {
            let entries = value.as_object().into_iter().flatten();
            entries
                .map(|(key, value)| (key.clone(), complete(value, inner)))
                .collect()
        }
        ValueShape::Matcher => matcher(value),
        _ => value.clone(),
    }
}

/// `2.0` is a whole number.
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
        // A test parses all defaults.
        AbsentEffect::Default(json) => serde_json::from_str(json).ok(),
        AbsentEffect::Nothing | AbsentEffect::Descend | AbsentEffect::Refused => None,
    }
}

fn object(value: &Value, fields: &[&Field]) -> Value {
    let mut completed = Map::new();
    for field in fields {
        let written = value.get(field.name).filter(|value| !value.is_null());
        let default = match field.absent {
            AbsentEffect::Descend => Some(json!({})),
            _ => default_of(field),
        };
        let is_foreign = matches!(field.shape, ValueShape::Foreign(_));
        if let Some(value) = written.cloned().or(default).filter(|_| !is_foreign) {
            completed.insert(field.name.to_owned(), complete(&value, &field.shape));
        }
    }
    Value::Object(completed)
}

fn tagged(value: &Value, tagged: &TaggedShape) -> Value {
    let name = value.get(tagged.tag).and_then(Value::as_str);
    let variant = name
        .or(tagged.absent)
        .and_then(|name| tagged.variants.iter().find(|variant| variant.name == name));
    let Some(variant) = variant else {
        return value.clone();
    };
    let mut completed = body(value, variant);
    if let Value::Object(entries) = &mut completed {
        entries.insert(tagged.tag.to_owned(), Value::from(variant.name));
    }
    completed
}

fn keyed(value: &Value, variants: &[Variant]) -> Value {
    let variant = variants
        .iter()
        .find(|variant| value.get(variant.name).is_some());
    let Some(variant) = variant else {
        return value.clone();
    };
    let mut completed = body(value, variant);
    if let Value::Object(entries) = &mut completed {
        entries.insert("kind".to_owned(), Value::from(variant.name));
    }
    completed
}

fn body(value: &Value, variant: &Variant) -> Value {
    match variant.body {
        VariantBody::Fields(groups) => {
            let fields: Vec<&Field> = groups.iter().copied().flatten().collect();
            object(value, &fields)
        }
        VariantBody::Tagged(inner) => tagged(value, inner),
        VariantBody::Refused { .. } => value.clone(),
    }
}

fn short(value: &Value, short: &ShortForm) -> Value {
    let Value::String(_) = value else {
        return complete(value, &short.full);
    };
    let mut entries = Map::from_iter([(short.key.to_owned(), value.clone())]);
    match &short.fixed {
        Some(fixed) => {
            entries.insert(fixed.key.to_owned(), Value::from(fixed.value));
            Value::Object(entries)
        }
        None => complete(&Value::Object(entries), &short.full),
    }
}

fn items(value: &Value, shape: &ValueShape) -> Value {
    let items = value.as_array().into_iter().flatten();
    items.map(|item| complete(item, shape)).collect()
}

fn matcher(value: &Value) -> Value {
    let is_matcher = value
        .as_object()
        .filter(|object| object.len() == 1)
        .is_some_and(|object| object.contains_key("fuzzy") || object.contains_key("regex"));
    if is_matcher {
        value.clone()
    } else {
        json!({ "literal": value })
    }
}
