//! Tests of the token patches.

use ktx_sql::Dialect;

use super::{PatchedTokens, join_tokens};
use crate::grammar;

fn check(dialect: Dialect, sql: &str, expected: &str) {
    let patched = grammar::tokens(sql, dialect)
        .and_then(|tokens| PatchedTokens::new(tokens, dialect))
        .map(|mut patched| join_tokens(&patched.take_tokens()));
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
        "SELECT 1 OPTION (MAXDOP 1) USE PLAN",
        "SELECT 1 OPTION ( MAXDOP 1 ) USE PLAN",
    );
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
fn join_words_are_spelled_global() {
    check(
        Dialect::ClickHouse,
        "FROM t LEFT ANY JOIN u SEMI LEFT JOIN v",
        "FROM t GLOBAL LEFT JOIN u LEFT SEMI JOIN v",
    );
    check(
        Dialect::ClickHouse,
        "FROM t ANY JOIN u GLOBAL ALL JOIN v",
        "FROM t GLOBAL JOIN u GLOBAL JOIN v",
    );
    check(
        Dialect::DuckDb,
        "FROM a ASOF LEFT JOIN b POSITIONAL JOIN c",
        "FROM a GLOBAL LEFT JOIN b GLOBAL JOIN c",
    );
    check(
        Dialect::SqlServer,
        "FROM a LEFT OUTER HASH JOIN b INNER LOOP JOIN c",
        "FROM a LEFT OUTER JOIN b INNER JOIN c",
    );
}

#[test]
fn whole_clauses_are_carried_as_names() {
    check(
        Dialect::Postgres,
        "WITH RECURSIVE t AS (q) SEARCH DEPTH FIRST BY a SET b CYCLE a SET c USING d SELECT 1",
        "WITH RECURSIVE t AS ( q ) FROM ktx__c0 SELECT 1",
    );
    check(
        Dialect::Sqlite,
        "OVER (ROWS BETWEEN 3 PRECEDING AND CURRENT ROW EXCLUDE TIES)",
        "OVER ( ROWS BETWEEN 3 PRECEDING AND ktx__c0 PRECEDING )",
    );
    check(
        Dialect::Sqlite,
        "OVER (ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE GROUP)",
        "OVER ( ROWS BETWEEN 1 PRECEDING AND 2 COLLATE ktx__c0 FOLLOWING )",
    );
    check(
        Dialect::Trino,
        "json_query(a, 'x' WITH ARRAY WRAPPER) CAST(b AS ARRAY(INTEGER))",
        "json_query ( a , 'x' , ktx__c0 ) CAST ( b AS ktx__c1 )",
    );
    check(
        Dialect::Snowflake,
        "PATTERN (a b) SUBSET c = (a, b) DEFINE a AS x",
        "PATTERN ( a b ) DEFINE ktx__c0 AS 0 , a AS x",
    );
    check(
        Dialect::ClickHouse,
        "FROM t AS x FINAL ORDER BY a LIMIT 1, 2 BY b",
        "FROM t AS ktx__c1 ORDER BY a LIMIT ktx__c0 BY b",
    );
    check(
        Dialect::DuckDb,
        "FROM t TABLESAMPLE reservoir(20 ROWS) WITH t(n) USING KEY (n) AS (q)",
        "FROM t TABLESAMPLE ( ktx__c0 ) WITH t ( n , ktx__c1 ) AS ( q )",
    );
}

#[test]
fn orders_are_carried_only_in_their_own_grouping() {
    check(
        Dialect::MariaDb,
        "WITH a AS (SELECT b FROM c GROUP BY b) SELECT b FROM a GROUP BY b DESC ORDER BY b DESC",
        "WITH a AS ( SELECT b FROM c GROUP BY b ) \
         SELECT b FROM a GROUP BY b COLLATE ktx__c0 ORDER BY b DESC",
    );
}

#[test]
fn only_clauses_of_known_words_are_carried() {
    check(
        Dialect::Trino,
        "json_value(a, 'x' DEFAULT f(1) ON EMPTY)",
        "json_value ( a , 'x' DEFAULT f ( 1 ) ON EMPTY )",
    );
    check(
        Dialect::ClickHouse,
        "CAST(a AS b, file('x'))",
        "CAST ( a AS b , file ( 'x' ) )",
    );
    check(
        Dialect::DuckDb,
        "FROM t TABLESAMPLE getenv('x')",
        "FROM t TABLESAMPLE getenv ( 'x' )",
    );
}

#[test]
fn words_that_are_operators_in_one_place_are_marked() {
    check(
        Dialect::DuckDb,
        "[x FOR x IN l IF x > 1] SELECT a: 1, {b: 2}",
        "[ x ktx__for x IN l ktx__if x > 1 ] SELECT a ktx__colon 1 , { b : 2 }",
    );
    check(
        Dialect::SqlServer,
        "PARSE(a AS date USING 'x'), CAST(a AS date)",
        "PARSE ( a ktx__as date ktx__using 'x' ) , CAST ( a AS date )",
    );
    check(
        Dialect::ClickHouse,
        "SELECT * APPLY(f), sum(a AS b), * EXCEPT (c) FROM (SELECT a AS d)",
        "SELECT ktx__star APPLY ( f ) , sum ( a ktx__as b ) , * EXCEPT ( c ) FROM ( SELECT a AS d )",
    );
}

#[test]
fn versions_are_spelled_as_points_in_time() {
    check(
        Dialect::SqlServer,
        "t FOR SYSTEM_TIME BETWEEN a AND b",
        "t FOR SYSTEM_TIME AS OF KTX__BETWEEN a AND b",
    );
    check(
        Dialect::BigQuery,
        "FROM t AS x FOR SYSTEM_TIME AS OF a",
        "FROM t FOR SYSTEM_TIME AS OF KTX__ALIAS x a",
    );
    check(
        Dialect::Trino,
        "t FOR VERSION AS OF 'x' u FOR VERSION AS OF 3",
        "t TIMESTAMP AS OF KTX__NAMED 'x' u VERSION AS OF 3",
    );
    check(Dialect::Databricks, "t@v3", "t VERSION AS OF 3");
}

#[test]
fn hints_that_change_no_result_are_dropped() {
    check(
        Dialect::MySql,
        "SELECT SQL_NO_CACHE DISTINCT STRAIGHT_JOIN a, sql_cache FROM t",
        "SELECT DISTINCT a , sql_cache FROM t",
    );
    check(
        Dialect::Sqlite,
        "FROM t INDEXED BY i JOIN u NOT INDEXED",
        "FROM t JOIN u",
    );
    check(
        Dialect::Snowflake,
        "nth_value(a, 2) FROM FIRST OVER (w)",
        "nth_value ( a , 2 ) OVER ( w )",
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
    check(
        Dialect::DuckDb,
        "FROM t WHERE a UNION FROM u SELECT b WHERE c",
        "SELECT * FROM t WHERE a UNION FROM u SELECT b WHERE c",
    );
    check(Dialect::Trino, "VALUES 1, -2", "VALUES ( 1 ) , ( - 2 )");
    check(Dialect::BigQuery, "|> DISTINCT", "|> SELECT DISTINCT *");
    check(
        Dialect::MySql,
        "FROM t JOIN (a, b)",
        "FROM t JOIN ( a CROSS JOIN b )",
    );
    check(
        Dialect::ClickHouse,
        "JOIN u USING a, b",
        "JOIN u USING ( a , b )",
    );
}
