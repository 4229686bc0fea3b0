//! Clauses after the arguments of JSON functions.

use sqlparser::tokenizer::Token;

use super::carry::CarriedClauses;
use super::edits::Edits;
use super::{closing_bracket, find_at_level, is_any_word, is_word, join_tokens};

const CALLS: &[&str] = &[
    "JSON_VALUE",
    "JSON_QUERY",
    "JSON_EXISTS",
    "JSON_OBJECT",
    "JSON_ARRAY",
    "JSON_OBJECTAGG",
    "JSON_ARRAYAGG",
    "JSON_SERIALIZE",
    "JSON",
    "JSON_SCALAR",
];

const WORDS: &[&str] = &[
    "RETURNING",
    "DEFAULT",
    "NULL",
    "ON",
    "EMPTY",
    "ERROR",
    "ARRAY",
    "OBJECT",
    "WITH",
    "WITHOUT",
    "CONDITIONAL",
    "UNCONDITIONAL",
    "WRAPPER",
    "KEEP",
    "OMIT",
    "QUOTES",
    "SCALAR",
    "STRING",
    "TRUE",
    "FALSE",
    "UNKNOWN",
    "FORMAT",
    "JSON",
    "ENCODING",
    "UTF8",
    "UTF16",
    "UTF32",
    "ABSENT",
    "UNIQUE",
    "KEYS",
    "VALUE",
    "KEY",
    "VALUES",
    "BIGINT",
    "BOOLEAN",
    "BYTEA",
    "CHAR",
    "CHARACTER",
    "DATE",
    "DATETIME",
    "DECIMAL",
    "DOUBLE",
    "FLOAT",
    "INT",
    "INTEGER",
    "JSONB",
    "NUMBER",
    "NUMERIC",
    "PRECISION",
    "REAL",
    "SIGNED",
    "SMALLINT",
    "TEXT",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "TINYINT",
    "UNSIGNED",
    "VARBINARY",
    "VARCHAR",
    "VARYING",
    "YEAR",
    "ZONE",
];

/// With the words that must follow.
const OPENINGS: &[(&str, &[&str])] = &[
    ("RETURNING", &[]),
    ("DEFAULT", &[]),
    ("NULL", &["ON"]),
    ("ERROR", &["ON"]),
    ("EMPTY", &["ON", "ARRAY", "OBJECT"]),
    ("TRUE", &["ON"]),
    ("FALSE", &["ON"]),
    ("UNKNOWN", &["ON"]),
    ("ABSENT", &["ON"]),
    ("WITH", &[]),
    ("WITHOUT", &[]),
    ("KEEP", &["QUOTES"]),
    ("OMIT", &["QUOTES"]),
];

pub(super) fn carry_endings(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if tokens.get(index) != Some(&Token::LParen) || !is_any_word(tokens.get(index - 1), CALLS) {
            continue;
        }
        let start = find_at_level(tokens, index + 1, |at, _| starts_ending(tokens, at));
        let (Some(start), Some(end)) = (start, closing_bracket(tokens, index)) else {
            continue;
        };
        let Some(ending) = tokens.get(start..end) else {
            continue;
        };
        let plain = ending.iter().all(|token| match token {
            Token::Word(_) => is_any_word(Some(token), WORDS),
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::Minus
            | Token::Comma
            | Token::LParen
            | Token::RParen => true,
            _ => false,
        });
        // Words after a comma are an argument.
        let follows = !matches!(tokens.get(start - 1), Some(Token::Comma));
        if plain && follows && start > index + 1 {
            let name = carried.name(", ", ")", format!(" {})", join_tokens(ending)));
            edits.replace(start..end, [Token::Comma, super::word(&name)]);
        }
    }
    edits
}

fn starts_ending(tokens: &[Token], at: usize) -> bool {
    OPENINGS.iter().any(|(opening, next)| {
        is_word(tokens.get(at), opening)
            && (next.is_empty() || is_any_word(tokens.get(at + 1), next))
    })
}

