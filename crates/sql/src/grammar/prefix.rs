//! Values that the parser does not know; each prints as written.

use sqlparser::ast::{DateTimeField, Expr, Ident, Interval, ObjectName, Value};
use sqlparser::dialect::{Dialect as ParserDialect, Precedence};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::dialect::Dialect;

type ParseResult = Result<Expr, ParserError>;

pub(super) fn parse(
    parser: &mut Parser<'_>,
    dialect: Dialect,
    stock: &dyn ParserDialect,
) -> Option<ParseResult> {
    let next = &parser.peek_token_ref().token;
    match (dialect, next) {
        (Dialect::DuckDb, Token::Sharp) => return column_number(parser),
        (Dialect::DuckDb | Dialect::Redshift, Token::AtSign) => return Some(signed(parser, "@")),
        (Dialect::Redshift, Token::PGSquareRoot) => return Some(signed(parser, "|/")),
        (Dialect::Redshift, Token::PGCubeRoot) => return Some(signed(parser, "||/")),
        (Dialect::Sqlite, _) => return hexadecimal(parser),
        _ => {}
    }
    let word = word(next)?.to_ascii_uppercase();
    if word == "FROM" && follows(parser, 0, &["LEADING", "TRAILING", "BOTH"]) {
        parser.advance_token();
        return Some(parser.parse_expr().map(|text| prefixed("FROM", text)));
    }
    let between = stock.prec_value(Precedence::Between);
    after_word(parser, dialect, &word, between).or_else(|| {
        let has_types = matches!(
            dialect,
            Dialect::Postgres
                | Dialect::Redshift
                | Dialect::DuckDb
                | Dialect::Trino
                | Dialect::Databricks
        );
        let may_be_type = has_types && !NO_TYPES.contains(&word.as_str());
        may_be_type.then(|| typed_text(parser, &word)).flatten()
    })
}

/// `between` is the precedence of `BETWEEN`.
fn after_word(
    parser: &mut Parser<'_>,
    dialect: Dialect,
    word: &str,
    between: u8,
) -> Option<ParseResult> {
    match (dialect, word) {
        (Dialect::Postgres, "SYMMETRIC" | "ASYMMETRIC") if follows(parser, 0, &["BETWEEN"]) => {
            Some(symmetric(parser, between))
        }
        (Dialect::Postgres, "NAME") if opens_xml(parser) => Some(xml_name(parser)),
        (Dialect::Postgres, "VARIADIC") if variadic(parser) => {
            parser.advance_token();
            Some(parser.parse_expr().map(|list| prefixed(word, list)))
        }
        (Dialect::Postgres | Dialect::Redshift, "INTERVAL") if precise(parser) => {
            Some(precise_interval(parser))
        }
        (Dialect::Postgres | Dialect::Redshift, "INTERVAL") if fielded(parser) => Some(Err(
            ParserError::ParserError("the fields of an interval follow its text".to_owned()),
        )),
        (Dialect::MySql | Dialect::MariaDb, "INTERVAL") => Some(interval(parser)),
        (Dialect::MySql | Dialect::MariaDb, "BINARY") if !ends_value(parser) => {
            Some(signed(parser, word))
        }
        (Dialect::ClickHouse, "INTERVAL") if is_amount(parser) => Some(interval(parser)),
        (Dialect::Databricks, "INTERVAL") => long_interval(parser),
        (Dialect::Redshift, "CONNECT_BY_ROOT")
            if matches!(parser.peek_nth_token_ref(1).token, Token::Word(_)) =>
        {
            Some(signed(parser, word))
        }
        (Dialect::Snowflake | Dialect::Trino, "FINAL" | "RUNNING") if calls(parser) => {
            parser.advance_token();
            Some(parser.parse_prefix().map(|call| prefixed(word, call)))
        }
        (Dialect::SqlServer, "GEOGRAPHY" | "GEOMETRY" | "HIERARCHYID") => static_method(parser),
        (Dialect::BigQuery, "ARRAY" | "STRUCT")
            if parser.peek_nth_token_ref(1).token == Token::Lt =>
        {
            Some(typed_literal(parser))
        }
        (Dialect::BigQuery | Dialect::Trino | Dialect::Databricks, "TABLE") => table(parser),
        _ => None,
    }
}

fn ends_value(parser: &Parser<'_>) -> bool {
    matches!(
        parser.peek_nth_token_ref(1).token,
        Token::Comma | Token::RParen | Token::Period | Token::Eq | Token::EOF
    )
}

fn word(token: &Token) -> Option<&str> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(&word.value),
        _ => None,
    }
}

fn follows(parser: &Parser<'_>, back: usize, words: &[&str]) -> bool {
    parser
        .get_current_index()
        .checked_sub(back)
        .and_then(|index| word(&parser.token_at(index).token))
        .is_some_and(|found| words.iter().any(|word| found.eq_ignore_ascii_case(word)))
}

fn opens_xml(parser: &Parser<'_>) -> bool {
    parser.get_current_token().token == Token::LParen
        && follows(parser, 1, &["XMLELEMENT", "XMLPI"])
        && matches!(parser.peek_nth_token_ref(1).token, Token::Word(_))
}

