//! Operators that the parser does not know. Each becomes a node that prints as it was written.

use ktx_sql::Dialect;
use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArguments, Ident, JsonPath, JsonPathElem, ObjectName,
};
use sqlparser::dialect::{Dialect as Grammar, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::patches::{Marker, STAR};

/// The precedence below everything else, for the words of [`Marker`].
const MARKER: u8 = 2;

/// The precedence of `a ? b : c`, below `OR`.
const TERNARY: u8 = 3;

/// The right side of an operator that has none; it is removed from the printed text.
const NOTHING: &str = "ktx__nothing";

/// The next token where an operator may be.
#[derive(Debug, Clone, Copy)]
enum Operator {
    /// `DIV`
    IntegerDivision,
    /// An operator of these words between two values.
    Words(&'static [&'static str], Precedence),
    IsNull,
    IsNotNull,
    /// SQLite: postfix words that end the value, unlike `IS NULL`, after which the parser reads on.
    Behind(&'static [&'static str]),
    /// `[GLOBAL] [NOT] IN` of a set, with its words.
    In(&'static [&'static str]),
    /// `? … :`
    Ternary,
    /// What ClickHouse puts after a set of columns.
    Columns(ColumnsPart),
    /// Databricks: `:a.b[0]`
    Path,
    Marked(Marker),
    /// Not an operator here, although it is one elsewhere.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnsPart {
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
}

const MODULO: Operator = Operator::Words(&["MOD"], Precedence::MulDivModOp);
const SOUNDS_LIKE: Operator = Operator::Words(&["SOUNDS", "LIKE"], Precedence::Like);
const STARTS_WITH: Operator = Operator::Words(&["^@"], Precedence::PgOther);
const OVERLAPS: Operator = Operator::Words(&["&&"], Precedence::PgOther);
const NOT_MATCH: Operator = Operator::Words(&["NOT", "MATCH"], Precedence::Like);
const GLOB: Operator = Operator::Words(&["GLOB"], Precedence::Like);
const NOT_GLOB: Operator = Operator::Words(&["NOT", "GLOB"], Precedence::Like);

/// Returns the precedence of the operator at the parser's position if it is one of this module.
pub(super) fn precedence(parser: &Parser<'_>, dialect: Dialect, stock: &dyn Grammar) -> Option<u8> {
    Some(match next(parser, dialect)? {
        Operator::IntegerDivision => stock.prec_value(Precedence::MulDivModOp),
        Operator::Words(_, precedence) => stock.prec_value(precedence),
        Operator::IsNull | Operator::IsNotNull | Operator::Behind(_) => {
            stock.prec_value(Precedence::Is)
        }
        Operator::In(_) => stock.prec_value(Precedence::Between),
        Operator::Ternary => TERNARY,
        Operator::Columns(_) | Operator::Path => stock.prec_value(Precedence::DoubleColon),
        Operator::Marked(_) => MARKER,
        Operator::Nothing => stock.prec_unknown(),
    })
}

/// Parses one of this module's operators after `left`.
pub(super) fn parse(
    parser: &mut Parser<'_>,
    dialect: Dialect,
    left: &Expr,
    precedence: u8,
) -> Option<Result<Expr, ParserError>> {
    let operator = next(parser, dialect)?;
    let left = Box::new(left.clone());
    Some(match operator {
        Operator::IntegerDivision => {
            parser.advance_token();
            parser
                .parse_subexpr(precedence)
                .map(|right| binary(left, BinaryOperator::MyIntegerDivide, right))
        }
        Operator::Words(words, _) | Operator::In(words) => {
            for _ in words {
                parser.advance_token();
            }
            parser
                .parse_subexpr(precedence)
                .map(|right| words_between(left, &words.join(" "), right))
        }
        Operator::IsNull => {
            parser.advance_token();
            Ok(Expr::IsNull(left))
        }
        Operator::IsNotNull => {
            parser.advance_token();
            Ok(Expr::IsNotNull(left))
        }
        Operator::Behind(words) => {
            for _ in words {
                parser.advance_token();
            }
            let nothing = Expr::Identifier(Ident::new(NOTHING));
            Ok(words_between(left, &words.join(" "), nothing))
        }
        Operator::Ternary => ternary(parser, left),
        Operator::Columns(part) => columns(parser, left, part),
        Operator::Path => path(parser, left),
        Operator::Marked(marker) => marked(parser, left, marker),
        Operator::Nothing => return None,
    })
}

