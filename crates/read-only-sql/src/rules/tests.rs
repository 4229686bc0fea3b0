//! Tests the rules for single nodes.

use ktx_sql::Dialect;

use crate::gate::check;

fn verdict(dialect: Dialect, sql: &str, expected: Result<(), &str>) {
    let found = check(sql, dialect)
        .map(|_| ())
        .map_err(|refusal| refusal.code.as_str());
    assert_eq!(found, expected, "{sql}");
}

#[test]
fn batches_without_semicolons_are_seen_in_aliases() {
    verdict(
        Dialect::SqlServer,
        "SELECT a FROM t SHUTDOWN",
        Err("statement_count"),
    );
    verdict(Dialect::SqlServer, "SELECT a FROM t [SHUTDOWN]", Ok(()));
    verdict(
        Dialect::SqlServer,
        "SELECT a CHECKPOINT",
        Err("statement_count"),
    );
}

#[test]
fn table_hints_that_lock_are_refused() {
    verdict(
        Dialect::SqlServer,
        "SELECT a FROM t WITH (NOLOCK, INDEX(i))",
        Ok(()),
    );
    verdict(
        Dialect::SqlServer,
        "SELECT a FROM t WITH (NOLOCK, XLOCK)",
        Err("locking"),
    );
    verdict(
        Dialect::SqlServer,
        "SELECT a FROM t (UPDLOCK)",
        Err("table_function_not_allowed"),
    );
}

#[test]
fn qualified_functions_pass_only_from_built_in_schemas() {
    verdict(Dialect::Postgres, "SELECT pg_catalog.lower('A')", Ok(()));
    verdict(
        Dialect::Postgres,
        "SELECT public.lower('A')",
        Err("function_not_allowed"),
    );
    verdict(
        Dialect::Postgres,
        "SELECT pg_catalog.pg_sleep(1)",
        Err("function_not_allowed"),
    );
    verdict(Dialect::BigQuery, "SELECT NET.HOST('a')", Ok(()));
    verdict(Dialect::DuckDb, "SELECT name.upper() FROM t", Ok(()));
    verdict(
        Dialect::DuckDb,
        "SELECT * FROM main.read_text('a')",
        Err("table_function_not_allowed"),
    );
}

#[test]
fn last_insert_id_only_reads_without_an_argument() {
    verdict(Dialect::MySql, "SELECT LAST_INSERT_ID()", Ok(()));
    verdict(
        Dialect::MySql,
        "SELECT LAST_INSERT_ID(3)",
        Err("function_not_allowed"),
    );
}

#[test]
fn tables_are_checked_wherever_they_are_named() {
    let credentials = Err("credential_catalog");
    verdict(Dialect::ClickHouse, "SELECT 1 IN system.users", credentials);
    verdict(
        Dialect::ClickHouse,
        "SELECT 1 IN (system.users)",
        credentials,
    );
    verdict(
        Dialect::ClickHouse,
        "SELECT 1 GLOBAL NOT IN system.named_collections",
        credentials,
    );
    verdict(
        Dialect::Sqlite,
        "SELECT 1 IN fsdir",
        Err("table_not_allowed"),
    );
    verdict(
        Dialect::Postgres,
        "SELECT * FROM ONLY pg_shadow s",
        credentials,
    );
    verdict(Dialect::Postgres, "SELECT * FROM ONLY (t) s", Ok(()));
    verdict(
        Dialect::BigQuery,
        "SELECT * FROM VECTOR_SEARCH(TABLE `a/b`, 'c', TABLE d)",
        Err("file_as_table"),
    );
    verdict(
        Dialect::DuckDb,
        "UNPIVOT 'x.csv' ON a INTO NAME n VALUE v",
        Err("file_as_table"),
    );
}

#[test]
fn functions_are_checked_wherever_they_are_called() {
    let refused = Err("function_not_allowed");
    verdict(Dialect::ClickHouse, "SELECT * APPLY(sleep) FROM t", refused);
    verdict(Dialect::ClickHouse, "SELECT a ? file('x') : 1", refused);
    verdict(Dialect::ClickHouse, "SELECT sum(file('x') AS y)", refused);
    verdict(
        Dialect::ClickHouse,
        "SELECT 1 FROM t ARRAY JOIN file('x') AS y",
        refused,
    );
    verdict(Dialect::DuckDb, "SELECT [getenv(x) FOR x IN l]", refused);
    verdict(Dialect::MySql, "SELECT BINARY SLEEP(5)", refused);
    verdict(
        Dialect::MySql,
        "SELECT a + INTERVAL SLEEP(1) DAY_HOUR",
        refused,
    );
    verdict(
        Dialect::Trino,
        "SELECT CAST(own(1) AS ARRAY(INTEGER))",
        refused,
    );
    verdict(Dialect::Postgres, "SELECT \"all\"(1)", refused);
    for sql in [
        "SELECT geography::Own(1)",
        "SELECT MyType::Own(1)",
        "SELECT [dbo].[MyType]::[Own](1)",
        "SELECT a FROM t WHERE dbo.MyType :: Own ('x') = 1",
        "SELECT dbo.MyType::Field",
    ] {
        verdict(Dialect::SqlServer, sql, refused);
    }
    verdict(Dialect::SqlServer, "SELECT dbo.stop(1)", refused);
}

