//! The tree of each text.

mod switches;

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, VisitorMut};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::Dialect;
use crate::grammar::Grammar;

struct Parentheses;

impl VisitorMut for Parentheses {
    type Break = ();

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<()> {
        match tree {
            Expr::Identifier(_) | Expr::Value(_) => {}
            Expr::Nested(inner) => *tree = inner.as_ref().clone(),
            operation => *operation = Expr::Nested(Box::new(operation.clone())),
        }
        ControlFlow::Continue(())
    }
}

fn reading(dialect: Dialect, text: &str) -> String {
    let grammar = Grammar::new(dialect);
    let mut parser = Parser::new(&grammar).try_with_sql(text).expect("tokens");
    let parsed = parser
        .parse_expr()
        .and_then(|tree| parser.expect_token(&Token::EOF).map(|_| tree));
    match parsed {
        Ok(mut tree) => {
            let flow = crate::visit_mut(&mut tree, &mut Parentheses);
            assert!(flow.is_continue());
            tree.to_string()
        }
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn check(dialect: Dialect, readings: &[(&str, &str)]) {
    for (text, expected) in readings {
        assert_eq!(reading(dialect, text), *expected, "{dialect}: {text}");
    }
}

#[test]
fn sqlite_compares_any_values_with_is() {
    check(
        Dialect::Sqlite,
        &[
            ("a IS b", "(a IS NOT DISTINCT FROM b)"),
            ("a IS NOT b", "(a IS DISTINCT FROM b)"),
            ("a IS NOT DISTINCT FROM b", "(a IS NOT DISTINCT FROM b)"),
            ("a IS DISTINCT FROM b", "(a IS DISTINCT FROM b)"),
            ("a IS NULL", "(a IS NULL)"),
            ("a IS NOT TRUE", "(a IS NOT TRUE)"),
            (
                "a IS b + 1 AND c",
                "((a IS NOT DISTINCT FROM (b + 1)) AND c)",
            ),
            ("a IS b = c", "((a IS NOT DISTINCT FROM b) = c)"),
            (
                "a IS NOT DISTINCT FROM b = c",
                "((a IS NOT DISTINCT FROM b) = c)",
            ),
            ("a = b IS c", "((a = b) IS NOT DISTINCT FROM c)"),
        ],
    );
}

#[test]
fn a_test_after_a_value_ends_it() {
    check(
        Dialect::Sqlite,
        &[
            ("a ISNULL + b", "((a IS NULL) + b)"),
            (
                "a NOT NULL > b NOTNULL",
                "(((a IS NOT NULL) > b) IS NOT NULL)",
            ),
        ],
    );
    for dialect in [Dialect::Postgres, Dialect::Redshift, Dialect::DuckDb] {
        check(
            dialect,
            &[
                ("a ISNULL", "(a IS NULL)"),
                ("a NOTNULL AND b", "((a IS NOT NULL) AND b)"),
            ],
        );
    }
}

#[test]
fn logic_of_mysql_binds_as_in_the_server() {
    for dialect in [Dialect::MySql, Dialect::MariaDb] {
        check(
            dialect,
            &[
                ("a > 1 && b > 1", "((a > 1) AND (b > 1))"),
                ("a OR b && c", "(a OR (b AND c))"),
                ("a = 1 XOR b = 2", "((a = 1) XOR (b = 2))"),
                ("a OR b XOR c AND d", "(a OR (b XOR (c AND d)))"),
                ("a MOD b * c", "((a MOD b) * c)"),
                ("a SOUNDS LIKE b", "(a SOUNDS LIKE b)"),
            ],
        );
    }
}

#[test]
fn duckdb_powers_bind_stronger_than_products() {
    check(
        Dialect::DuckDb,
        &[
            ("2 * a ** b", "(2 * (a ^ b))"),
            ("a ^ b ** c", "((a ^ b) ^ c)"),
            ("a ** 2::int", "(a ^ (2::INT))"),
            ("a IN [5, 7] AND b", "((a IN ([5, 7])) AND b)"),
            ("a NOT IN l", "(a NOT IN l)"),
            ("s NOT GLOB 'a' OR b", "((s NOT GLOB 'a') OR b)"),
        ],
    );
}

#[test]
fn clickhouse_conditions_bind_weaker_than_or() {
    check(
        Dialect::ClickHouse,
        &[
            ("a OR b ? c : d", "((a OR b) ? (c : d))"),
            ("a ? b : c ? d : e", "(a ? (b : (c ? (d : e))))"),
            ("a DIV b MOD c", "((a DIV b) MOD c)"),
            ("a GLOBAL NOT IN (1, 2)", "(a GLOBAL NOT IN ((1, 2)))"),
            ("t + INTERVAL a + 1 DAY", "(t + (INTERVAL (a + 1) DAY))"),
            ("t + INTERVAL '1 day'", "(t + (INTERVAL '1 day'))"),
        ],
    );
}

#[test]
fn databricks_paths_bind_stronger_than_operators() {
    check(
        Dialect::Databricks,
        &[
            ("1 + s:a.b[0]", "(1 + (s:a.b[0]))"),
            ("s:`a b`[*]['c']", "(s:`a b`[(*)]['c'])"),
            ("s:[0]", "(s:[0])"),
            ("s:a::int", "((s:a)::INT)"),
        ],
    );
}

#[test]
fn comparisons_of_sql_server_may_be_negated() {
    check(
        Dialect::SqlServer,
        &[
            ("a !< b AND c !> d", "((a >= b) AND (c <= d))"),
            ("a + 1 !< b", "((a + 1) >= b)"),
        ],
    );
}

#[test]
fn trino_numbers_may_have_underscores() {
    check(Dialect::Trino, &[("1_000 + a", "(1_000 + a)")]);
}

#[test]
fn sqlite_numbers_may_be_hexadecimal() {
    check(
        Dialect::Sqlite,
        &[("0x1F + 0X1F", "(0x1F + 0x1F)"), ("x'1F'", "X'1F'")],
    );
}
