//! Tests typed texts and names with escapes.

use ktx_sql::Dialect;

use super::{prints, refuses};

#[test]
fn a_text_with_a_type_keeps_both() {
    for (dialect, sql) in [
        (
            Dialect::Postgres,
            "SELECT INTERVAL(0) '1.6 seconds', mood 'sad'",
        ),
        (
            Dialect::Postgres,
            "SELECT INTERVAL '1 day', DATE '2024-01-01'",
        ),
        (Dialect::Redshift, "SELECT INTERVAL(1) '1.66', SUPER '1'"),
        (
            Dialect::DuckDb,
            "SELECT TIMESTAMP_S '2025-01-01 00:00:00', HUGEINT '1'",
        ),
        (
            Dialect::Trino,
            "SELECT IPADDRESS '10.0.0.1' AS a, contains(b, IPADDRESS '10.0.0.2')",
        ),
        (
            Dialect::Databricks,
            "SELECT TIMESTAMP_LTZ '2024-01-01 00:00:00' AS a",
        ),
        (Dialect::DuckDb, "SELECT 1 AS 'a b'"),
        (
            Dialect::Postgres,
            "SELECT a FROM t WHERE b LIKE 'x' AND NOT c SIMILAR TO 'y'",
        ),
        (
            Dialect::Postgres,
            "SELECT CASE 'a' WHEN 'a' THEN 'b' ELSE 'c' END, TRIM(BOTH 'x' FROM y)",
        ),
    ] {
        let printed = sql.replace("mood", "MOOD");
        prints(dialect, sql, &printed);
    }
    refuses(
        Dialect::Postgres,
        "SELECT pg_catalog.int4 'x'",
        "unprintable",
    );
    refuses(Dialect::Trino, "SELECT a AS 'x'", "unprintable");
    refuses(
        Dialect::Postgres,
        "SELECT interval second(0) '1.6'",
        "parse_error",
    );
}

#[test]
fn every_text_is_printed() {
    for dialect in [Dialect::Postgres, Dialect::Redshift, Dialect::Snowflake] {
        refuses(dialect, "SELECT 'x'::mytype('y')", "unprintable");
    }
}

#[test]
fn names_with_escapes_are_read_as_names() {
    let postgres = Dialect::Postgres;
    prints(
        postgres,
        r#"SELECT u&"n\0061me", U&"d\+01F600\\""x" FROM U&"\0041" AS U&"\0022a""#,
        r#"SELECT "name", "d😀\""x" FROM "A" AS """a""#,
    );
    prints(
        postgres,
        r#"SELECT u & "n" FROM t"#,
        r#"SELECT u & "n" FROM t"#,
    );
    refuses(
        postgres,
        r#"SELECT U&"pg_sl\0065ep"(9)"#,
        "function_not_allowed",
    );
    refuses(postgres, r#"SELECT U&"ktx\005f_0""#, "reserved_name");
    for sql in [
        r#"SELECT U&"\00""#,
        r#"SELECT U&"\zzzz""#,
        r#"SELECT U&"\0000""#,
        r#"SELECT U&"\000a""#,
        r#"SELECT U&"\D83D\DE00""#,
        r#"SELECT U&"\+110000""#,
    ] {
        refuses(postgres, sql, "unusual_character");
    }
    refuses(postgres, r#"SELECT U&"a"#, "unterminated");
    refuses(postgres, r#"SELECT U&"d!0061" UESCAPE '!'"#, "parse_error");
    refuses(
        postgres,
        r#"SELECT 1 FROM U&"d!0061" UESCAPE '!'"#,
        "parse_error",
    );
    refuses(
        Dialect::DuckDb,
        r#"SELECT U&"n\0061me" FROM t"#,
        "unusual_character",
    );
}

#[test]
fn commands_in_brackets_are_not_tables() {
    for sql in ["SELECT * FROM (SHOW TABLES)", "SELECT * FROM (call p)"] {
        refuses(Dialect::Snowflake, sql, "not_a_query");
    }
    prints(
        Dialect::Sqlite,
        "SELECT c.a FROM (t c) JOIN (u) ON c.a = u.a",
        "SELECT c.a FROM t c JOIN u ON c.a = u.a",
    );
    prints(
        Dialect::MariaDb,
        "SELECT c.a FROM (t c)",
        "SELECT c.a FROM t c",
    );
}

#[test]
fn arguments_by_name_and_lists_of_arguments() {
    prints(
        Dialect::Postgres,
        "SELECT make_interval(hours := 3), concat(VARIADIC ARRAY['a', 'b'])",
        "SELECT make_interval(hours := 3), concat(VARIADIC ARRAY['a', 'b'])",
    );
    refuses(Dialect::MySql, "SELECT abs(@a := 3)", "assignment");
    prints(
        Dialect::Trino,
        "SELECT count(*) FROM t GROUP BY DISTINCT ROLLUP (a, b), CUBE (b)",
        "SELECT count(*) FROM t GROUP BY DISTINCT ROLLUP (a, b), CUBE (b)",
    );
}
