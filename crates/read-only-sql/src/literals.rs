//! Hides text literals from the parser behind placeholders such as `'ktx_0'`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use ktx_diagnostics::Code;
use ktx_sql::Dialect;

use crate::lexis::{Piece, pieces, plain_name};
use crate::refusal::{Refusal, refuse};

pub(super) const RESERVED: &str = "ktx__";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct NormalizedText {
    pub(super) text: String,
    /// Sorted, so that the same set of literals always gets the same placeholders.
    literals: Vec<String>,
}

enum LiteralPart<'a> {
    Verbatim(Cow<'a, str>),
    Gap(&'static str),
    Literal(String),
}

pub(super) fn normalize(sql: &str, dialect: Dialect) -> Result<NormalizedText, Refusal> {
    let parts = join(&pieces(sql, dialect)?, dialect)?;
    let literals: Vec<String> = parts
        .iter()
        .filter_map(|part| {
            if let LiteralPart::Literal(raw) = part {
                Some(raw.clone())
            } else {
                None
            }
        })
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let mut text = String::with_capacity(sql.len());
    for part in parts {
        match part {
            LiteralPart::Verbatim(code) => text.push_str(&code),
            LiteralPart::Gap(white) => text.push_str(white),
            LiteralPart::Literal(raw) => {
                let index = literals.binary_search(&raw).unwrap_or_default();
                if write!(text, " 'ktx_{index}' ").is_err() {
                    return refuse(Code::Internal, "the text could not be written");
                }
            }
        }
    }
    Ok(NormalizedText { text, literals })
}

fn join<'a>(pieces: &[Piece<'a>], dialect: Dialect) -> Result<Vec<LiteralPart<'a>>, Refusal> {
    let mut parts: Vec<LiteralPart<'a>> = Vec::with_capacity(pieces.len());
    let mut ended = false;
    for piece in pieces {
        let part = match *piece {
            Piece::Semicolon => {
                ended |= !parts.iter().all(is_white);
                continue;
            }
            Piece::Comment(comment) if sets_variables(comment, dialect) => {
                return refuse(
                    Code::ExecutableComment,
                    "the hint `SET_VAR` sets variables of the session",
                );
            }
            Piece::Comment(comment) if comment.starts_with("/*") && !comment.contains('\n') => {
                LiteralPart::Gap(" ")
            }
            Piece::Comment(_) => LiteralPart::Gap("\n"),
            Piece::Code(part) | Piece::Name(part) => make_verbatim(part.into())?,
            Piece::EscapedName(raw) => make_verbatim(plain_name(raw)?.into())?,
            Piece::Text(raw) => LiteralPart::Literal(join_literal(&mut parts, raw, dialect)),
        };
        if ended && !is_white(&part) {
            return refuse(Code::StatementCount, "exactly one statement is allowed");
        }
        parts.push(part);
    }
    Ok(parts)
}

