//! Operators that [`Marker`] puts in place of words.

use sqlparser::ast::{Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::{MARKER, expected, words_between};
use crate::patches::Marker;

pub(super) fn parse(
    parser: &mut Parser<'_>,
    left: &Expr,
    marker: Marker,
) -> Result<Expr, ParserError> {
    parser.advance_token();
    match marker {
        Marker::As => {
            let name = type_or_name(parser)?;
            Ok(words_between(left.clone(), "AS", Expr::Identifier(name)))
        }
        Marker::For => comprehension(parser, left),
        Marker::Using | Marker::Passing | Marker::Colon | Marker::If => {
            let right = parser.parse_subexpr(MARKER)?;
            Ok(words_between(left.clone(), marker.printed(), right))
        }
    }
}

/// Parses the part of `x FOR a, b IN list [IF condition]` after `FOR`.
fn comprehension(parser: &mut Parser<'_>, item: &Expr) -> Result<Expr, ParserError> {
    let names = parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_keyword_is(Keyword::IN)?;
    let list = parser.parse_subexpr(MARKER)?;
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let words = format!("FOR {} IN", names.join(", "));
    Ok(words_between(item.clone(), &words, list))
}

fn type_or_name(parser: &mut Parser<'_>) -> Result<Ident, ParserError> {
    let name = parser.parse_identifier()?;
    if name.quote_style.is_some() || !parser.consume_token(&Token::LParen) {
        return Ok(name);
    }
    let lengths = parser.parse_comma_separated(|parser| match parser.next_token().token {
        Token::Number(digits, _) => Ok(digits),
        Token::Word(word) if word.value.eq_ignore_ascii_case("MAX") => Ok(word.value),
        _ => Err(expected("a length", parser)),
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(Ident::new(format!("{name}({})", lengths.join(", "))))
}
