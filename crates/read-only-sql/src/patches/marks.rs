//! Marks words that are operators in certain places only.

use ktx_sql::Dialect;
use sqlparser::tokenizer::Token;

use super::edits::Edits;
use super::{find_at_level, is_any_word, is_word, unquoted, word};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    /// In `f(x AS name)` or `f(x AS type)`.
    As,
    Using,
    Passing,
    /// In `[x FOR y IN z]`.
    For,
    /// In `[x FOR y IN z IF condition]`.
    If,
    Colon,
}

impl Marker {
    const ALL: [Self; 6] = [
        Self::As,
        Self::Using,
        Self::Passing,
        Self::For,
        Self::If,
        Self::Colon,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::As => "ktx__as",
            Self::Using => "ktx__using",
            Self::Passing => "ktx__passing",
            Self::For => "ktx__for",
            Self::If => "ktx__if",
            Self::Colon => "ktx__colon",
        }
    }

    pub(crate) const fn printed(self) -> &'static str {
        match self {
            Self::As => "AS",
            Self::Using => "USING",
            Self::Passing => "PASSING",
            Self::For => "FOR",
            Self::If => "IF",
            Self::Colon => ":",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|marker| marker.name() == name)
    }

    fn token(self) -> Token {
        word(self.name())
    }
}

pub(crate) const STAR: &str = "ktx__star";

const AS_CALLS: &[&str] = &[
    "XMLATTRIBUTES",
    "PARSE",
    "TRY_PARSE",
    "COLUMN_GET",
    "COLUMN_CREATE",
    "COLUMN_ADD",
    "JSON_VALUE",
    "JSON_QUERY",
    "JSON_EXISTS",
];

const USING_CALLS: &[&str] = &["PARSE", "TRY_PARSE", "CHAR"];

const JSON_CALLS: &[&str] = &["JSON_VALUE", "JSON_QUERY", "JSON_EXISTS"];

pub(super) fn mark_call_words(tokens: &[Token], dialect: Dialect) -> Edits {
    let mut edits = Edits::default();
    let mut open: Vec<Option<&str>> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Token::LParen => open.push(super::queries::called(tokens, index)),
            Token::LBracket | Token::LBrace => open.push(None),
            Token::RParen | Token::RBracket | Token::RBrace => {
                open.pop();
            }
            Token::Word(_) => {
                let Some(Some(call)) = open.last() else {
                    continue;
                };
                let within =
                    |calls: &[&str]| calls.iter().any(|name| call.eq_ignore_ascii_case(name));
                let marker = if is_word(Some(token), "AS") && within(AS_CALLS) {
                    Marker::As
                } else if is_word(Some(token), "USING")
                    && within(USING_CALLS)
                    && (dialect != Dialect::Postgres)
                {
                    Marker::Using
                } else if is_word(Some(token), "PASSING") && within(JSON_CALLS) {
                    Marker::Passing
                } else {
                    continue;
                };
                edits.replace(index..index + 1, [marker.token()]);
            }
            _ => {}
        }
    }
    edits
}

/// DuckDB.
pub(super) fn mark_comprehensions(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if tokens.get(index - 1) != Some(&Token::LBracket) {
            continue;
        }
        let word_from = |start: usize, text: &str| {
            find_at_level(tokens, start, |_, token| is_word(Some(token), text))
        };
        let Some(place) = word_from(index, "FOR") else {
            continue;
        };
        edits.replace(place..place + 1, [Marker::For.token()]);
        if let Some(place) = word_from(place + 1, "IF") {
            edits.replace(place..place + 1, [Marker::If.token()]);
        }
    }
    edits
}

/// DuckDB: `SELECT name: value`.
pub(super) fn mark_colons(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    // True for each open bracket with a query.
    let mut open: Vec<bool> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                open.push(is_any_word(
                    tokens.get(index + 1),
                    &["SELECT", "FROM", "WITH"],
                ));
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                open.pop();
            }
            Token::Colon if index >= 2 => {
                let listed = open.last().is_none_or(|query| *query);
                let starts = tokens.get(index - 2) == Some(&Token::Comma)
                    || is_any_word(tokens.get(index - 2), &["SELECT", "DISTINCT"]);
                if listed && starts && matches!(tokens.get(index - 1), Some(Token::Word(_))) {
                    edits.replace(index..index + 1, [Marker::Colon.token()]);
                }
            }
            _ => {}
        }
    }
    edits
}

/// ClickHouse: inside a call or brackets.
pub(super) fn mark_aliases(tokens: &[Token]) -> Edits {
    const OTHERS: &[&str] = &[
        "FROM",
        "JOIN",
        "AS",
        "USING",
        "CAST",
        "IN",
        "EXCEPT",
        "REPLACE",
        "COLUMNS",
        "INTERPOLATE",
        "VALUES",
        "OVER",
        "VIEW",
        "WITH",
        "WINDOW",
        "FILL",
        "APPLY",
        "BY",
        "SETS",
    ];
    let mut edits = Edits::default();
    let mut open: Vec<bool> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Token::LParen => {
                let before = index.checked_sub(1).and_then(|before| tokens.get(before));
                let value = matches!(
                    before,
                    Some(
                        Token::Word(_)
                            | Token::Comma
                            | Token::Plus
                            | Token::Minus
                            | Token::Mul
                            | Token::Div
                    )
                ) && !is_any_word(before, OTHERS);
                let query = is_any_word(tokens.get(index + 1), &["SELECT", "WITH", "FROM"]);
                open.push(value && !query);
            }
            Token::LBracket | Token::LBrace => open.push(false),
            Token::RParen | Token::RBracket | Token::RBrace => {
                open.pop();
            }
            Token::Word(_) if open.last() == Some(&true) && is_word(Some(token), "AS") => {
                edits.replace(index..index + 1, [Marker::As.token()]);
            }
            _ => {}
        }
    }
    edits
}

/// `* APPLY(f)`, `* LIKE 'a%'`.
pub(super) fn mark_stars(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        let listed = matches!(tokens.get(index - 1), Some(Token::Comma | Token::LParen))
            || is_any_word(tokens.get(index - 1), &["SELECT", "DISTINCT"]);
        if !listed || tokens.get(index) != Some(&Token::Mul) {
            continue;
        }
        let next = index + 1;
        let followed = match unquoted(tokens.get(next))
            .map(str::to_ascii_uppercase)
            .as_deref()
        {
            Some("APPLY" | "LIKE" | "ILIKE" | "GLOB" | "SIMILAR") => true,
            Some("NOT") => is_any_word(tokens.get(next + 1), &["LIKE", "ILIKE", "GLOB", "SIMILAR"]),
            Some("EXCEPT" | "REPLACE") => {
                super::queries::call_end(tokens, next + 1).is_some_and(|end| {
                    is_any_word(tokens.get(end + 1), &["APPLY", "REPLACE", "EXCEPT"])
                })
            }
            _ => false,
        };
        if followed {
            edits.replace(index..next, [word(STAR)]);
        }
    }
    edits
}
