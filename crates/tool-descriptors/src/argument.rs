//! Patterns for tool names and argument values.

use regex::Regex;
use serde_json::{Number, Value};
use unicode_normalization::UnicodeNormalization as _;

#[derive(Debug, Clone)]
pub enum ArgumentMatcher {
    /// Numbers are equal by value; `true` is not 1.
    Literal(Value),
    /// Ignores case, spaces, `,` and `_`; compares numbers and percentages by value.
    Fuzzy(String),
    Pattern(WholeText),
}

#[derive(Debug, Clone)]
pub struct WholeText(Regex);

impl WholeText {
    pub fn compile(pattern: &str) -> Result<Self, regex::Error> {
        // The pattern alone first: the group must not make `a)|(b` valid.
        Regex::new(pattern)?;
        Regex::new(&format!(r"\A(?:{pattern})\z")).map(Self)
    }
}

impl ArgumentMatcher {
    pub fn matches(&self, value: &Value) -> bool {
        match self {
            Self::Literal(expected) => is_equal(expected, value),
            Self::Fuzzy(expected) => is_like(expected, &text_of(value)),
            Self::Pattern(WholeText(pattern)) => pattern.is_match(&text_of(value)),
        }
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => is_same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(one, two)| is_equal(one, two))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, one)| right.get(key).is_some_and(|two| is_equal(one, two)))
        }
        _ => left == right,
    }
}

fn is_same_number(left: &Number, right: &Number) -> bool {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left == right,
        _ => left.as_f64() == right.as_f64(),
    }
}

fn is_like(expected: &str, given: &str) -> bool {
    const TOLERANCE: f64 = 1e-9;
    let (expected, given) = (folded(expected), folded(given));
    match (number_of(&expected), number_of(&given)) {
        (Some(expected), Some(given)) => (expected - given).abs() <= TOLERANCE,
        _ => expected == given,
    }
}

fn folded(text: &str) -> String {
    text.nfkc()
        .flat_map(char::to_lowercase)
        .filter(|sign| !sign.is_whitespace() && !matches!(sign, ',' | '_'))
        .collect()
}

/// A percentage is a share of one.
fn number_of(text: &str) -> Option<f64> {
    let begins = text.starts_with(|sign: char| sign.is_ascii_digit() || "+-.".contains(sign));
    if !begins {
        return None;
    }
    let number = match text.strip_suffix('%') {
        Some(percent) => format!("{percent}e-2").parse(),
        None => text.parse::<f64>(),
    };
    number.ok().filter(|number| number.is_finite())
}

/// In `pattern`, `*` matches any characters.
pub fn matches_name(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}