fn prefixed(prefix: &str, value: Expr) -> Expr {
    Expr::Prefixed {
        prefix: Ident::new(prefix),
        value: Box::new(value),
    }
}

fn symmetric(parser: &mut Parser<'_>, between: u8) -> ParseResult {
    let word = parser.next_token().token.to_string();
    let low = parser.parse_subexpr(between)?;
    Ok(prefixed(&word.to_ascii_uppercase(), low))
}

fn xml_name(parser: &mut Parser<'_>) -> ParseResult {
    parser.advance_token();
    let name = parser.parse_identifier()?;
    Ok(prefixed("NAME", Expr::Identifier(name)))
}

const UNARY: u8 = 45;

fn calls(parser: &Parser<'_>) -> bool {
    matches!(parser.peek_nth_token_ref(1).token, Token::Word(_))
        && parser.peek_nth_token_ref(2).token == Token::LParen
}

/// Words that are not types, and types that the parser reads itself.
const NO_TYPES: &[&str] = &[
    "ALL",
    "AND",
    "ANY",
    "ARRAY",
    "AS",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "CURRENT",
    "DATE",
    "DATETIME",
    "DISTINCT",
    "DIV",
    "ELSE",
    "ESCAPE",
    "EXCEPT",
    "EXISTS",
    "EXTRACT",
    "FROM",
    "GLOB",
    "IF",
    "ILIKE",
    "IN",
    "INTERSECT",
    "INTERVAL",
    "IS",
    "LAMBDA",
    "LIKE",
    "LIMIT",
    "MAP",
    "NAME",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "OVERLAY",
    "POSITION",
    "PRIOR",
    "REGEXP",
    "RLIKE",
    "ROW",
    "SELECT",
    "SIMILAR",
    "SOME",
    "STRUCT",
    "SUBSTRING",
    "THEN",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "TIMESTAMP_NTZ",
    "TIMETZ",
    "TRIM",
    "UNION",
    "UNIQUE",
    "USING",
    "VALUES",
    "VARIADIC",
    "WHEN",
    "WHERE",
    "WITH",
];

/// The parser would read the text of `inet '10.0.0.1'` as an alias.
fn typed_text(parser: &mut Parser<'_>, name: &str) -> Option<ParseResult> {
    let literal = matches!(
        parser.peek_nth_token_ref(1).token,
        Token::SingleQuotedString(_)
    );
    if !literal {
        return None;
    }
    parser.advance_token();
    Some(parser.parse_prefix().map(|text| prefixed(name, text)))
}

fn precise(parser: &Parser<'_>) -> bool {
    parser.peek_nth_token_ref(1).token == Token::LParen
        && matches!(parser.peek_nth_token_ref(2).token, Token::Number(..))
        && parser.peek_nth_token_ref(3).token == Token::RParen
        && is_text(parser, 4)
}

/// No server accepts fields before the text.
fn fielded(parser: &Parser<'_>) -> bool {
    const FIELDS: &[&str] = &["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"];
    word(&parser.peek_nth_token_ref(1).token)
        .is_some_and(|next| FIELDS.iter().any(|field| next.eq_ignore_ascii_case(field)))
        && (is_text(parser, 2) || is_text(parser, 5))
}

fn is_text(parser: &Parser<'_>, place: usize) -> bool {
    matches!(
        parser.peek_nth_token_ref(place).token,
        Token::SingleQuotedString(_)
    )
}

/// The parser would drop the precision of `INTERVAL(1) '1.66'`.
fn precise_interval(parser: &mut Parser<'_>) -> ParseResult {
    let digits = parser.peek_nth_token_ref(2).token.to_string();
    for _ in 0..4 {
        parser.advance_token();
    }
    let text = parser.parse_value()?;
    Ok(prefixed(&format!("INTERVAL({digits})"), Expr::Value(text)))
}

fn variadic(parser: &Parser<'_>) -> bool {
    matches!(
        parser.get_current_token().token,
        Token::LParen | Token::Comma
    ) && !ends_value(parser)
}

/// `@ -5`, `BINARY a`
fn signed(parser: &mut Parser<'_>, sign: &str) -> ParseResult {
    parser.advance_token();
    parser
        .parse_subexpr(UNARY)
        .map(|value| prefixed(sign, value))
}

/// DuckDB: `#1`, the first column.
fn column_number(parser: &mut Parser<'_>) -> Option<ParseResult> {
    let Token::Number(number, false) = &parser.peek_nth_token_ref(1).token else {
        return None;
    };
    let name = Ident::new(format!("#{number}"));
    parser.advance_token();
    parser.advance_token();
    Some(Ok(Expr::Identifier(name)))
}

/// SQL Server: `geography::Point(…)`
fn static_method(parser: &mut Parser<'_>) -> Option<ParseResult> {
    let called = parser.peek_nth_token_ref(1).token == Token::DoubleColon
        && parser.peek_nth_token_ref(3).token == Token::LParen;
    let method = word(&parser.peek_nth_token_ref(2).token).filter(|_| called)?;
    let name = format!("{}::{method}", parser.peek_token_ref().token);
    for _ in 0..3 {
        parser.advance_token();
    }
    let name = ObjectName::from(vec![Ident::new(name)]);
    Some(parser.parse_function(name))
}

