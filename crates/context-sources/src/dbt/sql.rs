//! Reads a model's own settings from its `config` calls.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConfigValue {
    /// A text, `true` or `false`.
    Plain(String),
    Computed,
}

pub(super) fn config(sql: &str, key: &str) -> Option<ConfigValue> {
    let mut found = None;
    let mut rest = sql;
    while let Some(at) = rest.find('{') {
        let from = &rest[at..];
        if let Some(comment) = from.strip_prefix("{#") {
            rest = comment.split_once("#}").map_or("", |(_, behind)| behind);
        } else if let Some(begun) = from.strip_prefix("{{") {
            let (call, behind) = begun.split_once("}}").unwrap_or((begun, ""));
            let call = call.trim_start_matches('-').trim_start();
            if let Some(arguments) = call.strip_prefix("config")
                && arguments.trim_start().starts_with('(')
            {
                found = argument(arguments, key).or(found);
            }
            rest = behind;
        } else {
            rest = &from[1..];
        }
    }
    found
}

fn argument(arguments: &str, key: &str) -> Option<ConfigValue> {
    arguments.match_indices(key).find_map(|(at, _)| {
        let is_part = |letter: char| letter.is_alphanumeric() || "_'\"".contains(letter);
        if arguments[..at].ends_with(is_part) {
            return None;
        }
        let value = arguments[at + key.len()..].trim_start().strip_prefix('=')?;
        (!value.starts_with('=')).then(|| parse_value(value.trim_start()))
    })
}

fn parse_value(value: &str) -> ConfigValue {
    let ends = |rest: &str| rest.trim_start().starts_with([',', ')']);
    for quote in ['\'', '"'] {
        if let Some((text, behind)) = value
            .strip_prefix(quote)
            .and_then(|begun| begun.split_once(quote))
        {
            return if ends(behind) {
                ConfigValue::Plain(text.to_owned())
            } else {
                ConfigValue::Computed
            };
        }
    }
    let word = value.split([',', ')']).next().unwrap_or_default().trim();
    match word {
        "true" | "True" => ConfigValue::Plain("true".to_owned()),
        "false" | "False" => ConfigValue::Plain("false".to_owned()),
        _ => ConfigValue::Computed,
    }
}
