//! Operators that the parser does not know, or gives another precedence.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{BinaryOperator, Expr, JsonPath, JsonPathElem};
use sqlparser::dialect::{Dialect as ParserDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::dialect::Dialect;

/// `a ? b : c`, below `OR`.
const CONDITION: u8 = 3;

/// MySQL: between `OR` and `AND`.
const XOR: u8 = 7;

/// DuckDB's `**` and `^`: above `*`, below `::`.
const POWER: u8 = 45;

#[derive(Debug, Clone, Copy)]
enum Operator {
    Words(&'static [&'static str], Precedence),
    IntegerDivision,
    /// DuckDB: `^` and `**`, with the number of tokens.
    Power(usize),
    /// MySQL: `&&`
    And,
    /// SQL Server: `!<` and `!>`
    NotLess,
    NotGreater,
    /// MySQL
    Xor,
    /// Number of postfix words.
    IsNull(usize),
    IsNotNull(usize),
    /// SQLite: `IS` before any value.
    Is(Comparison),
    /// `[GLOBAL] [NOT] IN`
    In(&'static [&'static str]),
    Condition,
    /// Databricks: `:a.b[0]`
    Path,
    Nothing,
}

/// Number of words.
#[derive(Debug, Clone, Copy)]
enum Comparison {
    Equal(usize),
    Distinct(usize),
}

const MODULO: Operator = Operator::Words(&["MOD"], Precedence::MulDivModOp);
const SOUNDS_LIKE: Operator = Operator::Words(&["SOUNDS", "LIKE"], Precedence::Like);
const STARTS_WITH: Operator = Operator::Words(&["^@"], Precedence::PgOther);
const OVERLAPS: Operator = Operator::Words(&["&&"], Precedence::PgOther);
const NOT_MATCH: Operator = Operator::Words(&["NOT", "MATCH"], Precedence::Like);
const GLOB: Operator = Operator::Words(&["GLOB"], Precedence::Like);
const NOT_GLOB: Operator = Operator::Words(&["NOT", "GLOB"], Precedence::Like);

pub(super) fn precedence(
    parser: &Parser<'_>,
    dialect: Dialect,
    stock: &dyn ParserDialect,
) -> Option<u8> {
    Some(match next(parser, dialect)? {
        Operator::Words(_, precedence) => stock.prec_value(precedence),
        Operator::IntegerDivision => stock.prec_value(Precedence::MulDivModOp),
        Operator::Power(_) => POWER,
        Operator::And => stock.prec_value(Precedence::And),
        Operator::NotLess | Operator::NotGreater => stock.prec_value(Precedence::Eq),
        Operator::Xor => XOR,
        Operator::IsNull(_) | Operator::IsNotNull(_) | Operator::Is(_) => {
            stock.prec_value(Precedence::Is)
        }
        Operator::In(_) => stock.prec_value(Precedence::Between),
        Operator::Condition => CONDITION,
        Operator::Path => stock.prec_value(Precedence::DoubleColon),
        Operator::Nothing => stock.prec_unknown(),
    })
}

pub(super) fn parse(
    parser: &mut Parser<'_>,
    dialect: Dialect,
    stock: &dyn ParserDialect,
    left: &Expr,
) -> Option<Result<Expr, ParserError>> {
    let operator = next(parser, dialect)?;
    let precedence = precedence(parser, dialect, stock)?;
    let left = Box::new(left.clone());
    if let Some((tokens, op)) = between_values(operator) {
        advance(parser, tokens);
        let right = parser.parse_subexpr(precedence).map(Box::new);
        return Some(right.map(|right| Expr::BinaryOp { left, op, right }));
    }
    match operator {
        Operator::IsNull(words) => {
            advance(parser, words);
            Some(Ok(postfix(Expr::IsNull(left), dialect)))
        }
        Operator::IsNotNull(words) => {
            advance(parser, words);
            Some(Ok(postfix(Expr::IsNotNull(left), dialect)))
        }
        Operator::Is(comparison) => {
            // `=` has the same precedence and associates to the left.
            let operand = stock.prec_value(Precedence::Eq);
            Some(is(parser, left, comparison, operand))
        }
        Operator::Condition => Some(condition(parser, left)),
        Operator::Path => Some(path(parser, left)),
        _ => None,
    }
}

fn between_values(operator: Operator) -> Option<(usize, BinaryOperator)> {
    Some(match operator {
        Operator::Words(words, _) | Operator::In(words) => {
            (words.len(), BinaryOperator::Custom(words.join(" ")))
        }
        Operator::IntegerDivision => (1, BinaryOperator::MyIntegerDivide),
        Operator::Power(tokens) => (tokens, BinaryOperator::BitwiseXor),
        Operator::And => (1, BinaryOperator::And),
        Operator::Xor => (1, BinaryOperator::Xor),
        Operator::NotLess => (2, BinaryOperator::GtEq),
        Operator::NotGreater => (2, BinaryOperator::LtEq),
        Operator::IsNull(_)
        | Operator::IsNotNull(_)
        | Operator::Is(_)
        | Operator::Condition
        | Operator::Path
        | Operator::Nothing => return None,
    })
}

