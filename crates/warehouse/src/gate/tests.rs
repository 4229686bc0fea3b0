//! Tests of the gate's front door.

use super::{ReadOnlySql, check};
use crate::Dialect;

fn prints(dialect: Dialect, sql: &str, expected: &str) {
    assert_eq!(
        check(sql, dialect).as_ref().map(ReadOnlySql::as_str),
        Ok(expected)
    );
}

fn refuses(dialect: Dialect, sql: &str, code: &str) {
    let refusal = check(sql, dialect).map_err(|refusal| refusal.code);
    assert_eq!(
        refusal.as_ref().map(ReadOnlySql::as_str),
        Err(&code),
        "{sql}"
    );
}

fn limits(dialect: Dialect, sql: &str, expected: &str) {
    let limited = check(sql, dialect).map(|sql| sql.with_row_limit(7));
    assert_eq!(limited.as_ref().map(ReadOnlySql::as_str), Ok(expected));
}

#[test]
fn comments_and_the_last_semicolon_are_not_printed() {
    prints(
        Dialect::Postgres,
        "/* a */ select 1 -- b\n; -- c",
        "SELECT 1",
    );
    prints(Dialect::MySql, "# a\nSELECT 5--2", "SELECT 5 - -2");
    prints(Dialect::ClickHouse, "#! a\nSELECT 1", "SELECT 1");
    prints(Dialect::Snowflake, "// a\nSELECT 1", "SELECT 1");
}

#[test]
fn literals_are_printed_as_they_were_written() {
    prints(
        Dialect::Postgres,
        r"select E'it\'s', $q$a;b$q$",
        r"SELECT E'it\'s', $q$a;b$q$",
    );
    prints(
        Dialect::DuckDb,
        r"select E'\'', 'a\'",
        r"SELECT E'\'', 'a\'",
    );
    prints(
        Dialect::MySql,
        r#"select 'a\'b', "c;d", 0x1F"#,
        r#"SELECT 'a\'b', "c;d", 0x1F"#,
    );
    prints(
        Dialect::BigQuery,
        r#"select r'\d', """a "b" c""", b'x'"#,
        r#"SELECT r'\d', """a "b" c""", b'x'"#,
    );
}

#[test]
fn two_signs_are_never_printed_as_a_comment() {
    prints(
        Dialect::Postgres,
        "SELECT - -1, 1 - -1",
        "SELECT -(-1), 1 - -1",
    );
}

#[test]
fn clauses_that_the_parser_does_not_know_are_printed_again() {
    prints(
        Dialect::ClickHouse,
        "WITH 5 AS x, q AS (SELECT 1) SELECT x FROM t LEFT ANY JOIN u USING a LIMIT 1 BY a LIMIT 3",
        "WITH 5 AS x, q AS (SELECT 1) SELECT x FROM t ANY LEFT JOIN u USING(a) LIMIT 1 BY a LIMIT 3",
    );
    prints(
        Dialect::DuckDb,
        "SELECT * FROM (PIVOT o ON c USING sum(x) AS s GROUP BY g) ASOF JOIN b ON a >= b",
        "SELECT * FROM (PIVOT o ON c USING sum(x) AS s GROUP BY g) ASOF JOIN b ON a >= b",
    );
    prints(
        Dialect::DuckDb,
        "FROM t USING SAMPLE 10%",
        "FROM t USING SAMPLE 10 %",
    );
    prints(
        Dialect::SqlServer,
        "SELECT a FROM t OPTION (MAXDOP 1)",
        "SELECT a FROM t OPTION ( MAXDOP 1 )",
    );
    prints(
        Dialect::Redshift,
        "SELECT APPROXIMATE COUNT(DISTINCT a) FROM t",
        "SELECT APPROXIMATE count(DISTINCT a) FROM t",
    );
    prints(
        Dialect::Trino,
        "SELECT a FROM t FOR VERSION AS OF 3 AS x",
        "SELECT a FROM (SELECT * FROM t FOR VERSION AS OF 3) AS x",
    );
    prints(
        Dialect::BigQuery,
        "SELECT SAFE.SUBSTR('a', 0)",
        "SELECT SAFE.SUBSTR('a', 0)",
    );
}

#[test]
fn a_refusal_says_what_was_refused() {
    let reason = |sql| check(sql, Dialect::Postgres).map_err(|refusal| refusal.to_string());
    assert_eq!(
        reason("SELECT pg_sleep(1)"),
        Err("the function `pg_sleep` is not known to only read".to_owned())
    );
    assert_eq!(
        reason("DROP TABLE t"),
        Err("only queries are allowed".to_owned())
    );
    assert_eq!(
        reason("SELECT 1; SELECT 2"),
        Err("exactly one statement is allowed".to_owned())
    );
}