fn next(parser: &Parser<'_>, dialect: Dialect) -> Option<Operator> {
    match &parser.peek_token_ref().token {
        Token::Word(word) if word.quote_style.is_none() => Marker::of(&word.value).map_or_else(
            || next_word(parser, dialect, &word.value),
            |marker| Some(Operator::Marked(marker)),
        ),
        Token::Placeholder(sign) if dialect == Dialect::ClickHouse && sign == "?" => {
            Some(Operator::Ternary)
        }
        Token::Colon if dialect == Dialect::ClickHouse => Some(Operator::Nothing),
        Token::Colon if dialect == Dialect::Databricks => Some(Operator::Path),
        Token::CaretAt if dialect == Dialect::DuckDb => Some(STARTS_WITH),
        Token::Overlap if dialect == Dialect::DuckDb => Some(OVERLAPS),
        _ => None,
    }
}

fn next_word(parser: &Parser<'_>, dialect: Dialect, first: &str) -> Option<Operator> {
    let first_is = |word: &str| first.eq_ignore_ascii_case(word);
    let my = matches!(dialect, Dialect::MySql | Dialect::MariaDb);
    let operator = match dialect {
        Dialect::MySql | Dialect::MariaDb | Dialect::ClickHouse if first_is("MOD") => MODULO,
        Dialect::ClickHouse | Dialect::Databricks if first_is("DIV") => Operator::IntegerDivision,
        _ if my && first_is("SOUNDS") && word_at(parser, 1, "LIKE") => SOUNDS_LIKE,
        Dialect::Sqlite | Dialect::DuckDb if first_is("GLOB") => GLOB,
        Dialect::Sqlite | Dialect::DuckDb if first_is("NOT") && word_at(parser, 1, "GLOB") => {
            NOT_GLOB
        }
        Dialect::Sqlite if first_is("NOT") && word_at(parser, 1, "MATCH") => NOT_MATCH,
        Dialect::Sqlite if first_is("ISNULL") => return Some(Operator::Behind(&["ISNULL"])),
        Dialect::Sqlite if first_is("NOTNULL") => return Some(Operator::Behind(&["NOTNULL"])),
        Dialect::Sqlite if first_is("NOT") && word_at(parser, 1, "NULL") => {
            return Some(Operator::Behind(&["NOT", "NULL"]));
        }
        Dialect::Postgres | Dialect::Redshift | Dialect::DuckDb if first_is("ISNULL") => {
            return Some(Operator::IsNull);
        }
        Dialect::Postgres | Dialect::Redshift | Dialect::DuckDb if first_is("NOTNULL") => {
            return Some(Operator::IsNotNull);
        }
        Dialect::ClickHouse | Dialect::DuckDb | Dialect::Sqlite => {
            return set_or_columns(parser, dialect, first);
        }
        _ => return None,
    };
    has_operand(parser).then_some(operator)
}

/// Whether the token after the next one may start a value, so that the next token is not an alias.
fn has_operand(parser: &Parser<'_>) -> bool {
    match &parser.peek_nth_token_ref(1).token {
        Token::EOF | Token::Comma | Token::RParen | Token::RBracket | Token::Period => false,
        Token::Word(word) => !matches!(word.keyword, Keyword::FROM | Keyword::AS),
        _ => true,
    }
}

fn set_or_columns(parser: &Parser<'_>, dialect: Dialect, first: &str) -> Option<Operator> {
    let first_is = |word: &str| first.eq_ignore_ascii_case(word);
    let open_at = |index: usize| parser.peek_nth_token_ref(index).token == Token::LParen;
    if dialect == Dialect::ClickHouse && first_is("GLOBAL") {
        return if word_at(parser, 1, "IN") {
            Some(Operator::In(&["GLOBAL", "IN"]))
        } else if word_at(parser, 1, "NOT") && word_at(parser, 2, "IN") {
            Some(Operator::In(&["GLOBAL", "NOT", "IN"]))
        } else {
            Some(Operator::Nothing)
        };
    }
    if first_is("IN") && !open_at(1) {
        return Some(Operator::In(&["IN"]));
    }
    if first_is("NOT") && word_at(parser, 1, "IN") && !open_at(2) {
        return Some(Operator::In(&["NOT", "IN"]));
    }
    if dialect != Dialect::ClickHouse || !behind_columns(parser) {
        return None;
    }
    let names_function = matches!(parser.peek_nth_token_ref(1).token, Token::Word(_));
    if first_is("APPLY") && names_function {
        return Some(Operator::Columns(ColumnsPart::Apply));
    }
    if !open_at(1) {
        return None;
    }
    let queries = ["SELECT", "WITH"];
    if first_is("APPLY") {
        Some(Operator::Columns(ColumnsPart::Apply))
    } else if first_is("EXCEPT") {
        let query = queries.iter().any(|word| word_at(parser, 2, word)) || open_at(2);
        (!query).then_some(Operator::Columns(ColumnsPart::Except))
    } else if first_is("REPLACE") {
        Some(Operator::Columns(ColumnsPart::Replace))
    } else {
        None
    }
}

