//! Tests of the placeholders.

use ktx_sql::Dialect;

use super::normalize;

fn check(dialect: Dialect, sql: &str, expected: &str) {
    assert_eq!(
        normalize(sql, dialect).map(|normal| normal.text).as_deref(),
        Ok(expected)
    );
}

#[test]
fn the_same_literal_always_gets_the_same_placeholder() {
    check(
        Dialect::Postgres,
        "'b', 'a', 'b'",
        " 'ktx_1' ,  'ktx_0' ,  'ktx_1' ",
    );
}

#[test]
fn literals_that_the_server_joins_are_one() {
    check(Dialect::MySql, "'a' /* x */ 'b'", " 'ktx_0' ");
    check(Dialect::Postgres, "'a'\n'b'", " 'ktx_0' ");
    check(Dialect::Postgres, "'a' 'b'", " 'ktx_0'   'ktx_1' ");
}

#[test]
fn the_end_of_the_text_may_have_semicolons() {
    check(Dialect::Postgres, "SELECT 1;; /* x */", "SELECT 1  ");
    let second =
        normalize("SELECT 1; x", Dialect::Postgres).map_err(|refusal| refusal.code.as_str());
    assert_eq!(second, Err("statement_count"));
}

#[test]
fn a_printed_text_with_foreign_quotes_is_not_restored() {
    let restore = |printed: &str| {
        normalize("SELECT 'x;y'", Dialect::Postgres)
            .and_then(|normal| normal.restore(printed, Dialect::Postgres))
            .map_err(|refusal| refusal.code.as_str())
    };
    assert_eq!(restore("SELECT 'ktx_0'"), Ok("SELECT 'x;y'".to_owned()));
    assert_eq!(restore("SELECT 'other'"), Err("unprintable"));
    assert_eq!(restore("SELECT 'ktx_1'"), Err("unprintable"));
    assert_eq!(restore("SELECT 1 --2"), Err("unprintable"));
    assert_eq!(restore("SELECT 1; SELECT 2"), Err("unprintable"));
}

#[test]
fn parse_errors_speak_of_the_text_as_written() {
    for (dialect, sql, expected) in [
        (
            Dialect::Postgres,
            "SELECT a FROM t WHERE a = 'paid' 'open'",
            "sql parser error: Expected: end of statement, found: 'open' at Line: 1, Column: 34",
        ),
        (
            Dialect::Sqlite,
            "SELECT /* why */ a\nFROM t\n  WHERE a = 'x''y' 'z'",
            "sql parser error: Expected: end of statement, found: 'z' at Line: 3, Column: 20",
        ),
        (
            Dialect::Postgres,
            "SELECT 'é', a FROM t WHERE a == ) -- end",
            "sql parser error: Expected: an expression, found: ) at Line: 1, Column: 33",
        ),
    ] {
        let refusal = crate::gate::check(sql, dialect).expect_err("no query");
        assert_eq!(
            (refusal.code.as_str(), refusal.reason.as_str()),
            ("parse_error", expected),
            "{sql}"
        );
    }
}
