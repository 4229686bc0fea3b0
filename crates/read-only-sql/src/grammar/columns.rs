//! ClickHouse: what follows a set of columns.

use sqlparser::ast::{BinaryOperator, Expr, FunctionArguments, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::{expected, is_word, words_between};
use crate::patches::STAR;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnsPart {
    Apply,
    Except,
    Replace,
}

impl ColumnsPart {
    const fn word(self) -> &'static str {
        match self {
            Self::Apply => "APPLY",
            Self::Except => "EXCEPT",
            Self::Replace => "REPLACE",
        }
    }

    pub(super) fn next(parser: &Parser<'_>) -> Option<Self> {
        if !behind_columns(parser) {
            return None;
        }
        let open_at = |index: usize| parser.peek_nth_token_ref(index).token == Token::LParen;
        let names_function = matches!(parser.peek_nth_token_ref(1).token, Token::Word(_));
        if is_word(parser, 0, "APPLY") {
            (names_function || open_at(1)).then_some(Self::Apply)
        } else if is_word(parser, 0, "EXCEPT") {
            let query = is_word(parser, 2, "SELECT") || is_word(parser, 2, "WITH") || open_at(2);
            (open_at(1) && !query).then_some(Self::Except)
        } else if is_word(parser, 0, "REPLACE") {
            open_at(1).then_some(Self::Replace)
        } else {
            None
        }
    }
}

fn behind_columns(parser: &Parser<'_>) -> bool {
    match &parser.get_current_token().token {
        Token::RParen => true,
        Token::Word(word) => word.value == STAR,
        _ => false,
    }
}

pub(super) fn parse(
    parser: &mut Parser<'_>,
    left: &Expr,
    part: ColumnsPart,
) -> Result<Expr, ParserError> {
    if !is_columns(left) {
        return Err(expected("an operator", parser));
    }
    parser.advance_token();
    let right = match part {
        ColumnsPart::Apply => {
            let bracketed = parser.consume_token(&Token::LParen);
            let applied = if bracketed {
                parser.parse_expr()?
            } else {
                Expr::Identifier(parser.parse_identifier()?)
            };
            let applied = called(applied).ok_or_else(|| expected("a function", parser))?;
            if bracketed {
                parser.expect_token(&Token::RParen)?;
            }
            Expr::Nested(Box::new(applied))
        }
        ColumnsPart::Except => parser.parse_prefix()?,
        ColumnsPart::Replace => {
            parser.expect_token(&Token::LParen)?;
            let items = parser.parse_comma_separated(replacement)?;
            parser.expect_token(&Token::RParen)?;
            Expr::Tuple(items)
        }
    };
    Ok(words_between(left.clone(), part.word(), right))
}

fn is_columns(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(name) => name.value == STAR,
        Expr::Function(function) => function.name.to_string().eq_ignore_ascii_case("COLUMNS"),
        Expr::BinaryOp {
            op: BinaryOperator::Custom(word),
            ..
        } => matches!(word.as_str(), "APPLY" | "EXCEPT" | "REPLACE"),
        _ => false,
    }
}

/// Converts a bare name to a call, so that the rules see it.
fn called(expr: Expr) -> Option<Expr> {
    match expr {
        Expr::Identifier(name) => Some(Expr::Function(sqlparser::ast::Function {
            name: ObjectName::from(vec![name]),
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args: FunctionArguments::None,
            filter: None,
            null_treatment: None,
            over: None,
            within_group: Vec::new(),
        })),
        Expr::Function(_) | Expr::Lambda(_) => Some(expr),
        _ => None,
    }
}

fn replacement(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    let value = parser.parse_expr()?;
    parser.expect_keyword_is(Keyword::AS)?;
    let name = parser.parse_identifier()?;
    Ok(words_between(value, "AS", Expr::Identifier(name)))
}
