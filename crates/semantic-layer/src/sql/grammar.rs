//! The grammar of expressions: the parser's own, plus operators and literals of warehouses that it
//! lacks. Each becomes a tree that prints verbatim or as an equivalent.

use std::any::TypeId;

use ktx_sql::Dialect;
use sqlparser::ast::{BinaryOperator, Expr, Statement, Value};
use sqlparser::dialect::{Dialect as Grammar, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::sql::build::call;

/// The precedence of `**` and `^` in DuckDB: above `*`, below `::`.
const POWER: u8 = 45;
/// The precedence of `a ? b : c`: below `OR`.
const CONDITION: u8 = 3;

pub(crate) fn grammar(dialect: Dialect) -> Box<dyn Grammar> {
    let stock = dialect.grammar();
    match dialect {
        Dialect::DuckDb | Dialect::Sqlite | Dialect::ClickHouse => {
            Box::new(Extended { stock, dialect })
        }
        _ => stock,
    }
}

/// The parser's grammar of a dialect, used after ktx's own.
#[derive(Debug)]
struct Extended {
    stock: Box<dyn Grammar>,
    dialect: Dialect,
}

/// Forwards switches to the stock grammar: all switches that one of the extended dialects sets. A
/// missing switch has its default, which accepts less.
macro_rules! as_in_stock {
    ($($switch:ident)*) => {
        $(
            fn $switch(&self) -> bool {
                self.stock.$switch()
            }
        )*
    };
}

impl Grammar for Extended {
    as_in_stock! {
        allow_extract_single_quotes describe_requires_table_keyword require_interval_qualifier
        support_map_literal_syntax supports_array_join_syntax
        supports_array_typedef_with_brackets supports_asc_desc_in_column_definition
        supports_comma_separated_trim supports_detach supports_dictionary_syntax
        supports_dollar_placeholder supports_explain_with_utility_options
        supports_from_first_select supports_group_by_expr supports_group_by_with_modifier
        supports_in_empty_list supports_in_unparenthesized_expr supports_insert_format
        supports_insert_table_function supports_install supports_interpolate
        supports_lambda_functions supports_limit_by supports_limit_comma
        supports_load_extension supports_named_fn_args_with_assignment_operator
        supports_named_fn_args_with_eq_operator supports_nested_comments
        supports_notnull_operator supports_numeric_literal_underscores
        supports_optimize_table supports_order_by_all supports_partition_by_after_order_by
        supports_prewhere supports_select_format supports_select_wildcard_except
        supports_select_wildcard_exclude supports_select_wildcard_replace supports_settings
        supports_start_transaction_modifier supports_string_literal_backslash_escape
        supports_trailing_commas supports_with_fill
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        self.dialect == Dialect::Sqlite || self.stock.supports_bitwise_shift_operators()
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        self.dialect == Dialect::ClickHouse || self.stock.supports_filter_during_aggregation()
    }

    fn dialect(&self) -> TypeId {
        self.stock.dialect()
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        self.stock.is_delimited_identifier_start(letter)
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.stock.identifier_quote_style(identifier)
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        self.stock.is_identifier_start(letter)
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        self.stock.is_identifier_part(letter)
    }

    fn parse_statement(&self, parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
        self.stock.parse_statement(parser)
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        if self.dialect == Dialect::Sqlite
            && let Some((number, tokens)) = hexadecimal(parser)
        {
            for _ in 0..tokens {
                parser.advance_token();
            }
            return Some(Ok(Expr::value(Value::Number(number, false))));
        }
        self.stock.parse_prefix(parser)
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        left: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        match next(parser, self.dialect) {
            Some(operator) => Some(self.operation(parser, operator, left, precedence)),
            None => self.stock.parse_infix(parser, left, precedence),
        }
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        let Some(operator) = next(parser, self.dialect) else {
            return self.stock.get_next_precedence(parser);
        };
        Some(Ok(match operator {
            Operator::Power(_) => POWER,
            Operator::Glob => self.prec_value(Precedence::Like),
            Operator::In(_) => self.prec_value(Precedence::Between),
            Operator::Is | Operator::IsNot => self.prec_value(Precedence::Is),
            Operator::IntegerDivision | Operator::Modulo => {
                self.prec_value(Precedence::MulDivModOp)
            }
            Operator::Condition => CONDITION,
            Operator::Otherwise => self.prec_unknown(),
        }))
    }
}

#[derive(Debug, Clone, Copy)]
enum Operator {
    /// DuckDB: `^` and `**`, with the number of its tokens.
    Power(usize),
    Glob,
    /// DuckDB: `IN` and `NOT IN` before a list value without parentheses.
    In(&'static [&'static str]),
    /// SQLite: `IS` before any value.
    Is,
    IsNot,
    IntegerDivision,
    Modulo,
    /// ClickHouse: the `?` of `a ? b : c`.
    Condition,
    Otherwise,
}