fn next(parser: &Parser<'_>, dialect: Dialect) -> Option<Operator> {
    let my = matches!(dialect, Dialect::MySql | Dialect::MariaDb);
    match &parser.peek_token_ref().token {
        Token::Word(word) if word.quote_style.is_none() => next_word(parser, dialect, &word.value),
        Token::Placeholder(sign) if dialect == Dialect::ClickHouse && sign == "?" => {
            Some(Operator::Condition)
        }
        Token::Colon if dialect == Dialect::ClickHouse => Some(Operator::Nothing),
        Token::Colon if dialect == Dialect::Databricks => Some(Operator::Path),
        Token::CaretAt if dialect == Dialect::DuckDb => Some(STARTS_WITH),
        Token::Overlap if dialect == Dialect::DuckDb => Some(OVERLAPS),
        Token::Overlap if my => Some(Operator::And),
        Token::ExclamationMark if dialect == Dialect::SqlServer => {
            match parser.peek_nth_token_ref(1).token {
                Token::Lt => Some(Operator::NotLess),
                Token::Gt => Some(Operator::NotGreater),
                _ => None,
            }
        }
        Token::Caret if dialect == Dialect::DuckDb => Some(Operator::Power(1)),
        Token::Mul if dialect == Dialect::DuckDb && is_doubled(parser) => Some(Operator::Power(2)),
        _ => None,
    }
}

fn next_word(parser: &Parser<'_>, dialect: Dialect, first: &str) -> Option<Operator> {
    let first_is = |word: &str| first.eq_ignore_ascii_case(word);
    let not = |second: &str| first_is("NOT") && word_at(parser, 1, second);
    let operator = match dialect {
        Dialect::MySql | Dialect::MariaDb if first_is("XOR") => return Some(Operator::Xor),
        Dialect::MySql | Dialect::MariaDb | Dialect::ClickHouse if first_is("MOD") => MODULO,
        Dialect::ClickHouse | Dialect::Databricks if first_is("DIV") => Operator::IntegerDivision,
        Dialect::MySql | Dialect::MariaDb if first_is("SOUNDS") && word_at(parser, 1, "LIKE") => {
            SOUNDS_LIKE
        }
        Dialect::Sqlite | Dialect::DuckDb if first_is("GLOB") => GLOB,
        Dialect::Sqlite | Dialect::DuckDb if not("GLOB") => NOT_GLOB,
        Dialect::Sqlite if not("MATCH") => NOT_MATCH,
        Dialect::Sqlite if not("NULL") => return Some(Operator::IsNotNull(2)),
        Dialect::Sqlite if first_is("IS") => return comparison(parser).map(Operator::Is),
        Dialect::Sqlite | Dialect::Postgres | Dialect::Redshift | Dialect::DuckDb
            if first_is("ISNULL") =>
        {
            return Some(Operator::IsNull(1));
        }
        Dialect::Sqlite | Dialect::Postgres | Dialect::Redshift | Dialect::DuckDb
            if first_is("NOTNULL") =>
        {
            return Some(Operator::IsNotNull(1));
        }
        Dialect::ClickHouse if first_is("GLOBAL") => {
            return Some(if word_at(parser, 1, "IN") {
                Operator::In(&["GLOBAL", "IN"])
            } else if word_at(parser, 1, "NOT") && word_at(parser, 2, "IN") {
                Operator::In(&["GLOBAL", "NOT", "IN"])
            } else {
                Operator::Nothing
            });
        }
        Dialect::ClickHouse | Dialect::DuckDb | Dialect::Sqlite
            if first_is("IN") && is_set(parser, 1) =>
        {
            return Some(Operator::In(&["IN"]));
        }
        Dialect::ClickHouse | Dialect::DuckDb | Dialect::Sqlite
            if not("IN") && is_set(parser, 2) =>
        {
            return Some(Operator::In(&["NOT", "IN"]));
        }
        _ => return None,
    };
    has_operand(parser).then_some(operator)
}

/// False if the next token is an alias.
fn has_operand(parser: &Parser<'_>) -> bool {
    match &parser.peek_nth_token_ref(1).token {
        Token::EOF | Token::Comma | Token::RParen | Token::RBracket | Token::Period => false,
        Token::Word(word) => !matches!(word.keyword, Keyword::FROM | Keyword::AS),
        _ => true,
    }
}

