//! Tools of a project's owner: a prepared statement or semantic query with typed parameters.

mod file;
mod run;

use ktx_diagnostics::{Code, Diagnostic, Failure};
use ktx_read_only_sql::{ParameterValue, Truth, with_values};
use ktx_sql::Dialect;
use serde_json::{Map, Value, json};

pub use file::parse_tool;
pub use run::{check_tool, custom_tools};

#[derive(Debug, Clone, PartialEq)]
pub struct CustomTool {
    pub name: String,
    pub title: String,
    pub description: String,
    pub file: String,
    /// Chosen by the query if absent.
    pub connection: Option<String>,
    pub parameters: Vec<Parameter>,
    pub body: Body,
    pub max_rows: Option<usize>,
    place: ktx_diagnostics::Location,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Sql(String),
    Query(Map<String, Value>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub kind: ParameterKind,
    pub description: String,
    /// Required if absent.
    pub default: Option<Value>,
    pub values: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    Text,
    Integer,
    Number,
    Boolean,
    /// `2026-01-31`.
    Date,
}

impl ParameterKind {
    const ALL: [Self; 5] = [
        Self::Text,
        Self::Integer,
        Self::Number,
        Self::Boolean,
        Self::Date,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    fn schema(self) -> Map<String, Value> {
        let schema = match self {
            Self::Date => {
                json!({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"})
            }
            kind => json!({"type": kind.as_str()}),
        };
        schema.as_object().cloned().unwrap_or_default()
    }

    fn value(self, value: &Value) -> Option<ParameterValue> {
        match (self, value) {
            (Self::Text, Value::String(text)) => Some(ParameterValue::Text(text.clone())),
            (Self::Date, Value::String(text)) if is_date(text) => {
                Some(ParameterValue::Text(text.clone()))
            }
            (Self::Integer, Value::Number(number)) => number.as_i64().map(ParameterValue::Integer),
            (Self::Number, Value::Number(number)) => match number.as_i64() {
                Some(whole) => Some(ParameterValue::Integer(whole)),
                None => number
                    .as_f64()
                    .filter(|number| number.is_finite())
                    .map(ParameterValue::Number),
            },
            (Self::Boolean, Value::Bool(true)) => Some(ParameterValue::Truth(Truth::True)),
            (Self::Boolean, Value::Bool(false)) => Some(ParameterValue::Truth(Truth::False)),
            (_, Value::Null) => Some(ParameterValue::Null),
            _ => None,
        }
    }

    /// A value for the check before the tool is served.
    fn sample(self) -> Value {
        match self {
            Self::Text => json!("a"),
            Self::Integer | Self::Number => json!(1),
            Self::Boolean => json!(true),
            Self::Date => json!("2000-01-01"),
        }
    }
}

fn is_date(text: &str) -> bool {
    let digits = |part: Option<&str>, length: usize, most: u32| {
        part.is_some_and(|part| {
            part.len() == length
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && part
                    .parse::<u32>()
                    .is_ok_and(|number| (1..=most).contains(&number))
        })
    };
    let mut parts = text.split('-');
    digits(parts.next(), 4, 9999)
        && digits(parts.next(), 2, 12)
        && digits(parts.next(), 2, 31)
        && parts.next().is_none()
}

impl CustomTool {
    pub(crate) fn schema(&self) -> Value {
        let properties = self.parameters.iter().map(|parameter| {
            let mut schema = parameter.kind.schema();
            schema.insert("description".to_owned(), json!(parameter.description));
            if !parameter.values.is_empty() {
                schema.insert("enum".to_owned(), json!(parameter.values));
            }
            if let Some(default) = &parameter.default {
                schema.insert("default".to_owned(), default.clone());
            }
            (parameter.name.clone(), Value::Object(schema))
        });
        let properties: Map<String, Value> = properties.collect();
        let needed = self.parameters.iter().filter(|one| one.default.is_none());
        let needed: Vec<&str> = needed.map(|one| one.name.as_str()).collect();
        json!({
            "type": "object", "properties": properties, "required": needed,
            "additionalProperties": false,
        })
    }

    fn values(&self, arguments: &Value) -> Result<Vec<(&str, Value, ParameterValue)>, Failure> {
        let wrong = |message: String, hint: String| {
            Failure::new(Code::InvalidArguments, message).hint(hint)
        };
        let mut values = Vec::with_capacity(self.parameters.len());
        for parameter in &self.parameters {
            let name = parameter.name.as_str();
            let given = arguments.get(name).or(parameter.default.as_ref());
            let Some(given) = given else {
                return Err(wrong(
                    format!("`{name}` is missing"),
                    format!("send `{name}`: {}", parameter.description),
                ));
            };
            let is_listed = parameter.values.is_empty() || parameter.values.contains(given);
            match parameter.kind.value(given) {
                Some(value) if is_listed => values.push((name, given.clone(), value)),
                _ => {
                    let listed: Vec<String> =
                        parameter.values.iter().map(Value::to_string).collect();
                    let hint = if listed.is_empty() {
                        format!("send a value of the type `{}`", parameter.kind.as_str())
                    } else {
                        format!("send one of {}", listed.join(", "))
                    };
                    return Err(wrong(format!("`{name}` has a wrong value"), hint));
                }
            }
        }
        Ok(values)
    }

    fn samples(&self) -> Value {
        let sample = |parameter: &Parameter| {
            let first = parameter.values.first().cloned();
            let value = parameter.default.clone().or(first);
            (
                parameter.name.clone(),
                value.unwrap_or_else(|| parameter.kind.sample()),
            )
        };
        Value::Object(self.parameters.iter().map(sample).collect())
    }

    fn filled(&self, arguments: &Value, dialect: Dialect) -> Result<Body, Failure> {
        let values = self.values(arguments)?;
        let literal = |name: &str| {
            let mut known = values.iter();
            known
                .find(|(own, ..)| *own == name)
                .map(|(.., value)| value)
        };
        let fill = |text: &str| with_values(text, dialect, literal).map_err(Failure::from);
        match &self.body {
            Body::Sql(sql) => Ok(Body::Sql(fill(sql)?)),
            Body::Query(query) => {
                let raw = |name: &str| {
                    let mut known = values.iter();
                    known.find(|(own, ..)| *own == name).map(|(_, raw, _)| raw)
                };
                let filled = query.iter().map(|(key, value)| {
                    let value = filled_value(value, &fill, &raw)?;
                    Ok((key.clone(), value))
                });
                Ok(Body::Query(filled.collect::<Result<_, Failure>>()?))
            }
        }
    }

    fn problem(&self, failure: &Failure) -> Diagnostic {
        let mut found = Diagnostic::error(failure.code, failure.message.clone());
        found.hints.clone_from(&failure.hints);
        found.at(self.place.clone())
    }
}

/// A text that is a parameter becomes its value, parameters within other texts become literals.
fn filled_value<'v>(
    value: &Value,
    fill: &impl Fn(&str) -> Result<String, Failure>,
    raw: &impl Fn(&str) -> Option<&'v Value>,
) -> Result<Value, Failure> {
    Ok(match value {
        Value::String(text) => match text.strip_prefix(':').and_then(raw) {
            Some(whole) => whole.clone(),
            None => Value::String(fill(text)?),
        },
        Value::Array(items) => {
            let items = items.iter().map(|item| filled_value(item, fill, raw));
            Value::Array(items.collect::<Result<_, Failure>>()?)
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| Ok((key.clone(), filled_value(value, fill, raw)?)));
            Value::Object(fields.collect::<Result<_, Failure>>()?)
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests;
