//! The grammar of each dialect, and the parse of one statement.

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use sqlparser::ast::Statement;
use sqlparser::dialect::Dialect as Grammar;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Tokenizer};

use self::extended::Extended;
use crate::refusal::{Refusal, refuse};

mod extended;
mod infix;
mod prefix;

pub(super) use self::prefix::TABLE;

mod derived {
    //! Grammars that differ from the parser's own in a few switches.
    #![expect(unreachable_pub, reason = "the macro writes the items")]

    use sqlparser::derive_dialect;
    use sqlparser::dialect::{
        BigQueryDialect, ClickHouseDialect, DatabricksDialect, DuckDbDialect, GenericDialect,
        MsSqlDialect, MySqlDialect, PostgreSqlDialect, RedshiftSqlDialect, SQLiteDialect,
    };

    derive_dialect!(TrinoGrammar, GenericDialect, preserve_type_id = true, overrides = {
        supports_lambda_functions = true,
        supports_table_versioning = true,
        supports_named_fn_args_with_colon_operator = true,
        supports_named_fn_args_with_expr_name = true,
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
            supports_from_first_insert = true,
        }
    );

    derive_dialect!(
        DuckDbGrammar,
        DuckDbDialect,
        preserve_type_id = true,
        overrides = {
            supports_select_wildcard_rename = true,
            supports_window_function_null_treatment_arg = true,
            supports_factorial_operator = true,
        }
    );

    derive_dialect!(SqliteGrammar, SQLiteDialect, preserve_type_id = true, overrides = {
        supports_cross_join_constraint = true,
        supports_bitwise_shift_operators = true,
    });

    derive_dialect!(SqlServerGrammar, MsSqlDialect, preserve_type_id = true, overrides = {
        supports_bitwise_shift_operators = true,
        supports_group_by_expr = true,
        supports_group_by_with_modifier = true,
    });

    derive_dialect!(RedshiftGrammar, RedshiftSqlDialect, preserve_type_id = true, overrides = {
        supports_group_by_expr = true,
        supports_outer_join_operator = true,
        supports_connect_by = true,
    });

    derive_dialect!(ClickHouseGrammar, ClickHouseDialect, preserve_type_id = true, overrides = {
        supports_filter_during_aggregation = true,
        supports_bitwise_shift_operators = true,
        require_interval_qualifier = false,
    });

    derive_dialect!(DatabricksGrammar, DatabricksDialect, preserve_type_id = true, overrides = {
        supports_bitwise_shift_operators = true,
        supports_table_sample_before_alias = true,
        supports_struct_literal = false,
        supports_aliased_function_args = true,
    });

    // A name after a common table carries its `SEARCH` and `CYCLE` clauses.
    derive_dialect!(PostgresGrammar, PostgreSqlDialect, preserve_type_id = true, overrides = {
        supports_from_first_insert = true,
    });

    derive_dialect!(BigQueryGrammar, BigQueryDialect, preserve_type_id = true, overrides = {
        supports_bitwise_shift_operators = true,
    });
}

/// Maximum nesting levels of one text.
const DEPTH: usize = 150;

const TOKENS: usize = 100_000;

/// Maximum words and operators of one text. A chain of them makes a tree as deep as it is long, and
/// this bounds the depth; lists of literals add no depth.
const LINKS: usize = 8_000;

fn grammar(dialect: Dialect) -> Extended {
    let stock: Box<dyn Grammar> = match dialect {
        Dialect::Postgres => Box::new(derived::PostgresGrammar::new()),
        Dialect::Databricks => Box::new(derived::DatabricksGrammar::new()),
        Dialect::BigQuery => Box::new(derived::BigQueryGrammar::new()),
        Dialect::Trino => Box::new(derived::TrinoGrammar::new()),
        Dialect::MySql => Box::new(derived::MySqlGrammar::new()),
        Dialect::MariaDb => Box::new(derived::MariaDbGrammar::new()),
        Dialect::DuckDb => Box::new(derived::DuckDbGrammar::new()),
        Dialect::Sqlite => Box::new(derived::SqliteGrammar::new()),
        Dialect::SqlServer => Box::new(derived::SqlServerGrammar::new()),
        Dialect::Redshift => Box::new(derived::RedshiftGrammar::new()),
        Dialect::ClickHouse => Box::new(derived::ClickHouseGrammar::new()),
        Dialect::Snowflake => dialect.grammar(),
    };
    Extended { stock, dialect }
}

/// Splits a normalized text into tokens, without white space.
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

/// Returns the maximum number of brackets open at once.
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

/// Returns the parser's error for a text with its position, provided that the unpatched text gives
/// the same error. The patched tokens have no positions.
pub(super) fn located(text: &str, dialect: Dialect, reason: &str) -> Option<String> {
    let grammar = grammar(dialect);
    let parser = Parser::new(&grammar).with_recursion_limit(DEPTH);
    let error = parser.try_with_sql(text).ok()?.parse_statements().err()?;
    let said = error.to_string();
    said.starts_with(reason).then_some(said)
}

fn parse_all(grammar: &dyn Grammar, tokens: Vec<Token>) -> Result<Vec<Statement>, ParserError> {
    Parser::new(grammar)
        .with_recursion_limit(DEPTH)
        .with_tokens(tokens)
        .parse_statements()
}
