//! Tests of the rules for single nodes; the case files test them in whole texts.

use crate::Dialect;
use crate::gate::check;

fn verdict(dialect: Dialect, sql: &str, expected: Result<(), &str>) {
    let found = check(sql, dialect)
        .map(|_| ())
        .map_err(|refusal| refusal.code);
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
    verdict(Dialect::SqlServer, "SELECT geography::Own(1)", refused);
    verdict(Dialect::SqlServer, "SELECT dbo.stop(1)", refused);
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