fn make_verbatim(part: Cow<'_, str>) -> Result<LiteralPart<'_>, Refusal> {
    if part.to_ascii_lowercase().contains(RESERVED) {
        return refuse(
            Code::ReservedName,
            format!("names with `{RESERVED}` are reserved"),
        );
    }
    Ok(LiteralPart::Verbatim(part))
}

/// MySQL: an optimizer hint can set a variable.
fn sets_variables(comment: &str, dialect: Dialect) -> bool {
    matches!(dialect, Dialect::MySql | Dialect::MariaDb)
        && comment.starts_with("/*+")
        && comment.to_ascii_uppercase().contains("SET_VAR")
}

fn join_literal(parts: &mut Vec<LiteralPart<'_>>, raw: &str, dialect: Dialect) -> String {
    let Some(index) = parts.iter().rposition(|part| !is_white(part)) else {
        return raw.to_owned();
    };
    let over_lines = parts.iter().skip(index + 1).any(|gap| match gap {
        LiteralPart::Verbatim(white) => white.contains('\n'),
        LiteralPart::Gap(white) => white.contains('\n'),
        LiteralPart::Literal(_) => false,
    });
    let glue = match dialect {
        Dialect::MySql | Dialect::MariaDb | Dialect::Databricks => ' ',
        Dialect::Postgres | Dialect::Redshift | Dialect::DuckDb if over_lines => '\n',
        _ => return raw.to_owned(),
    };
    let Some(LiteralPart::Literal(first)) = parts.get_mut(index) else {
        return raw.to_owned();
    };
    // Moved, because a text can have many literals in a row.
    let mut whole = std::mem::take(first);
    whole.push(glue);
    whole.push_str(raw);
    parts.truncate(index);
    whole
}

fn is_white(part: &LiteralPart<'_>) -> bool {
    match part {
        LiteralPart::Verbatim(code) => code.chars().all(char::is_whitespace),
        LiteralPart::Gap(_) => true,
        LiteralPart::Literal(_) => false,
    }
}

impl NormalizedText {
    /// Refuses a printed text that lacks a literal, or has other quotes, comments or statements.
    pub(super) fn restore(&self, printed: &str, dialect: Dialect) -> Result<String, Refusal> {
        let mut text = String::with_capacity(printed.len());
        let mut missing: BTreeSet<usize> = (0..self.literals.len()).collect();
        for piece in pieces(printed, dialect)? {
            match piece {
                Piece::Code(part) | Piece::Name(part) => text.push_str(part),
                Piece::Text(placeholder) => {
                    let literal = placeholder
                        .strip_prefix("'ktx_")
                        .and_then(|rest| rest.strip_suffix('\''))
                        .and_then(|index| index.parse::<usize>().ok())
                        .and_then(|index| Some((index, self.literals.get(index)?)));
                    let Some((index, literal)) = literal else {
                        return refuse_unprintable();
                    };
                    text.push_str(literal);
                    missing.remove(&index);
                }
                Piece::EscapedName(_) | Piece::Comment(_) | Piece::Semicolon => {
                    return refuse_unprintable();
                }
            }
        }
        if missing.is_empty() {
            Ok(text)
        } else {
            refuse_unprintable()
        }
    }
}

impl NormalizedText {
    pub(super) fn translate_error(&self, message: &str, sql: &str, dialect: Dialect) -> String {
        let text = self.fill_literals(message);
        let Some((error, line, column)) = split_position(&text) else {
            return text;
        };
        let position = offset_of(&self.text, line, column)
            .and_then(|offset| self.origin(offset, sql, dialect))
            .map(|offset| position_of(sql, offset));
        match position {
            Some((line, column)) => format!("{error} at Line: {line}, Column: {column}"),
            None => error.to_owned(),
        }
    }

    pub(super) fn fill_literals(&self, message: &str) -> String {
        let mut text = message.to_owned();
        for (index, raw) in self.literals.iter().enumerate().rev() {
            text = text.replace(&format!("'ktx_{index}'"), raw);
        }
        text
    }

    fn origin(&self, wanted: usize, sql: &str, dialect: Dialect) -> Option<usize> {
        let (mut own, mut other) = (0, 0);
        for piece in pieces(sql, dialect).ok()? {
            let length = match piece {
                Piece::Code(part) | Piece::Name(part) => {
                    let begin = own + self.text.get(own..)?.find(part)?;
                    if wanted < begin {
                        return Some(other);
                    }
                    own = begin + part.len();
                    if wanted < own {
                        return Some(other + wanted - begin);
                    }
                    part.len()
                }
                Piece::EscapedName(raw) => {
                    let name = plain_name(raw).ok()?;
                    let begin = own + self.text.get(own..)?.find(&name)?;
                    own = begin + name.len();
                    if wanted < own {
                        return Some(other);
                    }
                    raw.len()
                }
                Piece::Text(raw) => {
                    let rest = self.text.get(own..)?;
                    let begin = own + rest.len() - rest.trim_start().len();
                    // Literals that the server joins have one placeholder.
                    if let Some(inside) = self.text.get(begin..)?.strip_prefix("'ktx_") {
                        own = begin + "'ktx_".len() + inside.find('\'')? + 1;
                        if wanted < own {
                            return Some(other);
                        }
                    }
                    raw.len()
                }
                Piece::Comment(part) => part.len(),
                Piece::Semicolon => 1,
            };
            other += length;
        }
        Some(sql.trim_end().len())
    }
}

fn split_position(message: &str) -> Option<(&str, usize, usize)> {
    let (error, position) = message.rsplit_once(" at Line: ")?;
    let (line, column) = position.split_once(", Column: ")?;
    Some((error, line.parse().ok()?, column.parse().ok()?))
}

fn offset_of(text: &str, line: usize, column: usize) -> Option<usize> {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.checked_sub(1)?)
        .map(str::len)
        .sum();
    let rest = text.get(before..)?;
    let own = rest.char_indices().nth(column.checked_sub(1)?);
    Some(before + own.map_or(rest.len(), |(at, _)| at))
}

fn position_of(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let in_line = before.get(line_start..).unwrap_or_default();
    (
        before.matches('\n').count() + 1,
        in_line.chars().count() + 1,
    )
}

fn refuse_unprintable<T>() -> Result<T, Refusal> {
    refuse(
        Code::Unprintable,
        "the query cannot be printed with the same meaning",
    )
}

#[cfg(test)]
mod tests;
