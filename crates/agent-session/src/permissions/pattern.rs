//! Patterns of tools and of arguments.

use regex::Regex;
use serde_json::Value;

use crate::event::Effect;

/// Why a rule cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The group does not exist.
    #[error("there is no group `{0}`; there are: @read, @write, @all, @mcp:<server>")]
    Group(String),
    /// The regular expression is wrong.
    #[error("`{pattern}` is not a regular expression: {reason}")]
    Regex {
        pattern: String,
        /// What the parser says.
        reason: String,
    },
}

/// How an argument is compared.
#[derive(Debug, Clone)]
pub(super) enum Matcher {
    /// Equal values; numbers by value.
    Literal(Value),
    /// Equal texts apart from case, spaces, `,` and `_`; numbers and percentages by value.
    Fuzzy(Value),
    /// The whole text matches.
    Pattern(Regex),
}

impl Matcher {
    /// Reads a matcher: a value, `{fuzzy: value}` or `{regex: pattern}`.
    ///
    /// # Errors
    /// [`RuleError::Regex`].
    pub(super) fn of(value: &Value) -> Result<Self, RuleError> {
        let only = |name: &str| {
            let object = value.as_object().filter(|object| object.len() == 1);
            object.and_then(|object| object.get(name))
        };
        if let Some(pattern) = only("regex").and_then(Value::as_str) {
            let whole = Regex::new(&format!("^(?:{pattern})$"));
            return whole.map(Self::Pattern).map_err(|error| RuleError::Regex {
                pattern: pattern.to_owned(),
                reason: error.to_string(),
            });
        }
        Ok(only("fuzzy").map_or_else(
            || Self::Literal(value.clone()),
            |value| Self::Fuzzy(value.clone()),
        ))
    }

    /// Whether a value matches.
    pub(super) fn matches(&self, actual: &Value) -> bool {
        match self {
            Self::Literal(expected) => same(expected, actual),
            Self::Fuzzy(expected) => match (fuzzy_number(expected), fuzzy_number(actual)) {
                (Some(left), Some(right)) => (left - right).abs() <= 1e-9,
                _ => squeezed(expected) == squeezed(actual),
            },
            Self::Pattern(pattern) => pattern.is_match(&text_of(actual)),
        }
    }
}

fn same(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(a, b)| same(a, b))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, a)| right.get(name).is_some_and(|b| same(a, b)))
        }
        _ => expected == actual,
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn squeezed(value: &Value) -> String {
    let text = text_of(value).to_lowercase();
    let kept = text
        .chars()
        .filter(|c| !c.is_whitespace() && !",_".contains(*c));
    kept.collect()
}

fn fuzzy_number(value: &Value) -> Option<f64> {
    let text = squeezed(value);
    match text.strip_suffix('%') {
        Some(number) => number.parse::<f64>().ok().map(|number| number / 100.0),
        None => text.parse().ok(),
    }
}

pub(super) fn check_tool(pattern: &str) -> Result<(), RuleError> {
    match pattern.strip_prefix('@') {
        None | Some("read" | "write" | "all") => Ok(()),
        Some(group) if group.starts_with("mcp:") => Ok(()),
        Some(_) => Err(RuleError::Group(pattern.to_owned())),
    }
}

/// Whether a pattern names a tool.
pub(super) fn names(pattern: &str, tool: &str, effect: Effect) -> bool {
    match pattern.strip_prefix('@') {
        Some("all") => true,
        Some("read") => effect == Effect::Reads && !tool.starts_with("mcp__"),
        Some("write") => effect == Effect::Writes,
        Some(group) => group.strip_prefix("mcp:").is_some_and(|server| {
            let rest = tool.strip_prefix("mcp__");
            let rest = rest.and_then(|rest| rest.strip_prefix(server));
            rest.is_some_and(|rest| rest.starts_with("__"))
        }),
        None => fits(pattern, tool),
    }
}

/// Whether a name fits a pattern in which `*` stands for any letters.
fn fits(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.len() >= last.len() && rest.ends_with(last)
}