#[test]
fn refusals_have_stable_codes() {
    refuses(Dialect::Postgres, "", "statement_count");
    refuses(Dialect::Postgres, "SELEC 1", "parse_error");
    refuses(Dialect::Postgres, "SELECT 'a", "unterminated");
    refuses(
        Dialect::Postgres,
        "SELECT 1; DROP TABLE t",
        "statement_count",
    );
    refuses(Dialect::Postgres, "EXPLAIN SELECT 1", "not_a_query");
    refuses(
        Dialect::Postgres,
        "WITH x AS (DELETE FROM t RETURNING *) SELECT 1",
        "writing_node",
    );
    refuses(Dialect::Postgres, "SELECT * INTO x FROM t", "into");
    refuses(Dialect::Postgres, "SELECT * FROM t FOR UPDATE", "locking");
    refuses(
        Dialect::Postgres,
        "SELECT nextval('s')",
        "function_not_allowed",
    );
    refuses(
        Dialect::Postgres,
        "SELECT * FROM dblink('a')",
        "table_function_not_allowed",
    );
    refuses(
        Dialect::Postgres,
        "SELECT * FROM pg_shadow",
        "credential_catalog",
    );
    refuses(Dialect::Postgres, "SELECT $1", "parameter");
    refuses(Dialect::Postgres, "SELECT 1\u{a0}+ 1", "unusual_character");
    refuses(Dialect::Postgres, "SELECT ktx__pivot(1)", "reserved_name");
    refuses(Dialect::MySql, "SELECT 1 /*! + 1 */", "executable_comment");
    refuses(Dialect::MySql, "SELECT @a := 1", "assignment");
    refuses(Dialect::SqlServer, "SELECT @a = 1", "assignment");
    refuses(Dialect::SqlServer, "SELECT * FROM a.b.c.d", "linked_server");
    refuses(Dialect::Snowflake, "SELECT s.NEXTVAL", "sequence");
    refuses(Dialect::Snowflake, "SELECT * FROM @s", "stage_or_variable");
    refuses(
        Dialect::Snowflake,
        "SELECT * FROM IDENTIFIER('t')",
        "dynamic_name",
    );
    refuses(Dialect::DuckDb, "FROM 'x.csv'", "file_as_table");
    refuses(
        Dialect::ClickHouse,
        "SELECT a FROM t SETTINGS b = 1",
        "settings",
    );
    refuses(Dialect::ClickHouse, "SELECT a FROM t FORMAT JSON", "format");
    refuses(Dialect::Sqlite, "SELECT * FROM fsdir", "table_not_allowed");
}

#[test]
fn texts_that_would_make_the_check_expensive_are_refused() {
    let nested = |depth| format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(check(&nested(100), Dialect::Postgres).is_ok());
    refuses(Dialect::Postgres, &nested(5000), "too_deep");
    refuses(
        Dialect::Postgres,
        &format!("SELECT 1{}", " + 1".repeat(9000)),
        "too_large",
    );
    refuses(
        Dialect::Postgres,
        &format!("SELECT '{}'", "a".repeat(1 << 20)),
        "too_large",
    );
    assert!(
        check(
            &format!("SELECT 1{}", " + 1".repeat(7000)),
            Dialect::Postgres
        )
        .is_ok()
    );
}

#[test]
fn a_row_limit_is_added_where_there_is_none() {
    limits(
        Dialect::Postgres,
        "SELECT a FROM t",
        "SELECT a FROM t LIMIT 7",
    );
    limits(
        Dialect::Postgres,
        "SELECT a FROM t LIMIT 3",
        "SELECT a FROM t LIMIT 3",
    );
    limits(
        Dialect::Postgres,
        "WITH x AS (SELECT 1) SELECT 1 UNION SELECT 2 ORDER BY 1",
        "WITH x AS (SELECT 1) SELECT 1 UNION SELECT 2 ORDER BY 1 LIMIT 7",
    );
    limits(
        Dialect::SqlServer,
        "SELECT DISTINCT a FROM t",
        "SELECT DISTINCT TOP 7 a FROM t",
    );
    limits(
        Dialect::SqlServer,
        "SELECT 1 UNION SELECT 2",
        "SELECT 1 UNION SELECT 2",
    );
    limits(
        Dialect::DuckDb,
        "FROM t USING SAMPLE 3",
        "FROM t USING SAMPLE 3",
    );
}
