//! Writes field values so that YAML 1.1 and 1.2 readers agree on their type.

use ktx_yaml::{double_quoted, is_special, is_word_of_another_type};

use crate::edit::FieldValue;

/// Formats an entry. `old` is the replaced text after the colon: a flow list stays one, and a
/// single-line entry keeps its comment.
pub(super) fn entry_text(
    key: &str,
    value: &FieldValue,
    old: Option<&str>,
    newline: &str,
) -> String {
    let old = old.unwrap_or_default();
    let comment = comment(old);
    match value {
        FieldValue::Text(text) => match literal_block(text, newline) {
            Some(block) => format!("{key}: {block}{newline}"),
            None => format!("{key}: {}{comment}{newline}", scalar(text)),
        },
        FieldValue::Integer(number) => format!("{key}: {number}{comment}{newline}"),
        FieldValue::List(items) if items.is_empty() => format!("{key}: []{comment}{newline}"),
        FieldValue::List(items) if old.trim_start().starts_with('[') => {
            let items: Vec<String> = items.iter().map(|item| flow_scalar(item)).collect();
            format!("{key}: [{}]{comment}{newline}", items.join(", "))
        }
        FieldValue::List(items) => {
            let indent = if old.lines().nth(1).is_some_and(|line| line.starts_with('-')) {
                ""
            } else {
                "  "
            };
            let items: Vec<String> = items
                .iter()
                .map(|item| format!("{indent}- {}{newline}", scalar(item)))
                .collect();
            format!("{key}:{newline}{}", items.concat())
        }
    }
}

fn comment(old: &str) -> &str {
    let line = old.trim_end_matches(['\n', '\r']);
    if line.contains('\n') {
        return "";
    }
    let mut quote: Option<char> = None;
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if matches!(letter, '"' | '\'') && matches!(before, ' ' | '[' | ',') => {
                quote = Some(letter);
            }
            None if letter == '#' && matches!(before, ' ' | '\t') => {
                let head = line.get(..at).unwrap_or_default().trim_end();
                return line.get(head.len()..).unwrap_or_default();
            }
            None => {}
        }
        before = letter;
    }
    ""
}

fn literal_block(text: &str, newline: &str) -> Option<String> {
    let (content, chomp) = match text.strip_suffix('\n') {
        Some(content) => (content, ""),
        None => (text, "-"),
    };
    let plain = |line: &str| line.trim_end() == line && !line.chars().any(char::is_control);
    let first_is_plain = content
        .lines()
        .next()
        .is_some_and(|line| !line.is_empty() && !line.starts_with([' ', '\t']));
    if !content.contains('\n')
        || content.ends_with('\n')
        || !first_is_plain
        || !content.split('\n').all(plain)
    {
        return None;
    }
    let lines: Vec<String> = content
        .split('\n')
        .map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("  {line}")
            }
        })
        .collect();
    Some(format!("|{chomp}{newline}{}", lines.join(newline)))
}

fn scalar(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else {
        double_quoted(text)
    }
}

fn flow_scalar(text: &str) -> String {
    if is_plain(text) && !text.contains(['[', ']', '{', '}', ',']) {
        text.to_owned()
    } else {
        double_quoted(text)
    }
}

fn is_plain(text: &str) -> bool {
    let starts_well = text
        .chars()
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_');
    starts_well
        && !is_word_of_another_type(text)
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && text.trim_end() == text
        && !text.contains(is_special)
}
