//! Writes YAML with the same meaning in YAML 1.1 and 1.2.
//!
//! Texts that a parser could read as another type (`no`, `1_000`, `12:30`, dates) are quoted, as
//! values and as keys.

use serde_yaml::Value;

const WORDS: &[&str] = &[
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf",
];

/// Parsers look no further for the colon of a one-line key.
const LONGEST_KEY: usize = 1024;

pub fn to_yaml(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Mapping(map) if !map.is_empty() => write_mapping(&mut text, map, 0),
        Value::Sequence(list) if !list.is_empty() => write_sequence(&mut text, list, 0),
        other => {
            write_scalar(&mut text, other);
            text.push('\n');
        }
    }
    text
}

pub(crate) fn entry_text(key: &Value, value: &Value, indent: usize) -> String {
    let mut text = " ".repeat(indent);
    write_entry(&mut text, key, value, indent);
    text
}

pub(crate) fn item_text(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    write_sequence(&mut text, std::slice::from_ref(value), indent);
    text
}

/// Returns the text after the colon of a key with this indent.
pub(crate) fn value_text(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    write_nested(&mut text, value, indent + STEP);
    text
}

/// A key that is too long for one line gets its own line.
pub(crate) fn key_text(key: &Value, indent: usize) -> String {
    let mut text = String::new();
    write_scalar(&mut text, key);
    if text.len() > LONGEST_KEY {
        format!("? {text}\n{}:", " ".repeat(indent))
    } else {
        format!("{text}:")
    }
}

const STEP: usize = 2;

fn write_mapping(text: &mut String, map: &serde_yaml::Mapping, indent: usize) {
    for (key, value) in map {
        blanks(text, indent);
        write_entry(text, key, value, indent);
    }
}

/// The indent is already written.
fn write_entry(text: &mut String, key: &Value, value: &Value, indent: usize) {
    text.push_str(&key_text(key, indent));
    write_nested(text, value, indent + STEP);
}

fn write_nested(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Mapping(map) if !map.is_empty() => {
            text.push('\n');
            write_mapping(text, map, indent);
        }
        Value::Sequence(list) if !list.is_empty() => {
            text.push('\n');
            write_sequence(text, list, indent);
        }
        Value::Tagged(tagged) => {
            text.push(' ');
            text.push_str(&tagged.tag.to_string());
            write_nested(text, &tagged.value, indent);
        }
        other => {
            text.push(' ');
            write_scalar(text, other);
            text.push('\n');
        }
    }
}

fn write_sequence(text: &mut String, list: &[Value], indent: usize) {
    for item in list {
        blanks(text, indent);
        text.push('-');
        match item {
            Value::Mapping(map) if !map.is_empty() => {
                text.push(' ');
                for (at, (key, value)) in map.iter().enumerate() {
                    if at > 0 {
                        blanks(text, indent + STEP);
                    }
                    write_entry(text, key, value, indent + STEP);
                }
            }
            other => write_nested(text, other, indent + STEP),
        }
    }
}

fn blanks(text: &mut String, count: usize) {
    text.extend(std::iter::repeat_n(' ', count));
}

fn write_scalar(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&number.to_string()),
        Value::String(plain) if is_plain(plain) => text.push_str(plain),
        Value::String(other) => text.push_str(&text_scalar(other)),
        Value::Sequence(_) => text.push_str("[]"),
        Value::Mapping(_) => text.push_str("{}"),
        Value::Tagged(tagged) => {
            text.push_str(&tagged.tag.to_string());
            text.push(' ');
            write_scalar(text, &tagged.value);
        }
    }
}

pub fn text_scalar(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else if text.contains(is_special) {
        double_quoted(text)
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

pub fn double_quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            letter if is_special(letter) => quoted.push_str(&format_escape(letter)),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether an unquoted text is a boolean, null or a number.
pub fn is_word_of_another_type(text: &str) -> bool {
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

pub fn is_special(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{feff}' | '\u{2028}' | '\u{2029}')
}

fn format_escape(letter: char) -> String {
    format!("\\u{:04x}", u32::from(letter))
}

fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let safe = |letter: char| {
        letter.is_alphanumeric() || " _-./()+,=<>%$&;*!?|~^@\"'#:[]{}".contains(letter)
    };
    (first.is_alphabetic() || first == '_')
        && text.chars().all(safe)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !is_word_of_another_type(text)
}

#[cfg(test)]
mod tests;
