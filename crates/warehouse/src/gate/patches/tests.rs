//! Tests of the token patches.

use super::Patched;
use crate::Dialect;
use crate::gate::grammar;

fn check(dialect: Dialect, sql: &str, expected: &str) {
    let patched = grammar::tokens(sql, dialect).map(|tokens| {
        let words = Patched::new(tokens, dialect).tokens().to_vec();
        words
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    });
    assert_eq!(patched.as_deref(), Ok(expected));
}

#[test]
fn scalars_of_with_become_tables() {
    check(
        Dialect::ClickHouse,
        "WITH 5 AS x, t AS (SELECT 1) SELECT x",
        "WITH ktx__scalar AS ( SELECT 5 AS x ) , t AS ( SELECT 1 ) SELECT x",
    );
}

#[test]
fn a_pivot_becomes_a_select() {
    check(
        Dialect::DuckDb,
        "PIVOT o ON a, b USING sum(x) ORDER BY 1",
        "SELECT ktx__pivot ( a , b ) , sum ( x ) FROM o ORDER BY 1",
    );
}

#[test]
fn a_tail_is_cut_only_when_all_its_words_are_known() {
    check(Dialect::SqlServer, "SELECT 1 OPTION (MAXDOP 1)", "SELECT 1");
    check(
        Dialect::SqlServer,
        "SELECT 1 OPTION (x) DROP",
        "SELECT 1 OPTION ( x ) DROP",
    );
    check(Dialect::DuckDb, "FROM t USING SAMPLE 3 ROWS", "FROM t");
    check(
        Dialect::DuckDb,
        "FROM t USING SAMPLE f(3)",
        "FROM t USING SAMPLE f ( 3 )",
    );
}

#[test]
fn join_words_are_spelled_global_unless_they_differ() {
    check(
        Dialect::ClickHouse,
        "FROM t LEFT ANY JOIN u SEMI LEFT JOIN v",
        "FROM t GLOBAL LEFT JOIN u LEFT SEMI JOIN v",
    );
    check(
        Dialect::ClickHouse,
        "FROM t ANY JOIN u ALL JOIN v",
        "FROM t ANY JOIN u ALL JOIN v",
    );
    check(
        Dialect::DuckDb,
        "FROM a ASOF LEFT JOIN b",
        "FROM a GLOBAL LEFT JOIN b",
    );
}

#[test]
fn words_outside_their_clause_stay() {
    check(
        Dialect::Redshift,
        "SELECT approximate FROM t",
        "SELECT approximate FROM t",
    );
    check(Dialect::BigQuery, "SELECT safe.a", "SELECT safe . a");
    check(
        Dialect::DuckDb,
        "SELECT filter(l, x)",
        "SELECT filter ( l , x )",
    );
}

#[test]
fn clauses_with_a_plain_equivalent_are_spelled_out() {
    check(
        Dialect::Postgres,
        "TABLE a UNION TABLE b",
        "SELECT * FROM a UNION SELECT * FROM b",
    );
    check(
        Dialect::Postgres,
        "SELECT f(TABLE t)",
        "SELECT f ( TABLE t )",
    );
    check(Dialect::Sqlite, "a IS b", "a IS NOT DISTINCT FROM b");
    check(Dialect::Sqlite, "a IS NOT b", "a IS DISTINCT FROM b");
    check(Dialect::Sqlite, "a IS NOT NULL", "a IS NOT NULL");
    check(
        Dialect::Sqlite,
        "WITH a AS NOT MATERIALIZED (x)",
        "WITH a AS ( x )",
    );
    check(
        Dialect::Postgres,
        "WITH a AS MATERIALIZED (x)",
        "WITH a AS MATERIALIZED ( x )",
    );
    check(
        Dialect::DuckDb,
        "f(a) FILTER (b)",
        "f ( a ) FILTER ( WHERE b )",
    );
    check(Dialect::DuckDb, "a ** b", "a ^ b");
    check(
        Dialect::ClickHouse,
        "JOIN u USING a, b",
        "JOIN u USING ( a , b )",
    );
}
