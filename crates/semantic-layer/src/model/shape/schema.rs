//! The JSON schema of source files, for editors.

use serde_json::{Map, Value, json};

use super::measure::{FORMS, MEASURE};
use super::{Holds, Key, OVERLAY, Presence, Record, STANDALONE};
use crate::model::authored::FARTHEST;

/// Draft-07. A file with `table` or `sql` is standalone, any other an overlay.
pub fn source_schema() -> Value {
    let mut definitions = Map::new();
    define(&STANDALONE, &mut definitions);
    define(&OVERLAY, &mut definitions);
    if let Some(Value::Object(measure)) = definitions.get_mut(MEASURE.name) {
        let forms: Vec<Value> = FORMS.iter().map(|key| json!({"required": [key]})).collect();
        measure.insert("oneOf".to_owned(), json!(forms));
    }
    if let Some(Value::Object(standalone)) = definitions.get_mut(STANDALONE.name) {
        standalone.insert(
            "oneOf".to_owned(),
            json!([{"required": ["table"]}, {"required": ["sql"]}]),
        );
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "ktx semantic source",
        "description": "One source of a connection's `semantic-layer` folder.",
        "type": "object",
        "if": {"anyOf": [{"required": ["table"]}, {"required": ["sql"]}]},
        "then": reference(&STANDALONE),
        "else": reference(&OVERLAY),
        "definitions": definitions,
    })
}

fn reference(record: &Record) -> Value {
    json!({"$ref": format!("#/definitions/{}", record.name)})
}

fn define(record: &Record, definitions: &mut Map<String, Value>) {
    let mut properties = Map::new();
    for key in record.keys {
        properties.insert(key.name.to_owned(), property(key));
    }
    let required: Vec<&str> = record
        .keys
        .iter()
        .filter(|key| key.presence == Presence::Required)
        .map(|key| key.name)
        .collect();
    let definition = json!({
        "description": record.about,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    definitions.insert(record.name.to_owned(), definition);
    for key in record.keys {
        if let Holds::Records(inner) | Holds::Record(inner) | Holds::WordOr(_, inner) = key.holds
            && !definitions.contains_key(inner.name)
        {
            define(inner, definitions);
        }
    }
}

/// An optional key can have an empty value.
fn property(key: &Key) -> Value {
    let null = match key.presence {
        Presence::Required => None,
        Presence::Optional => Some("null"),
    };
    let types = |name: &'static str| match null {
        None => json!(name),
        Some(word) => json!([name, word]),
    };
    let mut schema = match key.holds {
        Holds::Text => json!({"type": types("string")}),
        Holds::Truth => json!({"type": types("boolean")}),
        Holds::Texts => json!({"type": types("array"), "items": {"type": "string"}}),
        Holds::Choice(words) => {
            let words: Vec<Value> = words.iter().map(|word| json!(word)).collect();
            let null = null.map(|_| Value::Null);
            json!({"enum": words.into_iter().chain(null).collect::<Vec<_>>()})
        }
        Holds::Count => json!({"type": types("integer"), "minimum": 1, "maximum": FARTHEST}),
        Holds::Records(record) => json!({"type": types("array"), "items": reference(record)}),
        Holds::Record(record) => match null {
            None => json!({"allOf": [reference(record)]}),
            Some(_) => json!({"anyOf": [reference(record), {"type": "null"}]}),
        },
        Holds::WordOr(word, record) => {
            json!({"anyOf": [{"const": word}, reference(record), {"type": "null"}]})
        }
        Holds::Descriptions => json!({
            "type": types("object"),
            "properties": super::WRITERS.iter().map(|writer| {
                ((*writer).to_owned(), json!({"type": ["string", "null"]}))
            }).collect::<Map<String, Value>>(),
            "additionalProperties": {"type": ["string", "null"]},
        }),
        Holds::Free => json!({}),
    };
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".to_owned(), json!(key.about));
        if key.presence == Presence::Required && matches!(key.holds, Holds::Texts) {
            schema.insert("minItems".to_owned(), json!(1));
        }
    }
    schema
}
