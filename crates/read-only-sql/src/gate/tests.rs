//! Tests of the gate's public functions.

mod allowed;
mod meaning;
mod typed_texts;

use ktx_sql::Dialect;

use super::{ReadOnlySql, check};

fn prints(dialect: Dialect, sql: &str, expected: &str) {
    assert_eq!(
        check(sql, dialect).as_ref().map(ReadOnlySql::as_str),
        Ok(expected)
    );
}

fn refuses(dialect: Dialect, sql: &str, code: &str) {
    let refusal = check(sql, dialect).map_err(|refusal| refusal.code.as_str());
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
fn operators_of_mysql_keep_their_sides() {
    for dialect in [Dialect::MySql, Dialect::MariaDb] {
        prints(
            dialect,
            "SELECT a FROM t WHERE a > 1 && b < 2 && c BETWEEN 1 AND 2 || d = 3",
            "SELECT a FROM t WHERE a > 1 AND b < 2 AND c BETWEEN 1 AND 2 || d = 3",
        );
        prints(
            dialect,
            "SELECT a RLIKE NULL, a NOT REGEXP NULL FROM t WHERE 1 RLIKE NULL OR a = 1",
            "SELECT a RLIKE (NULL), a NOT REGEXP (NULL) FROM t WHERE 1 RLIKE (NULL) OR a = 1",
        );
    }
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
fn operators_that_the_parser_does_not_know_are_printed_as_they_were_written() {
    let same = |dialect, sql| prints(dialect, sql, sql);
    same(Dialect::ClickHouse, "SELECT a > 1 ? 'x' : b DIV 2 MOD 3");
    same(
        Dialect::ClickHouse,
        "SELECT 1 WHERE a GLOBAL NOT IN (SELECT 1) AND b IN c AND d",
    );
    same(
        Dialect::ClickHouse,
        "SELECT COLUMNS('x') EXCEPT (a) APPLY (max), * APPLY (x -> x)",
    );
    same(
        Dialect::ClickHouse,
        "SELECT CAST(a AS Tuple(b String)), c::String, (d AS e) + 1",
    );
    same(
        Dialect::DuckDb,
        "SELECT [x FOR x, y IN l IF y > 1], a GLOB 'b', c NOT IN l AND d",
    );
    same(Dialect::DuckDb, "SELECT a : 1, * LIKE 'x' FROM t");
    same(
        Dialect::Sqlite,
        "SELECT a NOT GLOB 'b', c IS NULL, d IN e FROM t",
    );
    same(
        Dialect::Postgres,
        "SELECT a WHERE b BETWEEN SYMMETRIC 2 AND 1",
    );
    same(
        Dialect::Postgres,
        "SELECT XMLELEMENT(NAME a, XMLATTRIBUTES(b AS c))",
    );
    same(
        Dialect::MySql,
        "SELECT a SOUNDS LIKE b, BINARY c = 'd', INTERVAL (1, 2)",
    );
    same(
        Dialect::MySql,
        "SELECT a + INTERVAL '1:2' HOUR_MINUTE, CHAR(77 USING utf8mb4)",
    );
    same(
        Dialect::SqlServer,
        "SELECT PARSE(a AS decimal(5, 2) USING 'en-GB')",
    );
    same(
        Dialect::SqlServer,
        "SELECT geography::Point(1, -2, 4326).STDistance(a)",
    );
    same(
        Dialect::BigQuery,
        "SELECT ARRAY<STRUCT<a INT64>> [(1)], 1 << 2",
    );
    same(
        Dialect::Databricks,
        "SELECT a:b.`c d`[0]['e'], INTERVAL 1 DAY 2 HOURS",
    );
    same(Dialect::Trino, "SELECT CAST(a AS ROW(b ARRAY(INTEGER)))");
}

#[test]
fn clauses_that_the_parser_does_not_know_are_printed_as_they_were_written() {
    let same = |dialect, sql| prints(dialect, sql, sql);
    same(
        Dialect::Postgres,
        "WITH RECURSIVE t AS (SELECT 1 AS a) CYCLE a SET b USING c SELECT * FROM t",
    );
    same(
        Dialect::Postgres,
        "SELECT sum(a) OVER (ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE GROUP) FROM t",
    );
    same(
        Dialect::Postgres,
        "SELECT * FROM ROWS FROM (unnest(a), unnest(b)) WITH ORDINALITY",
    );
    same(Dialect::Postgres, "SELECT * FROM a JOIN b USING(c) AS d");
    same(
        Dialect::ClickHouse,
        "SELECT a FROM t ARRAY JOIN b AS c, length(d) AS e WHERE c",
    );
    same(
        Dialect::ClickHouse,
        "SELECT a FROM t GLOBAL ANY LEFT JOIN u USING(b) ALL JOIN v USING(c)",
    );
    same(
        Dialect::ClickHouse,
        "SELECT a FROM t AS x FINAL LIMIT 1 , 2 BY a LIMIT 3",
    );
    same(
        Dialect::DuckDb,
        "UNPIVOT t ON a, b INTO NAME n VALUE v ORDER BY n",
    );
    same(
        Dialect::DuckDb,
        "SELECT * FROM t PIVOT(sum(a) FOR b IN (1, 2) GROUP BY c)",
    );
    same(
        Dialect::SqlServer,
        "SELECT a FROM t FOR XML RAW, ELEMENTS XSINIL",
    );
    same(
        Dialect::SqlServer,
        "SELECT a FROM t FOR SYSTEM_TIME FROM 'b' TO 'c'",
    );
    same(
        Dialect::MariaDb,
        "SELECT a FROM t FOR SYSTEM_TIME ALL WHERE b",
    );
    same(
        Dialect::BigQuery,
        "SELECT a FROM t AS x FOR SYSTEM_TIME AS OF b WHERE c",
    );
    same(
        Dialect::BigQuery,
        "FROM t |> AGGREGATE COUNT(*) AS n GROUP AND ORDER BY a",
    );
    same(
        Dialect::Trino,
        "SELECT json_value(a, 'lax $' RETURNING integer DEFAULT 0 ON EMPTY) FROM t",
    );
    prints(
        Dialect::SqlServer,
        "WITH XMLNAMESPACES ('u' AS n), a AS (SELECT 1 AS b) SELECT b FROM a",
        "WITH XMLNAMESPACES ( 'u' AS n ), a AS (SELECT 1 AS b) SELECT b FROM a",
    );
}

#[test]
fn a_refusal_names_the_refused_part() {
    let reason = |sql| check(sql, Dialect::Postgres).map_err(|refusal| refusal.to_string());
    assert_eq!(
        reason("SELECT pg_sleep(1)"),
        Err("the function `pg_sleep` does more than read, and no setting allows it".to_owned())
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
    refuses(
        Dialect::MySql,
        "SELECT /*+ SET_VAR(sort_buffer_size = 1) */ 1",
        "executable_comment",
    );
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
fn forms_unknown_to_the_parser_keep_their_meaning() {
    let forms = [
        (
            Dialect::BigQuery,
            "SELECT x FROM t, t.a x WITH OFFSET p, t.b WITH OFFSET, UNNEST(t.c) y WITH OFFSET z",
            "SELECT x FROM t, t.a x WITH OFFSET AS p, t.b WITH OFFSET, UNNEST(t.c) y WITH OFFSET z",
        ),
        (
            Dialect::DuckDb,
            "SELECT a FROM t GROUP BY GROUPING SETS ((a, b), ROLLUP (a, (b, c)), CUBE (floor(a)), ())",
            "SELECT a FROM t GROUP BY GROUPING SETS ((a, b), ROLLUP(a, (b, c)), CUBE(FLOOR(a)), ())",
        ),
        (
            Dialect::DuckDb,
            "SELECT x[:-:2], x[-2:] FROM t",
            "SELECT x[:-:2], x[-2:] FROM t",
        ),
        (
            Dialect::Redshift,
            "SELECT @ -5, |/ 25, ||/ (a + 2) FROM t, u WHERE t.a = u.a (+)",
            "SELECT @ -5, |/ 25, ||/ (a + 2) FROM t, u WHERE t.a = u.a (+)",
        ),
        (
            Dialect::Trino,
            "SELECT a = ANY (VALUES 1, 2), b <> ALL (VALUES 'x') FROM t",
            "SELECT a = ANY(VALUES (1), (2)), b <> ALL(VALUES ('x')) FROM t",
        ),
        (
            Dialect::Postgres,
            "SELECT a = ANY (VALUES (1)) FROM t GROUP BY DISTINCT CUBE (a), ROLLUP (b)",
            "SELECT a = ANY(VALUES (1)) FROM t GROUP BY DISTINCT CUBE (a), ROLLUP (b)",
        ),
        (
            Dialect::Snowflake,
            "SELECT {* ILIKE 'a%'}, {c.* EXCLUDE (id)} FROM c",
            "SELECT OBJECT_CONSTRUCT(* ILIKE 'a%'), {c.* EXCLUDE ( id )} FROM c",
        ),
        (
            Dialect::ClickHouse,
            "WITH (x -> x + 1) AS f SELECT f(a), 0b101 FROM t",
            "WITH (x -> x + 1) AS f SELECT f(a), 0b101 FROM t",
        ),
        (
            Dialect::Databricks,
            "SELECT * EXCEPT (a, b.c), 1L, 3.5BD FROM t",
            "SELECT * EXCEPT (a, b.c), 1L, 3.5BD FROM t",
        ),
        (
            Dialect::Trino,
            "SELECT * FROM JSON_TABLE(j, 'lax $' AS \"r\" COLUMNS (n FOR ORDINALITY)) t",
            "SELECT * FROM JSON_TABLE(j, 'lax $' COLUMNS(n FOR ORDINALITY)) t",
        ),
    ];
    for (dialect, sql, expected) in forms {
        prints(dialect, sql, expected);
    }
}

#[test]
fn a_missing_row_limit_is_added() {
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