impl Extended {
    fn operation(
        &self,
        parser: &mut Parser<'_>,
        operator: Operator,
        left: &Expr,
        precedence: u8,
    ) -> Result<Expr, ParserError> {
        let left = Box::new(left.clone());
        let tokens = match operator {
            Operator::Power(tokens) => tokens,
            Operator::In(words) => words.len(),
            Operator::IsNot => 2,
            _ => 1,
        };
        for _ in 0..tokens {
            parser.advance_token();
        }
        let op = match operator {
            Operator::Power(_) => BinaryOperator::BitwiseXor,
            Operator::Glob => BinaryOperator::Custom("GLOB".to_owned()),
            Operator::In(words) => BinaryOperator::Custom(words.join(" ")),
            Operator::IntegerDivision => BinaryOperator::MyIntegerDivide,
            Operator::Modulo => BinaryOperator::Modulo,
            Operator::Is | Operator::IsNot => {
                // `=` has the same precedence, and the operators associate to the left.
                let right = Box::new(parser.parse_subexpr(self.prec_value(Precedence::Eq))?);
                return Ok(match operator {
                    Operator::Is => Expr::IsNotDistinctFrom(left, right),
                    _ => Expr::IsDistinctFrom(left, right),
                });
            }
            Operator::Condition => return self.condition(parser, *left),
            Operator::Otherwise => return Err(expected("an operator", parser)),
        };
        let right = Box::new(parser.parse_subexpr(precedence)?);
        Ok(Expr::BinaryOp { left, op, right })
    }

    /// Parses the rest of `a ? b : c` after the `?` into the equivalent call. ClickHouse allows no
    /// `OR` and no second `?` after the colon.
    fn condition(&self, parser: &mut Parser<'_>, condition: Expr) -> Result<Expr, ParserError> {
        let then = parser.parse_subexpr(CONDITION)?;
        if parser.next_token().token != Token::Colon {
            parser.prev_token();
            return Err(expected("the `:` of `a ? b : c`", parser));
        }
        let otherwise = parser.parse_subexpr(self.prec_value(Precedence::Or))?;
        let is_clear = match &parser.peek_token_ref().token {
            Token::Placeholder(sign) => sign != "?",
            Token::Word(word) => word.keyword != Keyword::OR,
            _ => true,
        };
        if !is_clear {
            let message =
                "ClickHouse reads nothing like that behind `a ? b : c`; put parentheses around it";
            return Err(ParserError::ParserError(message.to_owned()));
        }
        Ok(call("if", vec![condition, then, otherwise]))
    }
}

