//! Describes shapes and values in messages.

use serde_json::Value;

use crate::spec::Shape;

pub(crate) fn expected(shape: &Shape) -> String {
    match shape {
        Shape::Text | Shape::LooseText => "text".to_owned(),
        Shape::Reference | Shape::Secret => "text, `env:NAME` or `file:PATH`".to_owned(),
        Shape::Flag => "`true` or `false`".to_owned(),
        Shape::Count { min, max: None } => format!("a whole number from {min}"),
        Shape::Count {
            min,
            max: Some(max),
        } => format!("a whole number from {min} to {max}"),
        Shape::Amount | Shape::Price => "a number from 0".to_owned(),
        Shape::List(_) => "a list of objects".to_owned(),
        Shape::Ratio => "a number from 0 to 1".to_owned(),
        Shape::Choice(names) => match names {
            [name] => format!("`{name}`"),
            _ => format!("one of {}", listed(names)),
        },
        Shape::Texts => "a list of texts".to_owned(),
        Shape::TextOrTexts => "text or a list of texts".to_owned(),
        Shape::FunctionName => "a function's name, `name` or `schema.name`".to_owned(),
        Shape::FunctionNames => "a list of function names".to_owned(),
        Shape::Counts => "a list of whole numbers from 1".to_owned(),
        Shape::Either(shapes) => shapes.iter().map(expected).collect::<Vec<_>>().join(" or "),
        Shape::Nullable(inner) => format!("{} or nothing", expected(inner)),
        Shape::Object(_)
        | Shape::OpenObject(_)
        | Shape::ClosedObject(_)
        | Shape::AnyObject
        | Shape::Map(..)
        | Shape::Connections => "an object".to_owned(),
        Shape::Backend => "a backend".to_owned(),
    }
}

pub(crate) fn found(value: &Value, shape: &Shape) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        _ if matches!(shape, Shape::Reference | Shape::Secret) => match value {
            Value::Bool(_) => "a flag".to_owned(),
            Value::Number(_) => "a number".to_owned(),
            _ => "text".to_owned(),
        },
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

pub(crate) fn listed(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
