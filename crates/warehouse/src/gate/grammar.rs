//! The grammar of each dialect, and the parse of one statement.

use sqlparser::ast::Statement;
use sqlparser::dialect::Dialect as Grammar;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Tokenizer};

use super::{Refusal, refuse};
use crate::Dialect;

mod derived {
    //! Grammars that differ from the parser's own in a few switches.
    #![expect(unreachable_pub, reason = "the macro writes the items")]

    use sqlparser::derive_dialect;
    use sqlparser::dialect::{
        ClickHouseDialect, DuckDbDialect, GenericDialect, MsSqlDialect, MySqlDialect,
        RedshiftSqlDialect, SQLiteDialect,
    };

    derive_dialect!(TrinoGrammar, GenericDialect, preserve_type_id = true, overrides = {
        supports_lambda_functions = true,
        supports_table_versioning = true,
    });

    derive_dialect!(MySqlGrammar, MySqlDialect, preserve_type_id = true, overrides = {
        supports_bang_not_operator = true,
        allow_extract_custom = true,
    });

    derive_dialect!(
        MariaDbGrammar,
        MySqlDialect,
        preserve_type_id = true,
        overrides = {
            supports_bang_not_operator = true,
            allow_extract_custom = true,
            supports_table_versioning = true,
        }
    );

    derive_dialect!(
        DuckDbGrammar,
        DuckDbDialect,
        preserve_type_id = true,
        overrides = { supports_in_unparenthesized_expr = true }
    );

    derive_dialect!(SqliteGrammar, SQLiteDialect, preserve_type_id = true, overrides = {
        supports_bitwise_shift_operators = true,
    });

    derive_dialect!(SqlServerGrammar, MsSqlDialect, preserve_type_id = true, overrides = {
        supports_group_by_expr = true,
    });

    derive_dialect!(RedshiftGrammar, RedshiftSqlDialect, preserve_type_id = true, overrides = {
        supports_group_by_expr = true,
        supports_connect_by = true,
    });

    derive_dialect!(ClickHouseGrammar, ClickHouseDialect, preserve_type_id = true, overrides = {
        supports_filter_during_aggregation = true,
        supports_bitwise_shift_operators = true,
    });
}

/// Levels of nesting in one text.
const DEPTH: usize = 150;

/// Tokens in one text.
const TOKENS: usize = 100_000;

/// Words and operators in one text. A chain of them makes a tree as deep as it is long, which this
/// bounds; lists of literals make no depth.
const LINKS: usize = 8_000;

fn grammar(dialect: Dialect) -> Box<dyn Grammar> {
    match dialect {
        Dialect::Trino => Box::new(derived::TrinoGrammar::new()),
        Dialect::MySql => Box::new(derived::MySqlGrammar::new()),
        Dialect::MariaDb => Box::new(derived::MariaDbGrammar::new()),
        Dialect::DuckDb => Box::new(derived::DuckDbGrammar::new()),
        Dialect::Sqlite => Box::new(derived::SqliteGrammar::new()),
        Dialect::SqlServer => Box::new(derived::SqlServerGrammar::new()),
        Dialect::Redshift => Box::new(derived::RedshiftGrammar::new()),
        Dialect::ClickHouse => Box::new(derived::ClickHouseGrammar::new()),
        _ => dialect.grammar(),
    }
}

/// Splits a normalised text into tokens, without white space.
pub(super) fn tokens(text: &str, dialect: Dialect) -> Result<Vec<Token>, Refusal> {
    let grammar = grammar(dialect);
    let tokens = Tokenizer::new(&*grammar, text)
        .with_unescape(false)
        .tokenize();
    match tokens {
        Ok(mut tokens) => {
            tokens.retain(|token| !matches!(token, Token::Whitespace(_)));
            if tokens.len() > TOKENS || tokens.iter().filter(|token| links(token)).count() > LINKS {
                return refuse("too_large", format!("the text has more than {LINKS} words"));
            }
            Ok(tokens)
        }
        Err(error) => refuse("parse_error", error.to_string()),
    }
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

/// Parses exactly one statement.
pub(super) fn parse(tokens: Vec<Token>, dialect: Dialect) -> Result<Statement, Refusal> {
    let grammar = grammar(dialect);
    match parse_all(&*grammar, tokens) {
        Ok(mut statements) => match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) => Ok(statement),
            _ => refuse("statement_count", "exactly one statement is allowed"),
        },
        Err(ParserError::RecursionLimitExceeded) => {
            refuse("too_deep", "the query is nested too deeply")
        }
        Err(error) => refuse("parse_error", error.to_string()),
    }
}

fn parse_all(grammar: &dyn Grammar, tokens: Vec<Token>) -> Result<Vec<Statement>, ParserError> {
    Parser::new(grammar)
        .with_recursion_limit(DEPTH)
        .with_tokens(tokens)
        .parse_statements()
}
