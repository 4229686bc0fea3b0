//! Recognizes names of arguments in another spelling.

use serde_json::{Map, Value};

pub const ALIASES: &str = "x-aliases";

/// Ignores separators, case and plural, and knows aliases; `None` if the object has that argument
/// as well.
pub(crate) fn meant<'a>(
    known: &'a Map<String, Value>,
    given: &Map<String, Value>,
    name: &str,
) -> Option<&'a str> {
    let wanted = folded(name);
    let is_meant = |(key, schema): &(&String, &Value)| {
        let aliases = schema.get(ALIASES).and_then(Value::as_array);
        let aliases = aliases.into_iter().flatten().filter_map(Value::as_str);
        folded(key) == wanted || aliases.map(folded).any(|alias| alias == wanted)
    };
    let mut meant = known.iter().filter(is_meant).map(|(key, _)| key.as_str());
    let only = meant.next()?;
    let is_clear = meant.next().is_none() && !given.contains_key(only);
    is_clear.then_some(only)
}

pub(crate) fn folded(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    let letters: String = letters.flat_map(char::to_lowercase).collect();
    if let Some(stem) = letters.strip_suffix("ies") {
        return format!("{stem}y");
    }
    letters
        .strip_suffix('s')
        .map_or_else(|| letters.clone(), str::to_owned)
}

pub(crate) fn same_text<'a>(
    choices: impl IntoIterator<Item = &'a str>,
    text: &str,
) -> Option<&'a str> {
    let wanted = folded(text);
    let mut same = choices
        .into_iter()
        .filter(|choice| folded(choice) == wanted);
    let only = same.next()?;
    same.next().is_none().then_some(only)
}