/// Trino: `JSON_OBJECT(KEY 'a' VALUE 1)`.
pub(super) fn drop_keys(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if tokens.get(index) != Some(&Token::LParen)
            || !is_any_word(tokens.get(index - 1), &["JSON_OBJECT", "JSON_OBJECTAGG"])
        {
            continue;
        }
        for at in index + 1..closing_bracket(tokens, index).unwrap_or(index) {
            let first = matches!(tokens.get(at - 1), Some(Token::LParen | Token::Comma));
            let named = matches!(tokens.get(at + 1), Some(Token::SingleQuotedString(_)));
            if first && named && is_word(tokens.get(at), "KEY") {
                edits.remove(at..at + 1);
            }
        }
    }
    edits
}

/// Only a `PLAN` uses the name in `JSON_TABLE(x, 'path' AS name COLUMNS …)`.
pub(super) fn drop_path_names(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if matches!(tokens.get(index - 1), Some(Token::SingleQuotedString(_)))
            && is_word(tokens.get(index), "AS")
            && super::is_name(tokens.get(index + 1))
            && is_word(tokens.get(index + 2), "COLUMNS")
            && tokens.get(index + 3) == Some(&Token::LParen)
        {
            edits.remove(index..index + 2);
        }
    }
    edits
}

/// Redshift: `OBJECT_TRANSFORM(o KEEP path, … SET path, value, …)`. The values stay arguments, so
/// that they are checked.
pub(super) fn carry_transformations(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if tokens.get(index) != Some(&Token::LParen)
            || !is_word(tokens.get(index - 1), "OBJECT_TRANSFORM")
        {
            continue;
        }
        for clause in ["KEEP", "SET"] {
            let place = find_at_level(tokens, index + 1, |_, token| is_word(Some(token), clause));
            let Some(place) = place.filter(|place| *place > index + 1) else {
                continue;
            };
            let name = carried.name(", ", ", ", format!(" {clause} "));
            edits.replace(
                place..place + 1,
                [Token::Comma, super::word(&name), Token::Comma],
            );
        }
    }
    edits
}

pub(super) const SUB_OBJECT: &str = ".ktx__caret.";
pub(super) const SUB_TYPE: &str = ".ktx__typed.";

/// ClickHouse: `j.^a` is an object inside a JSON column, `j.a.:Int64` its values of one type.
pub(super) fn name_sub_objects(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        let name = match tokens.get(index - 1) {
            Some(Token::Caret) => "ktx__caret",
            Some(Token::Colon) => "ktx__typed",
            _ => continue,
        };
        let inside = tokens.get(index - 2) == Some(&Token::Period);
        if inside && super::is_name(tokens.get(index)) {
            edits.replace(index - 1..index, [super::word(name), Token::Period]);
        }
    }
    edits
}

/// Snowflake: `{*}` becomes `OBJECT_CONSTRUCT(*)`.
pub(super) fn construct_rows(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 0..tokens.len() {
        let star = match tokens.get(index + 1) {
            Some(Token::Word(_)) if tokens.get(index + 2) == Some(&Token::Period) => index + 3,
            _ => index + 1,
        };
        if tokens.get(index) != Some(&Token::LBrace) || tokens.get(star) != Some(&Token::Mul) {
            continue;
        }
        let end = if is_word(tokens.get(star + 1), "ILIKE") {
            star + 3
        } else if is_word(tokens.get(star + 1), "EXCLUDE") {
            match closing_bracket(tokens, star + 2) {
                Some(end) => end + 1,
                None => continue,
            }
        } else {
            star + 1
        };
        if tokens.get(end) == Some(&Token::RBrace) {
            edits.replace(
                index..index + 1,
                [super::word("OBJECT_CONSTRUCT"), Token::LParen],
            );
            edits.replace(end..end + 1, [Token::RParen]);
            let chosen = tokens.get(index + 1..end).unwrap_or_default();
            if star > index + 1 && end > star + 1 && is_choice(chosen) {
                let (table, choice) = chosen.split_at(star - index);
                let table: String = table.iter().map(ToString::to_string).collect();
                let meant = format!("{{{table} {}}}", join_tokens(choice));
                let name = carried.name("OBJECT_CONSTRUCT(", ")", meant);
                edits.replace(index + 1..end, [super::word(&name)]);
            }
        }
    }
    edits
}

fn is_choice(tokens: &[Token]) -> bool {
    tokens.iter().all(|token| {
        super::is_name(Some(token))
            || matches!(
                token,
                Token::Period
                    | Token::Mul
                    | Token::Comma
                    | Token::LParen
                    | Token::RParen
                    | Token::SingleQuotedString(_)
            )
    })
}