fn behind_columns(parser: &Parser<'_>) -> bool {
    match &parser.get_current_token().token {
        Token::RParen => true,
        Token::Word(word) => word.value == STAR,
        _ => false,
    }
}

fn word_at(parser: &Parser<'_>, index: usize, expected: &str) -> bool {
    match &parser.peek_nth_token_ref(index).token {
        Token::Word(word) => {
            word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected)
        }
        _ => false,
    }
}

fn binary(left: Box<Expr>, op: BinaryOperator, right: Expr) -> Expr {
    let right = Box::new(right);
    Expr::BinaryOp { left, op, right }
}

fn words_between(left: Box<Expr>, words: &str, right: Expr) -> Expr {
    binary(left, BinaryOperator::Custom(words.to_owned()), right)
}

fn ternary(parser: &mut Parser<'_>, condition: Box<Expr>) -> Result<Expr, ParserError> {
    parser.advance_token();
    let then = parser.parse_subexpr(0)?;
    parser.expect_token(&Token::Colon)?;
    let otherwise = parser.parse_subexpr(TERNARY - 1)?;
    Ok(words_between(
        condition,
        "?",
        words_between(Box::new(then), ":", otherwise),
    ))
}

fn columns(
    parser: &mut Parser<'_>,
    left: Box<Expr>,
    part: ColumnsPart,
) -> Result<Expr, ParserError> {
    if !is_columns(&left) {
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
    Ok(words_between(left, part.word(), right))
}

/// Parses the path after a colon: names, numbers, texts and stars, kept as written.
fn path(parser: &mut Parser<'_>, value: Box<Expr>) -> Result<Expr, ParserError> {
    parser.advance_token();
    let mut key = String::new();
    loop {
        match &parser.peek_token_ref().token {
            Token::LBracket => {
                parser.advance_token();
                let inner = parser.next_token().token;
                let plain = matches!(
                    inner,
                    Token::Number(..) | Token::SingleQuotedString(_) | Token::Mul
                );
                if !plain {
                    return Err(expected("a key", parser));
                }
                parser.expect_token(&Token::RBracket)?;
                key.push('[');
                key.push_str(&inner.to_string());
                key.push(']');
            }
            Token::Word(name) if key.is_empty() || key.ends_with('.') => {
                key.push_str(&name.to_string());
                parser.advance_token();
            }
            Token::Period if !key.is_empty() && !key.ends_with('.') => {
                key.push('.');
                parser.advance_token();
            }
            _ if key.is_empty() || key.ends_with('.') => return Err(expected("a key", parser)),
            _ => break,
        }
    }
    let quoted = false;
    Ok(Expr::JsonAccess {
        value,
        path: JsonPath {
            path: vec![JsonPathElem::Dot { key, quoted }],
        },
    })
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

/// Converts a bare name to the function that it means, so that the rules see a call.
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
    let value = Box::new(parser.parse_expr()?);
    parser.expect_keyword_is(Keyword::AS)?;
    let name = parser.parse_identifier()?;
    Ok(words_between(value, "AS", Expr::Identifier(name)))
}

fn marked(parser: &mut Parser<'_>, left: Box<Expr>, marker: Marker) -> Result<Expr, ParserError> {
    parser.advance_token();
    match marker {
        Marker::As => {
            let name = type_or_name(parser)?;
            Ok(words_between(left, "AS", Expr::Identifier(name)))
        }
        Marker::For => comprehension(parser, left),
        Marker::Using | Marker::Passing | Marker::Colon | Marker::If => {
            let right = parser.parse_subexpr(MARKER)?;
            Ok(words_between(left, marker.printed(), right))
        }
    }
}

/// Parses `x FOR a, b IN list [IF condition]` after the `FOR`.
fn comprehension(parser: &mut Parser<'_>, item: Box<Expr>) -> Result<Expr, ParserError> {
    let names = parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_keyword_is(Keyword::IN)?;
    let list = parser.parse_subexpr(MARKER)?;
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let words = format!("FOR {} IN", names.join(", "));
    Ok(words_between(item, &words, list))
}

/// Parses a name, or a type with lengths, kept as written.
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

fn expected(what: &str, parser: &Parser<'_>) -> ParserError {
    ParserError::ParserError(format!(
        "expected {what}, found: {}",
        parser.peek_token_ref().token
    ))
}
