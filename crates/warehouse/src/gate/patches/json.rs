//! What the JSON functions of the SQL standard have behind their arguments.

use sqlparser::tokenizer::Token;

use super::carry::Carried;
use super::edits::Edits;
use super::{closing, find_level, is_any_word, is_word, spelled};

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

/// Everything that an ending is made of, but for types, literals and brackets.
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
    // types
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

/// The words that an ending may begin with, each with what has to follow it.
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

/// The ending becomes one more argument that carries it.
pub(super) fn endings(tokens: &[Token], carried: &mut Carried) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if tokens.get(index) != Some(&Token::LParen) || !is_any_word(tokens.get(index - 1), CALLS) {
            continue;
        }
        let start = find_level(tokens, index + 1, |at, _| opens(tokens, at));
        let (Some(start), Some(end)) = (start, closing(tokens, index)) else {
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
        // An ending behind a comma is an argument.
        let follows = !matches!(tokens.get(start - 1), Some(Token::Comma));
        if plain && follows && start > index + 1 {
            let name = carried.name(", ", ")", format!(" {})", spelled(ending)));
            edits.replace(start..end, [Token::Comma, super::word(&name)]);
        }
    }
    edits
}

fn opens(tokens: &[Token], at: usize) -> bool {
    OPENINGS.iter().any(|(opening, next)| {
        is_word(tokens.get(at), opening)
            && (next.is_empty() || is_any_word(tokens.get(at + 1), next))
    })
}