#[test]
fn the_brackets_of_types_hold_no_calls() {
    for (dialect, sql) in [
        (
            Dialect::SqlServer,
            "SELECT CAST(1 AS varchar(OPENROWSET(1)))",
        ),
        (Dialect::SqlServer, "SELECT TRY_CAST(1 AS foo(own(1)))"),
        (Dialect::BigQuery, "SELECT CAST(1 AS STRING(d.udf('x')))"),
        (Dialect::Trino, "SELECT CAST(1 AS evil(a.b.udf(1)))"),
        (Dialect::ClickHouse, "SELECT 1::UInt8(sleep(1))"),
    ] {
        assert!(check(sql, dialect).is_err(), "{sql}");
    }
    for (dialect, sql) in [
        (
            Dialect::Trino,
            "SELECT CAST(x AS ROW(a varchar(10), b array(decimal(10, 2))))",
        ),
        (
            Dialect::Snowflake,
            "SELECT CAST(x AS OBJECT(a NUMBER(10, 2), b ARRAY(VARCHAR(3))))",
        ),
        (
            Dialect::ClickHouse,
            "SELECT CAST(x, 'Array(Nullable(Int8))'), y::Map(String, Nullable(Decimal(9, 2)))",
        ),
        (
            Dialect::SqlServer,
            "SELECT CAST(x AS decimal(10, 2)), CAST(y AS varchar(max))",
        ),
        (
            Dialect::BigQuery,
            "SELECT CAST(x AS NUMERIC(10, 2)), CAST(y AS ARRAY<STRUCT<a STRING(3)>>)",
        ),
    ] {
        verdict(dialect, sql, Ok(()));
    }
}

#[test]
fn parameters_pass_only_where_the_query_has_them_by_name() {
    verdict(Dialect::BigQuery, "SELECT a FROM t WHERE b = @c", Ok(()));
    verdict(
        Dialect::BigQuery,
        "SELECT a FROM @t",
        Err("stage_or_variable"),
    );
    verdict(
        Dialect::Postgres,
        "SELECT a FROM t WHERE b = $1",
        Err("parameter"),
    );
}

#[test]
fn hints_after_the_alias_of_a_table_are_hints() {
    let cases = [
        ("SELECT o.a FROM t o (NOLOCK)", Ok(())),
        ("SELECT o.a FROM t AS o (UPDLOCK)", Err("locking")),
        ("SELECT a FROM t HOLDLOCK", Err("unknown_clause")),
        (
            "SELECT a FROM t OPTION (TABLE HINT(t, XLOCK))",
            Err("locking"),
        ),
        ("SELECT v.a FROM (VALUES (1)) AS v (a)", Ok(())),
        (
            "SELECT n.x FROM d CROSS APPLY d.x.nodes('a') AS n (x)",
            Ok(()),
        ),
    ];
    for (sql, expected) in cases {
        verdict(Dialect::SqlServer, sql, expected);
    }
}

/// Each of these was run on PostgreSQL.
#[test]
fn fields_that_call_functions_with_effects_are_refused() {
    let called = Err("function_not_allowed");
    let cases = [
        (
            "SELECT v.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS v",
            called,
        ),
        ("SELECT v.\"pg_sleep\" FROM generate_series(1, 2) v", called),
        ("SELECT (1.5).pg_sleep", called),
        ("SELECT ((ARRAY[1])[1]).pg_advisory_lock", called),
        ("SELECT (('SELECT a FROM t'::text).ts_stat).word", called),
        ("SELECT (s.id).nextval FROM s", Err("sequence")),
        ("SELECT p.lo_revenue, p.pg_rating FROM lineorder p", Ok(())),
        ("SELECT (t.r).name FROM t", Ok(())),
    ];
    for dialect in [Dialect::Postgres, Dialect::Redshift] {
        for (sql, expected) in cases {
            verdict(dialect, sql, expected);
        }
    }
    verdict(Dialect::DuckDb, "SELECT v.pg_sleep FROM v", Ok(()));
}

/// ClickHouse 26.5 behaves as each of these says.
#[test]
fn lambdas_of_the_text_are_functions_and_names_of_functions_are_not_columns() {
    let called = Err("function_not_allowed");
    let cases = [
        ("WITH (x -> x + 1) AS f SELECT f(2)", Ok(())),
        ("WITH x -> x + 1 AS f SELECT * FROM (SELECT f(2))", Ok(())),
        ("WITH (x -> file(x)) AS f SELECT f('a')", called),
        ("WITH (x -> x) AS sleep SELECT sleep(1)", called),
        ("SELECT (WITH (x -> x) AS f SELECT f(1)), f(2)", called),
        ("WITH 5 AS f SELECT f(2)", called),
        ("SELECT arrayMap(upper, ['a'])", Ok(())),
        ("SELECT arrayMap(file, ['/etc/passwd'])", called),
        ("SELECT arrayExists((`sleep`), [1])", called),
        ("SELECT arraySort(file), count(file) FROM t", Ok(())),
    ];
    for (sql, expected) in cases {
        verdict(Dialect::ClickHouse, sql, expected);
    }
}
