//! Parameters of prepared statements: `:name` in code, not in texts, quoted names or comments.

use std::collections::BTreeSet;

use ktx_diagnostics::{Code, excerpt};
use ktx_sql::Dialect;

use crate::lexis::{Piece, pieces};
use crate::refusal::{Refusal, refuse};

#[derive(Debug, Clone, PartialEq)]
pub enum ParameterValue {
    Text(String),
    Integer(i64),
    Number(f64),
    Truth(Truth),
    Null,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    True,
    False,
}

impl ParameterValue {
    fn literal(&self, dialect: Dialect) -> String {
        match self {
            Self::Text(text) => dialect.literal(text),
            // Brackets keep a sign before the parameter from starting a comment.
            Self::Integer(number) if *number < 0 => format!("({number})"),
            Self::Integer(number) => number.to_string(),
            Self::Number(number) if *number < 0.0 => format!("({number:?})"),
            Self::Number(number) => format!("{number:?}"),
            Self::Truth(truth) => match (dialect, truth) {
                (Dialect::SqlServer, Truth::True) => "1",
                (Dialect::SqlServer, Truth::False) => "0",
                (_, Truth::True) => "TRUE",
                (_, Truth::False) => "FALSE",
            }
            .to_owned(),
            Self::Null => "NULL".to_owned(),
        }
    }
}

/// # Errors
/// If a text, name or comment has no end.
pub fn parameter_names(sql: &str, dialect: Dialect) -> Result<BTreeSet<String>, Refusal> {
    let mut names = BTreeSet::new();
    for piece in pieces(sql, dialect)? {
        if let Piece::Code(code) = piece {
            names.extend(split(code).filter_map(|part| match part {
                CodePart::Parameter(name) => Some(name.to_owned()),
                CodePart::Rest(_) => None,
            }));
        }
    }
    Ok(names)
}

/// # Errors
/// If `value` does not know a parameter, or a text, name or comment has no end.
pub fn with_values<'v>(
    sql: &str,
    dialect: Dialect,
    value: impl Fn(&str) -> Option<&'v ParameterValue>,
) -> Result<String, Refusal> {
    let mut text = String::with_capacity(sql.len());
    for piece in pieces(sql, dialect)? {
        match piece {
            Piece::Code(code) => {
                for part in split(code) {
                    match part {
                        CodePart::Rest(rest) => text.push_str(rest),
                        CodePart::Parameter(name) => match value(name) {
                            Some(value) => text.push_str(&value.literal(dialect)),
                            None => {
                                return refuse(
                                    Code::Parameter,
                                    format!("the parameter `{}` has no value", excerpt(name)),
                                );
                            }
                        },
                    }
                }
            }
            Piece::Text(raw) | Piece::Name(raw) | Piece::EscapedName(raw) | Piece::Comment(raw) => {
                text.push_str(raw);
            }
            Piece::Semicolon => text.push(';'),
        }
    }
    Ok(text)
}

enum CodePart<'a> {
    Rest(&'a str),
    Parameter(&'a str),
}

/// A colon after a letter, a digit, a bracket or a colon is a cast or a path.
fn split(code: &str) -> impl Iterator<Item = CodePart<'_>> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut before = ' ';
    for (at, letter) in code.char_indices() {
        let begins = letter == ':' && !(before.is_alphanumeric() || "_:)]}\"`'".contains(before));
        before = letter;
        if !begins || at < start {
            continue;
        }
        let rest = code.get(at + 1..).unwrap_or_default();
        let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if !rest.starts_with(is_first) {
            continue;
        }
        let end = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
        parts.push(CodePart::Rest(code.get(start..at).unwrap_or_default()));
        parts.push(CodePart::Parameter(rest.get(..end).unwrap_or_default()));
        start = at + 1 + end;
    }
    parts.push(CodePart::Rest(code.get(start..).unwrap_or_default()));
    parts.into_iter()
}

#[cfg(test)]
mod tests;
