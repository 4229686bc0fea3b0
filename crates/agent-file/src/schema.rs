//! The JSON Schema of agent files, for editors.

use serde_json::{Map, Value, json};

use crate::complete::default_of;
use crate::spec::{
    AbsentEffect, Field, MOST, ROOT, ShortForm, TaggedShape, ValueShape, Variant, VariantBody,
};

/// Returns the draft 7 schema, as strict as ktx about keys and values. `ktx agent validate` checks
/// rules across keys.
pub fn schema() -> Value {
    let mut root = Map::from_iter([
        (
            "$schema".to_owned(),
            json!("http://json-schema.org/draft-07/schema#"),
        ),
        (
            "$id".to_owned(),
            json!("https://ktx.dev/schemas/ktx-agent.json"),
        ),
        ("title".to_owned(), json!("A ktx agent file")),
        (
            "description".to_owned(),
            json!("The model, instructions, tools, permissions and cases of an agent."),
        ),
    ]);
    root.extend(object(&ROOT.iter().collect::<Vec<_>>(), Map::new()));
    Value::Object(root)
}

fn object(fields: &[&Field], others: Map<String, Value>) -> Map<String, Value> {
    let mut properties = others;
    let mut required = Vec::new();
    for field in fields {
        properties.insert(field.name.to_owned(), described(field));
        if field.absent == AbsentEffect::Refused {
            required.push(Value::from(field.name));
        }
    }
    let mut object = Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("additionalProperties".to_owned(), Value::Bool(false)),
    ]);
    if !required.is_empty() {
        object.insert("required".to_owned(), Value::Array(required));
    }
    object
}

/// A key without a value counts as absent unless it is required.
fn described(field: &Field) -> Value {
    let mut described = Map::from_iter([("description".to_owned(), Value::from(field.meaning))]);
    match (shape(&field.shape), field.absent) {
        (Value::Object(keywords), AbsentEffect::Refused) => described.extend(keywords),
        (Value::Object(keywords), _) if keywords.is_empty() => {}
        (keywords, _) => {
            described.insert("anyOf".to_owned(), json!([keywords, { "type": "null" }]));
        }
    }
    if let Some(default) = default_of(field) {
        described.insert("default".to_owned(), default);
    }
    Value::Object(described)
}

fn shape(shape: &ValueShape) -> Value {
    match shape {
        ValueShape::Text { most: None } => json!({ "type": "string", "pattern": r"\S" }),
        ValueShape::Text { most: Some(most) } => {
            json!({ "type": "string", "pattern": r"\S", "maxLength": most })
        }
        ValueShape::Path(_) => json!({ "type": "string", "pattern": r"\S" }),
        ValueShape::Form(form) => form.schema(),
        ValueShape::Flag => json!({ "type": "boolean" }),
        ValueShape::Yes => json!({ "const": true }),
        ValueShape::Count { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max.unwrap_or(MOST) })
        }
        ValueShape::Odd { max } => {
            let odd: Vec<u64> = (1..=*max).filter(|number| number % 2 == 1).collect();
            json!({ "enum": odd })
        }
        ValueShape::AnyNumber => json!({ "type": "number" }),
        ValueShape::Number { min, max: None } => json!({ "type": "number", "minimum": min }),
        ValueShape::Number { min, max } => {
            json!({ "type": "number", "minimum": min, "maximum": max })
        }
        ValueShape::Choice(names) => json!({ "type": "string", "enum": names }),
        ValueShape::Object(fields) => {
            Value::Object(object(&fields.iter().collect::<Vec<_>>(), Map::new()))
        }
        ValueShape::Tagged(tagged) => self::tagged(tagged, &Map::new()),
        ValueShape::Keyed(variants) => {
            any_of(variants.iter().filter_map(|variant| match variant.body {
                VariantBody::Fields(groups) => {
                    Some(Value::Object(object(&joined(groups), Map::new())))
                }
                _ => None,
            }))
        }
        ValueShape::Short(short) => self::short(short),
        ValueShape::List(list) => {
            let mut keywords = json!({ "type": "array", "items": self::shape(&list.item) });
            if let (Some(most), Value::Object(keywords)) = (list.most, &mut keywords) {
                keywords.insert("maxItems".to_owned(), json!(most));
            }
            keywords
        }
        ValueShape::OneOrMore(item) => {
            let item = self::shape(item);
            json!({ "anyOf": [item, { "type": "array", "items": item }] })
        }
        ValueShape::Map(inner) => {
            json!({ "type": "object", "additionalProperties": self::shape(inner) })
        }
        ValueShape::Schema => json!({ "anyOf": [
            { "type": "object", "properties": { "type": { "const": "object" } } },
            { "type": "string", "pattern": r"\S" },
        ] }),
        ValueShape::AnyObject => json!({ "type": "object" }),
        ValueShape::Any | ValueShape::Matcher | ValueShape::Foreign(_) => json!({}),
    }
}

fn short(short: &ShortForm) -> Value {
    any_of([shape(&short.text), shape(&short.full)].into_iter())
}

/// One alternative per variant; `outer` has the outer tags.
fn tagged(tagged: &TaggedShape, outer: &Map<String, Value>) -> Value {
    let alternatives = tagged
        .variants
        .iter()
        .filter_map(|variant| self::variant(tagged, variant, outer));
    any_of(alternatives)
}

fn variant(tagged: &TaggedShape, variant: &Variant, outer: &Map<String, Value>) -> Option<Value> {
    let mut tags = outer.clone();
    tags.insert(tagged.tag.to_owned(), json!({ "const": variant.name }));
    match variant.body {
        VariantBody::Fields(groups) => {
            let mut keywords = object(&joined(groups), tags);
            if tagged.absent.is_none_or(|name| name != variant.name) {
                let required = keywords
                    .entry("required")
                    .or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(required) = required {
                    required.push(Value::from(tagged.tag));
                }
            }
            Some(Value::Object(keywords))
        }
        VariantBody::Tagged(inner) => Some(self::tagged(inner, &tags)),
        VariantBody::Refused { .. } => None,
    }
}

fn joined(groups: &'static [&'static [Field]]) -> Vec<&'static Field> {
    groups.iter().copied().flatten().collect()
}

fn any_of(alternatives: impl Iterator<Item = Value>) -> Value {
    json!({ "anyOf": alternatives.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests;
