//! Tool and argument patterns.

use ktx_tool_descriptors::{ArgumentMatcher, WholeText, matches_name};
use serde_json::Value;

use crate::event::Effect;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("there is no group `{0}`; there are: @read, @write, @all, @mcp:<server>")]
    Group(String),
    #[error("`{pattern}` is not a regular expression: {reason}")]
    Regex { pattern: String, reason: String },
}

/// Parses a value, `{fuzzy: value}` or `{regex: pattern}`.
pub(super) fn matcher_of(value: &Value) -> Result<ArgumentMatcher, RuleError> {
    let only = |name: &str| {
        let object = value.as_object().filter(|object| object.len() == 1);
        object.and_then(|object| object.get(name))
    };
    if let Some(pattern) = only("regex").and_then(Value::as_str) {
        let whole = WholeText::compile(pattern).map(ArgumentMatcher::Pattern);
        return whole.map_err(|error| RuleError::Regex {
            pattern: pattern.to_owned(),
            reason: error.to_string(),
        });
    }
    Ok(match only("fuzzy") {
        Some(Value::String(text)) => ArgumentMatcher::Fuzzy(text.clone()),
        Some(value) => ArgumentMatcher::Fuzzy(value.to_string()),
        None => ArgumentMatcher::Literal(value.clone()),
    })
}

pub(super) fn check_tool(pattern: &str) -> Result<(), RuleError> {
    match pattern.strip_prefix('@') {
        None | Some("read" | "write" | "all") => Ok(()),
        Some(group) if group.starts_with("mcp:") => Ok(()),
        Some(_) => Err(RuleError::Group(pattern.to_owned())),
    }
}

pub(super) fn names(pattern: &str, tool: &str, effect: Effect) -> bool {
    match pattern.strip_prefix('@') {
        Some("all") => true,
        Some("read") => effect == Effect::Reads,
        Some("write") => effect == Effect::Writes,
        Some(group) => group.strip_prefix("mcp:").is_some_and(|server| {
            let rest = tool.strip_prefix("mcp__");
            let rest = rest.and_then(|rest| rest.strip_prefix(server));
            rest.is_some_and(|rest| rest.starts_with("__"))
        }),
        None => matches_name(pattern, tool),
    }
}