fn next(parser: &Parser<'_>, dialect: Dialect) -> Option<Operator> {
    let token = &parser.peek_token_ref().token;
    match (dialect, token) {
        (Dialect::DuckDb, Token::Caret) => Some(Operator::Power(1)),
        (Dialect::DuckDb, Token::Mul) if is_doubled(parser) => Some(Operator::Power(2)),
        (Dialect::DuckDb, Token::Word(_)) => {
            if is_word(parser, 0, "GLOB") && has_operand(parser) {
                Some(Operator::Glob)
            } else if is_word(parser, 0, "IN") && is_value(parser, 1) {
                Some(Operator::In(&["IN"]))
            } else if is_word(parser, 0, "NOT") && is_word(parser, 1, "IN") && is_value(parser, 2) {
                Some(Operator::In(&["NOT", "IN"]))
            } else {
                None
            }
        }
        (Dialect::Sqlite, Token::Word(_)) if is_word(parser, 0, "IS") => {
            let (operator, at) = if is_word(parser, 1, "NOT") {
                (Operator::IsNot, 2)
            } else {
                (Operator::Is, 1)
            };
            let known = ["NULL", "TRUE", "FALSE", "DISTINCT"];
            let is_known = known.iter().any(|word| is_word(parser, at, word));
            (!is_known).then_some(operator)
        }
        (Dialect::ClickHouse, Token::Word(_)) if has_operand(parser) => {
            if is_word(parser, 0, "DIV") {
                Some(Operator::IntegerDivision)
            } else if is_word(parser, 0, "MOD") {
                Some(Operator::Modulo)
            } else {
                None
            }
        }
        (Dialect::ClickHouse, Token::Placeholder(sign)) if sign == "?" => Some(Operator::Condition),
        (Dialect::ClickHouse, Token::Colon) if is_behind_condition(parser) => {
            Some(Operator::Otherwise)
        }
        _ => None,
    }
}

/// Returns true if the token `ahead` positions further is this unquoted word.
fn is_word(parser: &Parser<'_>, ahead: usize, expected: &str) -> bool {
    match &parser.peek_nth_token_ref(ahead).token {
        Token::Word(word) => {
            word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected)
        }
        _ => false,
    }
}

/// Returns true if the token after the next one can start a value, so that the next one is not an
/// alias.
fn has_operand(parser: &Parser<'_>) -> bool {
    match &parser.peek_nth_token_ref(1).token {
        Token::EOF | Token::Comma | Token::RParen | Token::RBracket | Token::Period => false,
        Token::Word(word) => !matches!(word.keyword, Keyword::FROM | Keyword::AS),
        _ => true,
    }
}

/// Returns true unless a parenthesized `IN` list or `UNNEST` follows, which the parser reads
/// itself.
fn is_value(parser: &Parser<'_>, ahead: usize) -> bool {
    let token = &parser.peek_nth_token_ref(ahead).token;
    !matches!(token, Token::LParen | Token::EOF) && !is_word(parser, ahead, "UNNEST")
}

fn is_doubled(parser: &Parser<'_>) -> bool {
    let (one, other) = (parser.peek_token_ref(), parser.peek_nth_token_ref(1));
    one.token == other.token && one.span.end == other.span.start
}

/// Returns true if a `?` precedes the parser's position, so that a colon belongs to it.
fn is_behind_condition(parser: &Parser<'_>) -> bool {
    let is_condition =
        |at: usize| matches!(&parser.token_at(at).token, Token::Placeholder(sign) if sign == "?");
    (0..=parser.get_current_index()).any(is_condition)
}

/// Reads `0x1F` with its number of tokens. The tokenizer reads it like `x'1F'`, which is one
/// character longer, and `0X1F` as a number and a word.
fn hexadecimal(parser: &Parser<'_>) -> Option<(String, usize)> {
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
    let is_digit = |letter: char| letter.is_ascii_hexdigit();
    let is_number = !digits.is_empty() && digits.chars().all(is_digit);
    is_number.then(|| (format!("0x{digits}"), tokens))
}

fn expected(what: &str, parser: &Parser<'_>) -> ParserError {
    ParserError::ParserError(format!(
        "expected {what}, found: {}",
        parser.peek_token_ref().token
    ))
}