fn is_set(parser: &Parser<'_>, index: usize) -> bool {
    let token = &parser.peek_nth_token_ref(index).token;
    !matches!(token, Token::LParen | Token::EOF) && !word_at(parser, index, "UNNEST")
}

/// SQLite: `IS` that the parser does not read itself.
fn comparison(parser: &Parser<'_>) -> Option<Comparison> {
    let negated = word_at(parser, 1, "NOT");
    let at = if negated { 2 } else { 1 };
    let known = ["NULL", "TRUE", "FALSE"];
    if known.iter().any(|word| word_at(parser, at, word)) {
        return None;
    }
    let spelled_out = word_at(parser, at, "DISTINCT") && word_at(parser, at + 1, "FROM");
    let words = if spelled_out { at + 2 } else { at };
    Some(if negated == spelled_out {
        Comparison::Equal(words)
    } else {
        Comparison::Distinct(words)
    })
}

fn is_doubled(parser: &Parser<'_>) -> bool {
    let (one, other) = (parser.peek_token_ref(), parser.peek_nth_token_ref(1));
    one.token == other.token && one.span.end == other.span.start
}

fn word_at(parser: &Parser<'_>, index: usize, expected: &str) -> bool {
    match &parser.peek_nth_token_ref(index).token {
        Token::Word(word) => {
            word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected)
        }
        _ => false,
    }
}

fn advance(parser: &mut Parser<'_>, tokens: usize) {
    for _ in 0..tokens {
        parser.advance_token();
    }
}

/// SQLite reads `a IS NULL + b` as `a IS (NULL + b)`.
fn postfix(test: Expr, dialect: Dialect) -> Expr {
    match dialect {
        Dialect::Sqlite => Expr::Nested(Box::new(test)),
        _ => test,
    }
}

fn is(
    parser: &mut Parser<'_>,
    left: Box<Expr>,
    comparison: Comparison,
    operand: u8,
) -> Result<Expr, ParserError> {
    let (Comparison::Equal(words) | Comparison::Distinct(words)) = comparison;
    advance(parser, words);
    let right = Box::new(parser.parse_subexpr(operand)?);
    Ok(match comparison {
        Comparison::Equal(_) => Expr::IsNotDistinctFrom(left, right),
        Comparison::Distinct(_) => Expr::IsDistinctFrom(left, right),
    })
}

fn condition(parser: &mut Parser<'_>, condition: Box<Expr>) -> Result<Expr, ParserError> {
    let words = |left, sign: &str, right| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::Custom(sign.to_owned()),
        right: Box::new(right),
    };
    parser.advance_token();
    let then = parser.parse_subexpr(0)?;
    if !parser.consume_token(&Token::Colon) {
        return Err(expected("the `:` of `a ? b : c`", parser));
    }
    let otherwise = parser.parse_subexpr(CONDITION - 1)?;
    Ok(words(*condition, "?", words(then, ":", otherwise)))
}

fn path(parser: &mut Parser<'_>, value: Box<Expr>) -> Result<Expr, ParserError> {
    parser.advance_token();
    let mut path = Vec::new();
    loop {
        match parser.peek_token_ref().token {
            Token::LBracket => {
                parser.advance_token();
                let key = key(parser)?;
                parser.expect_token(&Token::RBracket)?;
                path.push(if path.is_empty() {
                    JsonPathElem::ColonBracket { key }
                } else {
                    JsonPathElem::Bracket { key }
                });
            }
            Token::Word(_) if path.is_empty() => path.push(field(parser)?),
            Token::Period if !path.is_empty() => {
                parser.advance_token();
                path.push(field(parser)?);
            }
            _ if path.is_empty() => return Err(expected("a key", parser)),
            _ => break,
        }
    }
    let path = JsonPath { path };
    Ok(Expr::JsonAccess { value, path })
}

fn field(parser: &mut Parser<'_>) -> Result<JsonPathElem, ParserError> {
    let Token::Word(name) = &parser.peek_token_ref().token else {
        return Err(expected("a key", parser));
    };
    // The parser would print other quotes.
    let key = name.to_string();
    parser.advance_token();
    let quoted = false;
    Ok(JsonPathElem::Dot { key, quoted })
}

fn key(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    match &parser.peek_token_ref().token {
        Token::Number(..) | Token::SingleQuotedString(_) => parser.parse_value().map(Expr::Value),
        Token::Mul => {
            let star = parser.next_token();
            Ok(Expr::Wildcard(AttachedToken(star)))
        }
        _ => Err(expected("a key", parser)),
    }
}

fn expected(what: &str, parser: &Parser<'_>) -> ParserError {
    ParserError::ParserError(format!(
        "expected {what}, found: {}",
        parser.peek_token_ref().token
    ))
}