/// Databricks: `INTERVAL 1 DAY 2 HOURS`
fn long_interval(parser: &mut Parser<'_>) -> Option<ParseResult> {
    let mut parts = Vec::new();
    loop {
        let place = 1 + parts.len();
        let amount = &parser.peek_nth_token_ref(place).token;
        let unit = word(&parser.peek_nth_token_ref(place + 1).token);
        let (Token::Number(..) | Token::SingleQuotedString(_), Some(unit)) = (amount, unit) else {
            break;
        };
        let (amount, unit) = (amount.to_string(), unit.to_owned());
        parts.extend([amount, unit]);
    }
    if parts.len() < 4 {
        return None;
    }
    for _ in 0..=parts.len() {
        parser.advance_token();
    }
    Some(Ok(prefixed(
        "INTERVAL",
        Expr::Identifier(Ident::new(parts.join(" "))),
    )))
}

fn is_amount(parser: &Parser<'_>) -> bool {
    match &parser.peek_nth_token_ref(1).token {
        Token::Number(..) => true,
        // Before any other token, `interval` is a column.
        Token::Word(_) => matches!(
            parser.peek_nth_token_ref(2).token,
            Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Period
        ),
        _ => false,
    }
}

/// MySQL, ClickHouse: any unit.
fn interval(parser: &mut Parser<'_>) -> ParseResult {
    parser.advance_token();
    let bracketed = parser.peek_token_ref().token == Token::LParen;
    let value = if bracketed {
        parser.parse_prefix()?
    } else {
        parser.parse_expr()?
    };
    // `INTERVAL(1, 2)` is a function.
    if let Expr::Tuple(_) = value {
        return Ok(prefixed("INTERVAL", value));
    }
    let value = Box::new(value);
    let compound = word(&parser.peek_token_ref().token)
        .filter(|unit| {
            COMPOUND_UNITS
                .iter()
                .any(|known| unit.eq_ignore_ascii_case(known))
        })
        .map(Ident::new);
    let leading_field = match compound {
        Some(unit) => {
            parser.advance_token();
            DateTimeField::Custom(unit)
        }
        None => parser.parse_date_time_field()?,
    };
    Ok(Expr::Interval(Interval {
        value,
        leading_field: Some(leading_field),
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    }))
}

const COMPOUND_UNITS: &[&str] = &[
    "SECOND_MICROSECOND",
    "MINUTE_MICROSECOND",
    "MINUTE_SECOND",
    "HOUR_MICROSECOND",
    "HOUR_SECOND",
    "HOUR_MINUTE",
    "DAY_MICROSECOND",
    "DAY_SECOND",
    "DAY_MINUTE",
    "DAY_HOUR",
    "YEAR_MONTH",
];

/// BigQuery: `ARRAY<STRUCT<a INT64>>[…]`
fn typed_literal(parser: &mut Parser<'_>) -> ParseResult {
    let written = parser.parse_data_type()?.to_string();
    match parser.peek_token_ref().token {
        Token::LParen | Token::LBracket => Ok(prefixed(&written, parser.parse_prefix()?)),
        _ => Err(ParserError::ParserError(format!(
            "expected the value of a {written}"
        ))),
    }
}

/// `TABLE name`, `TABLE(name)`
fn table(parser: &mut Parser<'_>) -> Option<ParseResult> {
    let named = match &parser.peek_nth_token_ref(1).token {
        Token::Word(_) => true,
        Token::LParen => false,
        _ => return None,
    };
    parser.advance_token();
    Some(if named {
        parser.parse_object_name(true).map(|name| {
            let parts = name.0.iter().filter_map(|part| part.as_ident().cloned());
            prefixed(TABLE, Expr::CompoundIdentifier(parts.collect()))
        })
    } else {
        parser.parse_prefix().map(|name| prefixed(TABLE, name))
    })
}

pub const TABLE: &str = "TABLE";

/// SQLite: the tokenizer reads `0x1F` like `x'1F'`, and `0X1F` as a number and a word.
fn hexadecimal(parser: &mut Parser<'_>) -> Option<ParseResult> {
    let next = parser.peek_token_ref();
    let (digits, tokens) = match &next.token {
        Token::HexStringLiteral(digits) => {
            let width = next.span.end.column.checked_sub(next.span.start.column)?;
            let is_number = usize::try_from(width).ok()? == digits.len() + 2;
            (is_number.then_some(digits.as_str())?, 1)
        }
        Token::Number(zero, false) if zero == "0" => {
            let behind = parser.peek_nth_token_ref(1);
            match &behind.token {
                Token::Word(word) if next.span.end == behind.span.start => {
                    (word.value.strip_prefix('X')?, 2)
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    let number = is_number.then(|| Value::Number(format!("0x{digits}"), false))?;
    for _ in 0..tokens {
        parser.advance_token();
    }
    Some(Ok(Expr::value(number)))
}
