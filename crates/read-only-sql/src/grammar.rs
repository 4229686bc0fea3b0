//! Each dialect's grammar with the patches, and the parse of one statement.

mod columns;
mod markers;
mod versions;

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use ktx_sql::grammar::{Extension, Grammar};
use sqlparser::ast::{BinaryOperator, Expr, Ident, Statement};
use sqlparser::dialect::{Dialect as _, Precedence};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Tokenizer};

use self::columns::ColumnsPart;
use crate::patches::{Marker, Version};
use crate::refusal::{Refusal, refuse};

#[derive(Debug)]
struct PatchWords {
    dialect: Dialect,
}

const MARKER: u8 = 2;

/// The missing right side of an operator.
const NOTHING: &str = "ktx__nothing";

#[derive(Debug, Clone, Copy)]
enum Operator {
    Marked(Marker),
    Columns(ColumnsPart),
    /// SQLite: words after a value that must not be printed as `IS NULL`.
    Behind(&'static [&'static str]),
}

impl PatchWords {
    fn next(&self, parser: &Parser<'_>) -> Option<Operator> {
        if let Token::Word(word) = &parser.peek_token_ref().token
            && word.quote_style.is_none()
            && let Some(marker) = Marker::of(&word.value)
        {
            return Some(Operator::Marked(marker));
        }
        match self.dialect {
            Dialect::ClickHouse => ColumnsPart::next(parser).map(Operator::Columns),
            Dialect::Sqlite => {
                let tests: [&[&str]; 3] = [&["ISNULL"], &["NOTNULL"], &["NOT", "NULL"]];
                let follows = |words: &&&[&str]| {
                    (0..)
                        .zip(words.iter())
                        .all(|(at, word)| is_word(parser, at, word))
                };
                tests.iter().find(follows).copied().map(Operator::Behind)
            }
            _ => None,
        }
    }
}

impl Extension for PatchWords {
    fn precedence(&self, parser: &Parser<'_>, grammar: &Grammar) -> Option<u8> {
        Some(match self.next(parser)? {
            Operator::Marked(_) => MARKER,
            Operator::Columns(_) => grammar.prec_value(Precedence::DoubleColon),
            Operator::Behind(_) => grammar.prec_value(Precedence::Is),
        })
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        left: &Expr,
    ) -> Option<Result<Expr, ParserError>> {
        Some(match self.next(parser)? {
            Operator::Marked(marker) => markers::parse(parser, left, marker),
            Operator::Columns(part) => columns::parse(parser, left, part),
            Operator::Behind(words) => {
                for _ in words {
                    parser.advance_token();
                }
                let nothing = Expr::Identifier(Ident::new(NOTHING));
                Ok(words_between(left.clone(), &words.join(" "), nothing))
            }
        })
    }

    fn parse_prefix(
        &self,
        parser: &mut Parser<'_>,
        grammar: &Grammar,
    ) -> Option<Result<Expr, ParserError>> {
        let Token::Word(word) = &parser.peek_token_ref().token else {
            return None;
        };
        let version = Version::of(&word.value).filter(|_| word.quote_style.is_none())?;
        parser.advance_token();
        let between = grammar.prec_value(Precedence::Between);
        Some(versions::parse(parser, version, between))
    }

    fn names_follow_common_tables(&self) -> bool {
        matches!(self.dialect, Dialect::Postgres | Dialect::MariaDb)
    }
}

fn is_word(parser: &Parser<'_>, index: usize, expected: &str) -> bool {
    match &parser.peek_nth_token_ref(index).token {
        Token::Word(word) => {
            word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected)
        }
        _ => false,
    }
}

fn words_between(left: Expr, words: &str, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::Custom(words.to_owned()),
        right: Box::new(right),
    }
}

fn expected(what: &str, parser: &Parser<'_>) -> ParserError {
    ParserError::ParserError(format!(
        "expected {what}, found: {}",
        parser.peek_token_ref().token
    ))
}

const DEPTH: usize = 150;

const TOKENS: usize = 100_000;

/// Words and operators. A chain of them makes a tree as deep as it is long.
const LINKS: usize = 8_000;

fn grammar(dialect: Dialect) -> Grammar {
    Grammar::new(dialect).with(PatchWords { dialect })
}

pub(super) fn tokens(text: &str, dialect: Dialect) -> Result<Vec<Token>, Refusal> {
    let grammar = grammar(dialect);
    let tokens = Tokenizer::new(&grammar, text)
        .with_unescape(false)
        .tokenize();
    match tokens {
        Ok(mut tokens) => {
            tokens.retain(|token| !matches!(token, Token::Whitespace(_)));
            if tokens.len() > TOKENS || tokens.iter().filter(|token| links(token)).count() > LINKS {
                return refuse(
                    Code::TooLarge,
                    format!("the text has more than {LINKS} words"),
                );
            }
            if depth(&tokens) > DEPTH {
                return too_deep();
            }
            Ok(tokens)
        }
        Err(error) => refuse(Code::ParseError, error.to_string()),
    }
}

fn depth(tokens: &[Token]) -> usize {
    let mut open = 0_usize;
    let mut deepest = 0;
    for token in tokens {
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                open += 1;
                deepest = deepest.max(open);
            }
            Token::RParen | Token::RBracket | Token::RBrace => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn too_deep<T>() -> Result<T, Refusal> {
    refuse(Code::TooDeep, "the query is nested too deeply")
}

fn links(token: &Token) -> bool {
    !matches!(
        token,
        Token::Comma
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::LParen
            | Token::RParen
    )
}

pub(super) fn parse(tokens: Vec<Token>, dialect: Dialect) -> Result<Statement, Refusal> {
    let grammar = grammar(dialect);
    match parse_all(&grammar, tokens) {
        Ok(mut statements) => match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) => Ok(statement),
            _ => refuse(Code::StatementCount, "exactly one statement is allowed"),
        },
        Err(ParserError::RecursionLimitExceeded) => too_deep(),
        Err(error) => refuse(Code::ParseError, error.to_string()),
    }
}

/// Returns the parser's error with its position. Patched tokens have no positions, so parses the
/// unpatched text.
pub(super) fn located(text: &str, dialect: Dialect, reason: &str) -> Option<String> {
    let grammar = grammar(dialect);
    let parser = Parser::new(&grammar).with_recursion_limit(DEPTH);
    let error = parser.try_with_sql(text).ok()?.parse_statements().err()?;
    let said = error.to_string();
    said.starts_with(reason).then_some(said)
}

fn parse_all(grammar: &Grammar, tokens: Vec<Token>) -> Result<Vec<Statement>, ParserError> {
    Parser::new(grammar)
        .with_recursion_limit(DEPTH)
        .with_tokens(tokens)
        .parse_statements()
}
