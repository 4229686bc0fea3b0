//! Object schemas and validation against them.

use std::sync::Arc;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use ktx_diagnostics::excerpt;
use serde_json::Value;

use crate::descriptor::NextSteps;
use crate::lenient;
use crate::listed::first_sentence;
use crate::repair::repaired;

/// A schema that is compiled once; its root is an object.
#[derive(Clone)]
pub struct ObjectSchema {
    value: Arc<Value>,
    validator: Arc<jsonschema::Validator>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The root is not `"type": "object"` (KTX-53).
    #[error("the schema must have `\"type\": \"object\"` at its root")]
    NotAnObject,
    #[error("the schema is not valid: {reason}")]
    Invalid { reason: String },
}

impl ObjectSchema {
    pub fn new(value: Value) -> Result<Self, SchemaError> {
        if value.get("type").and_then(Value::as_str) != Some("object") {
            return Err(SchemaError::NotAnObject);
        }
        let validator =
            jsonschema::validator_for(&value).map_err(|error| SchemaError::Invalid {
                reason: error.to_string(),
            })?;
        Ok(Self {
            value: Arc::new(value),
            validator: Arc::new(validator),
        })
    }

    pub fn as_value(&self) -> &Value {
        &self.value
    }

    /// Converts values to the form of the schema if they can mean only one thing.
    pub fn normalized(&self, instance: Value) -> Value {
        lenient::normalized(&self.value, instance)
    }

    /// The errors of arguments, and the next steps.
    pub(crate) fn refusal(&self, arguments: &Value) -> Option<(Vec<String>, NextSteps)> {
        let violations = self.violations(arguments);
        if violations.is_empty() {
            return None;
        }
        let repaired = repaired(&self.value, arguments);
        let repaired = repaired.filter(|repaired| self.validator.is_valid(repaired));
        let is_short = |value: &Value| value_length(value, LONGEST_SUGGESTION).is_some();
        let steps = NextSteps {
            hints: self.hints(arguments),
            suggestions: repaired.filter(is_short).into_iter().collect(),
        };
        Some((violations, steps))
    }

    /// One hint for each wrong argument, in document order.
    fn hints(&self, arguments: &Value) -> Vec<String> {
        let known = self.value.get("properties").and_then(Value::as_object);
        let mut hints = Vec::new();
        for error in self.validator.iter_errors(arguments).take(MOST) {
            let place = error.instance_path().to_string();
            let argument = place.split('/').nth(1).map(str::to_owned);
            let hint = match (error.kind(), argument) {
                (ValidationErrorKind::Required { property }, None) => {
                    let name = property.as_str().unwrap_or_default();
                    format!("add {}", self.explained(name))
                }
                (_, Some(name)) => format!("correct {}", self.explained(&name)),
                (_, None) => {
                    let names = known.into_iter().flatten().map(|(name, _)| name);
                    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                    if names.is_empty() {
                        "send no arguments".to_owned()
                    } else {
                        format!("use only the arguments {}", names.join(", "))
                    }
                }
            };
            if !hints.contains(&hint) && hints.len() < MOST_HINTS {
                hints.push(hint);
            }
        }
        hints
    }

    /// An argument with the first sentence of its description.
    fn explained(&self, name: &str) -> String {
        let properties = self.value.get("properties");
        let property = properties.and_then(|properties| properties.get(name));
        let text = property.and_then(|property| property.get("description")?.as_str());
        match text {
            Some(text) => format!(
                "`{}`: {}",
                excerpt(name),
                uncapitalized(&first_sentence(text))
            ),
            None => format!("`{}`", excerpt(name)),
        }
    }

    /// The violations of an instance, each `path: message`, in document order. They are few and
    /// short, because users and models read them: long values are not repeated, and omissions are
    /// reported.
    pub fn violations(&self, instance: &Value) -> Vec<String> {
        let mut errors = self.validator.iter_errors(instance);
        let mut found: Vec<String> = errors
            .by_ref()
            .take(MOST)
            .flat_map(|error| match meant_branch(&error) {
                Some(errors) => errors.iter().map(words).collect(),
                None => vec![words(&error)],
            })
            .collect();
        if errors.next().is_some() {
            found.push("(root): there are more violations".to_owned());
        }
        found
    }
}

const MOST: usize = 20;
const MOST_HINTS: usize = 4;
/// The limit in bytes of JSON.
const LONGEST_SUGGESTION: usize = 2_000;
/// The longest value that a violation repeats, in bytes of JSON.
const LONGEST_VALUE: usize = 60;

/// The violations of the one alternative with the type of an instance, which explain more than "no
/// alternative fits".
fn meant_branch<'a>(error: &'a ValidationError<'_>) -> Option<&'a [ValidationError<'static>]> {
    let ValidationErrorKind::AnyOf { context } = error.kind() else {
        return None;
    };
    let place = error.instance_path();
    let has_other_type = |branch: &&Vec<ValidationError<'_>>| {
        branch.iter().any(|inner| {
            matches!(inner.kind(), ValidationErrorKind::Type { .. })
                && inner.instance_path() == place
        })
    };
    let mut meant = context.iter().filter(|branch| !has_other_type(branch));
    let only = meant.next()?;
    meant.next().is_none().then_some(only.as_slice())
}

/// Prepares a sentence for the middle of another one.
fn uncapitalized(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}

fn words(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let place = if path.is_empty() { "(root)" } else { &path };
    let what = if is_short(error.instance()) {
        error.to_string()
    } else {
        error.masked_with("the value").to_string()
    };
    format!("{}: {}", excerpt(place), excerpt(&what))
}

/// Does not serialize a long value to find out.
fn is_short(value: &Value) -> bool {
    value_length(value, LONGEST_VALUE).is_some()
}

/// The remainder of `most` after the value; `None` if the value is longer.
fn value_length(value: &Value, most: usize) -> Option<usize> {
    let left = most.checked_sub(2)?;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            most.checked_sub(value.to_string().len())
        }
        Value::String(text) => left.checked_sub(text.len()),
        Value::Array(items) => items
            .iter()
            .try_fold(left, |left, item| value_length(item, left)),
        Value::Object(map) => map.iter().try_fold(left, |left, (key, item)| {
            value_length(item, left.checked_sub(key.len())?)
        }),
    }
}

impl std::fmt::Debug for ObjectSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ObjectSchema").field(&self.value).finish()
    }
}

impl PartialEq for ObjectSchema {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

pub fn object_schema_for<T: schemars::JsonSchema>() -> Result<ObjectSchema, SchemaError> {
    ObjectSchema::new(schema_for::<T>())
}

/// Draft 2020-12, not validated yet, with inlined subschemas and without integer formats, because
/// the official TypeScript MCP client complains about them.
pub fn schema_for<T: schemars::JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings
            .transforms
            .push(Box::new(schemars::transform::RestrictFormats::default()));
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut value = schema.to_value();
    if let Value::Object(map) = &mut value {
        map.shift_remove("$schema");
        map.shift_remove("title");
    }
    value
}
