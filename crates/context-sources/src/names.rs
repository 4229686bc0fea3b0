//! Parses names of tables and columns as written in SQL.

use crate::facts::TableFacts;

pub(crate) fn column(text: &str) -> Option<String> {
    let text = text.trim();
    // An unquoted `-` is a subtraction of columns.
    if text.contains('-') && !text.starts_with(['"', '`', '[']) {
        return None;
    }
    let mut parts = parts(text)?.into_iter();
    let only = parts.next()?;
    parts.next().is_none().then_some(only)
}

/// Parses `name`, `schema.name` or `database.schema.name`.
pub(crate) fn table(text: &str) -> Option<TableFacts> {
    let mut parts = parts(text.trim())?.into_iter().rev();
    let found = TableFacts {
        name: parts.next()?,
        schema: parts.next(),
        database: parts.next(),
        ..TableFacts::default()
    };
    parts.next().is_none().then_some(found)
}

fn parts(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let first = rest.chars().next()?;
        let closing = match first {
            '"' | '`' => Some(first),
            '[' => Some(']'),
            _ => None,
        };
        if let Some(closing) = closing {
            let (part, behind) = rest.get(1..)?.split_once(closing)?;
            if part.is_empty() {
                return None;
            }
            // BigQuery quotes whole paths.
            match closing {
                '`' => parts.extend(part.split('.').map(str::to_owned)),
                _ => parts.push(part.to_owned()),
            }
            rest = behind;
        } else {
            let is_plain = |letter: char| letter.is_alphanumeric() || "_$-".contains(letter);
            let end = rest.find(|letter| !is_plain(letter)).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            let is_name = |letter: char| letter.is_alphabetic() || letter == '_';
            if !part.starts_with(is_name) {
                return None;
            }
            parts.push(part.to_owned());
            rest = behind;
        }
        if rest.is_empty() {
            return parts.iter().all(|part| !part.is_empty()).then_some(parts);
        }
        rest = rest.strip_prefix('.')?;
    }
}
