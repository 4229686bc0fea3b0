//! The JSON Schema of `ktx.yaml`, for editors.

use ktx_vocabulary::{Backend, ModelRole};
use serde_json::{Map, Value, json};

use crate::Driver;
use crate::defaults::default_of;
use crate::spec::{AbsentKey, Field, KeyRule, PRICE_BY_SIZE, ROOT, Shape, driver_fields};

/// Returns the schema, draft 7. Like the check, it allows unknown keys except in prices.
pub fn schema() -> Value {
    let mut root = Map::from_iter([
        (
            "$schema".to_owned(),
            json!("http://json-schema.org/draft-07/schema#"),
        ),
        (
            "$id".to_owned(),
            json!("https://ktx.dev/schemas/ktx-project-config.json"),
        ),
        ("title".to_owned(), json!("ktx.yaml")),
        (
            "description".to_owned(),
            json!("The configuration of a ktx project."),
        ),
    ]);
    root.extend(object(ROOT.iter()));
    Value::Object(root)
}

fn object<'f>(fields: impl Iterator<Item = &'f Field>) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields {
        let described = describe(field);
        for alias in field.aliases {
            let mut alias_value = described.clone();
            let note = format!("Another spelling of `{}`.", field.name);
            alias_value.insert("description".to_owned(), Value::from(note));
            alias_value.shift_remove("default");
            properties.insert((*alias).to_owned(), Value::Object(alias_value));
        }
        properties.insert(field.name.to_owned(), Value::Object(described));
        if field.absent == AbsentKey::Refused {
            let spellings = std::iter::once(&field.name).chain(field.aliases);
            required.push(any_of(
                spellings.map(|name| json!({"required": [name]})).collect(),
            ));
        }
    }
    let mut object = Map::from_iter([
        ("type".to_owned(), json!(["object", "null"])),
        ("properties".to_owned(), Value::Object(properties)),
    ]);
    if !required.is_empty() {
        object.insert("type".to_owned(), json!("object"));
        object.insert("allOf".to_owned(), Value::Array(required));
    }
    object
}

fn describe(field: &Field) -> Map<String, Value> {
    let mut described = Map::from_iter([("description".to_owned(), Value::from(field.meaning))]);
    described.extend(shape(&field.shape));
    if let Some(default) = default_of(field) {
        described.insert("default".to_owned(), default);
    }
    described
}

fn shape(shape: &Shape) -> Map<String, Value> {
    let value = match shape {
        Shape::Text | Shape::Reference | Shape::Secret => json!({"type": "string"}),
        Shape::LooseText => json!({"type": ["string", "number", "boolean"]}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Count { min, max: None } => json!({"type": "integer", "minimum": min}),
        Shape::Count { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Shape::Ratio => json!({"type": "number", "minimum": 0, "maximum": 1}),
        Shape::Amount => json!({"type": "number", "minimum": 0}),
        Shape::Price => any_of(vec![
            Value::Object(self::shape(&Shape::Amount)),
            closed(PRICE_BY_SIZE),
        ]),
        Shape::ClosedObject(fields) => closed(fields),
        Shape::List(fields) => json!({"type": "array", "items": closed(fields)}),
        Shape::Choice(names) => json!({"type": "string", "enum": names}),
        Shape::Backend => {
            json!({"type": "string", "enum": Backend::all().map(Backend::as_str).collect::<Vec<_>>()})
        }
        Shape::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Shape::TextOrTexts => any_of(vec![
            json!({"type": "string"}),
            json!({"type": "array", "items": {"type": "string"}}),
        ]),
        Shape::FunctionName => json!({
            "type": "string",
            "pattern": r"^[\p{L}_][\p{L}\p{N}_$-]*(\.[\p{L}_][\p{L}\p{N}_$-]*){0,2}$",
        }),
        Shape::FunctionNames => json!({
            "type": "array",
            "items": Value::Object(self::shape(&Shape::FunctionName)),
        }),
        Shape::Counts => json!({"type": "array", "items": {"type": "integer", "minimum": 1}}),
        Shape::Object(fields) | Shape::OpenObject(fields) => Value::Object(object(fields.iter())),
        Shape::AnyObject => json!({"type": ["object", "null"]}),
        Shape::Map(rule, inner) => map(*rule, inner),
        Shape::Either(shapes) => any_of(
            shapes
                .iter()
                .map(|inner| Value::Object(self::shape(inner)))
                .collect(),
        ),
        Shape::Nullable(inner) => any_of(vec![
            Value::Object(self::shape(inner)),
            json!({"type": "null"}),
        ]),
        Shape::Connections => connections(),
    };
    match value {
        Value::Object(keywords) => keywords,
        _ => Map::new(),
    }
}

fn closed(fields: &[Field]) -> Value {
    let mut object = object(fields.iter());
    object.insert("additionalProperties".to_owned(), Value::Bool(false));
    Value::Object(object)
}

fn map(rule: KeyRule, inner: &Shape) -> Value {
    let inner = any_of(vec![Value::Object(shape(inner)), json!({"type": "null"})]);
    match rule {
        KeyRule::Any => json!({"type": ["object", "null"], "additionalProperties": inner}),
        KeyRule::Number => json!({
            "type": ["object", "null"],
            "patternProperties": {"^0*[1-9][0-9]*$": inner},
            "additionalProperties": false,
        }),
        KeyRule::Role => {
            let roles = ModelRole::ALL.map(|role| (role.as_str().to_owned(), inner.clone()));
            json!({"type": ["object", "null"], "properties": Map::from_iter(roles)})
        }
    }
}

fn connections() -> Value {
    let drivers = Driver::ALL.map(|driver| {
        json!({
            "if": {"properties": {"driver": {"const": driver.as_str()}}, "required": ["driver"]},
            "then": Value::Object(object(driver_fields(driver).iter())),
        })
    });
    json!({
        "type": ["object", "null"],
        "propertyNames": {"pattern": "^[a-zA-Z0-9][a-zA-Z0-9_-]*$"},
        "additionalProperties": {
            "type": "object",
            "required": ["driver"],
            "properties": {
                "driver": {
                    "description": "What the connection leads to.",
                    "type": "string",
                    "enum": Driver::ALL.map(Driver::as_str),
                },
            },
            "allOf": drivers,
        },
    })
}

fn any_of(mut choices: Vec<Value>) -> Value {
    match (choices.pop(), choices.is_empty()) {
        (Some(only), true) => only,
        (Some(last), false) => {
            choices.push(last);
            json!({"anyOf": choices})
        }
        (None, _) => json!({}),
    }
}

#[cfg(test)]
mod tests;
