//! Types that the parser does not know or respells.

use ktx_sql::Dialect;
use sqlparser::tokenizer::Token;

use super::carry::CarriedClauses;
use super::edits::Edits;
use super::{closing_bracket, depth_change, find_at_level, is_any_word, is_word, unquoted};

const NOT_IN_TYPES: &[&str] = &[
    "SELECT", "WITH", "FROM", "VALUES", "TABLE", "INTO", "AS", "USING", "FORMAT", "AT",
];

pub(super) fn carry_cast_types(
    tokens: &[Token],
    carried: &mut CarriedClauses,
    dialect: Dialect,
) -> Edits {
    const CASTS: &[&str] = &["CAST", "TRY_CAST", "SAFE_CAST"];
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if tokens.get(index) != Some(&Token::LParen) || !is_any_word(tokens.get(index - 1), CASTS) {
            continue;
        }
        let place = find_at_level(tokens, index + 1, |_, token| is_word(Some(token), "AS"));
        let (Some(place), Some(end)) = (place, closing_bracket(tokens, index)) else {
            continue;
        };
        let written = tokens.get(place + 1..end).unwrap_or_default();
        let plain = matches!(written, [Token::Word(_)])
            && dialect != Dialect::ClickHouse
            && !is_word(written.first(), "String");
        if !plain && is_type(written) {
            let name = carried.name("", "", compact(written));
            edits.replace(place + 1..end, [super::word(&name)]);
        }
    }
    edits
}

/// Types with brackets, and all types of ClickHouse.
pub(super) fn carry_colon_types(
    tokens: &[Token],
    carried: &mut CarriedClauses,
    dialect: Dialect,
) -> Edits {
    const NESTED: &[&str] = &["ARRAY", "OBJECT", "MAP", "ROW", "VECTOR"];
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if tokens.get(index - 1) != Some(&Token::DoubleColon) {
            continue;
        }
        let bracket = tokens.get(index + 1) == Some(&Token::LParen);
        let taken = match dialect {
            Dialect::ClickHouse => unquoted(tokens.get(index)).is_some(),
            Dialect::Snowflake => bracket && is_any_word(tokens.get(index), NESTED),
            Dialect::DuckDb => bracket && is_word(tokens.get(index), "ROW"),
            _ => false,
        };
        let end = if bracket {
            closing_bracket(tokens, index + 1).map(|end| end + 1)
        } else {
            Some(index + 1)
        };
        let Some(end) = end.filter(|_| taken) else {
            continue;
        };
        let written = tokens.get(index..end).unwrap_or_default();
        if is_type(written) {
            let name = carried.name("", "", compact(written));
            edits.replace(index..end, [super::word(&name)]);
        }
    }
    edits
}

/// Any other word with brackets is a call.
const INNER_TYPES: &str = "array bignumeric binary bit char character datetime datetime64 dec decimal \
    decimal128 decimal256 decimal32 decimal64 double enum enum16 enum8 fixedstring float geography \
    geometry list lowcardinality map nchar nested nullable number numeric nvarchar object qdigest row \
    string struct tdigest time time64 timestamp timestamp_ltz timestamp_ntz timestamp_tz tuple union \
    varbinary varchar variant varying vector";

fn is_inner_type(token: &Token) -> bool {
    let Token::Word(word) = token else {
        return false;
    };
    INNER_TYPES
        .split_whitespace()
        .any(|name| word.value.eq_ignore_ascii_case(name))
}

fn is_type(tokens: &[Token]) -> bool {
    let mut depth = 0_isize;
    let mut plain = matches!(tokens.first(), Some(Token::Word(_)));
    let calls = tokens.windows(2).scan(0_isize, |depth, pair| {
        let [token, next] = pair else { return None };
        let inner = *depth > 0 && *next == Token::LParen;
        *depth += depth_change(token);
        Some(inner && matches!(token, Token::Word(_)) && !is_inner_type(token))
    });
    plain &= !calls.into_iter().any(|call| call);
    for token in tokens {
        depth += match token {
            Token::Lt => 1,
            Token::Gt => -1,
            Token::ShiftRight => -2,
            token => depth_change(token),
        };
        plain &= match token {
            Token::Word(_) => !is_any_word(Some(token), NOT_IN_TYPES),
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::Comma
            | Token::Colon
            | Token::Eq
            | Token::Minus => depth > 0,
            Token::Period
            | Token::Lt
            | Token::Gt
            | Token::ShiftRight
            | Token::LParen
            | Token::RParen
            | Token::LBracket
            | Token::RBracket => depth >= 0,
            _ => false,
        };
    }
    plain && depth == 0
}

fn compact(tokens: &[Token]) -> String {
    let mut text = String::new();
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| tokens.get(before));
        let value = |token: Option<&Token>| {
            matches!(
                token,
                Some(Token::Word(_) | Token::Number(..) | Token::SingleQuotedString(_))
            )
        };
        let apart = value(before) && value(Some(token))
            || matches!(before, Some(Token::Comma | Token::Colon | Token::Eq))
            || matches!(token, Token::Eq | Token::Minus)
            || matches!(before, Some(Token::RParen | Token::Gt)) && value(Some(token));
        if apart {
            text.push(' ');
        }
        text.push_str(&token.to_string());
    }
    text
}
