//! Describes shapes and values in messages.

use serde_json::Value;

use crate::form::listed;
use crate::spec::{MOST, PathKind, ValueShape};

pub(crate) fn at_path(path: &[String], message: &str) -> String {
    if path.is_empty() {
        return message.to_owned();
    }
    format!("{}: {message}", path.join("."))
}

pub(crate) fn expected(shape: &ValueShape) -> String {
    match shape {
        ValueShape::Text { most: None } => "text".to_owned(),
        ValueShape::Text { most: Some(most) } => format!("text of at most {most} characters"),
        ValueShape::Form(form) => form.described(),
        ValueShape::Path(PathKind::File) => "the path of a file".to_owned(),
        ValueShape::Path(PathKind::Folder) => "the path of a folder".to_owned(),
        ValueShape::Path(PathKind::Either) => "the path of a file or folder".to_owned(),
        ValueShape::Flag => "`true` or `false`".to_owned(),
        ValueShape::Yes => "`true`".to_owned(),
        ValueShape::Count { min, max: None } => format!("a whole number from {min}"),
        ValueShape::Count {
            min,
            max: Some(max),
        } => format!("a whole number from {min} to {max}"),
        ValueShape::Odd { max } => format!("an odd number from 1 to {max}"),
        ValueShape::AnyNumber => "a number".to_owned(),
        ValueShape::Number { min, max: None } => format!("a number from {min}"),
        ValueShape::Number {
            min,
            max: Some(max),
        } => format!("a number from {min} to {max}"),
        ValueShape::Choice(names) => listed(names),
        ValueShape::List(_) => "a list".to_owned(),
        ValueShape::OneOrMore(inner) => format!("{} or a list", expected(inner)),
        ValueShape::Keyed(_) | ValueShape::Short(_) => "text or an object".to_owned(),
        ValueShape::Schema => "an object or the path of a file".to_owned(),
        ValueShape::Matcher | ValueShape::Any => "a value".to_owned(),
        ValueShape::Object(_)
        | ValueShape::Tagged(_)
        | ValueShape::Map(_)
        | ValueShape::AnyObject
        | ValueShape::Foreign(_) => "an object".to_owned(),
    }
}

/// Does not repeat the value: it can be a secret.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(true) => "`true`",
        Value::Bool(false) => "`false`",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

pub(super) fn alternatives(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// `2.0` is a whole number.
pub(super) fn is_whole(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

pub(super) fn out_of_range(value: &Value, shape: &ValueShape) -> Option<String> {
    let number = value.as_f64()?;
    match shape {
        ValueShape::Count { min, max } => {
            let below = value.as_i64().is_some_and(i64::is_negative)
                || crate::complete::whole(value).is_none_or(|number| number < *min);
            let above = max
                .is_some_and(|max| crate::complete::whole(value).is_none_or(|number| number > max));
            match max {
                Some(max) if below || above => {
                    Some(format!("{value} is not between {min} and {max}"))
                }
                None if below => Some(format!("must be at least {min}")),
                None if crate::complete::whole(value).is_none_or(|number| number > MOST) => {
                    Some(format!("must be at most {MOST}"))
                }
                _ => None,
            }
        }
        ValueShape::Odd { max } => {
            let fits = crate::complete::whole(value)
                .is_some_and(|number| number % 2 == 1 && number <= *max);
            (!fits).then(|| format!("{value} is not an odd number from 1 to {max}"))
        }
        ValueShape::Number {
            min,
            max: Some(max),
        } if number < *min || number > *max => {
            Some(format!("{value} is not between {min} and {max}"))
        }
        ValueShape::Number { min, max: None } if number < *min => {
            Some(format!("must be at least {min}"))
        }
        _ => None,
    }
}
